import BindingModel
import BindingProtocol

extension SharedModel {
  /// Undo and redo of this program's own writes to one model. Recording begins when the first one is asked for.
  ///
  /// It is a small value that keeps its model alive. Any thread may use it.
  public struct Undoing: Sendable {
    /// nil: the model was never shared, and there is nothing to undo.
    let model: SharedModel?

    /// What has become of an undo or a redo.
    public enum Outcome: Sendable, Equatable, CustomStringConvertible {
      /// The step was taken back. `fields`: the fields that it concerns, by their names on the wire; `inexact`: those
      /// whose sums may be rounded, because fractions were added.
      case done(fields: [String], inexact: [String])
      /// There is no step.
      case nothing
      /// The step was not taken back, for this reason, in words; it is dropped, so that the next call goes on with
      /// the step before it. If this peer cannot write at all, the step stays.
      case failed(String)
      /// The task was cancelled before the hub had decided: the undo goes on.
      case waitCancelled

      public var description: String {
        switch self {
        case .done(let fields, let inexact):
          FieldTitle.all(fields)
            + (inexact.isEmpty ? "" : " (\(inexact.joined(separator: ", ")) may be rounded)")
        case .nothing: "there is nothing to take back"
        case .failed(let reason): reason
        case .waitCancelled: "the wait was cancelled; it goes on"
        }
      }
    }

    /// What an undo and a redo would do now, for a menu.
    public struct Status: Sendable, Equatable, CustomStringConvertible {
      /// The fields that an undo would change, by their names on the wire; empty: there is nothing to undo.
      public var undoes: [String] = []
      /// The fields that a redo would change; empty: there is nothing to redo.
      public var redoes: [String] = []

      /// Whether there is a step to undo. Whether others have changed its fields shows when it is undone.
      public var canUndo: Bool { !undoes.isEmpty }
      /// Whether there is a step to redo.
      public var canRedo: Bool { !redoes.isEmpty }

      /// As a sentence: `undo: level; redo: nothing`.
      public var description: String {
        func words(_ fields: [String]) -> String { fields.isEmpty ? "nothing" : FieldTitle.all(fields) }
        return "undo: \(words(undoes)); redo: \(words(redoes))"
      }
    }

    /// Whether a change is recorded.
    public enum Recording: Sendable {
      /// It can be undone.
      case undoable
      /// It is not recorded, and leaves the steps as they are.
      case notUndoable
    }

    /// Takes back the last step of this program's writes. It shows before this call waits, which it does for the hub's
    /// decision, without a limit.
    @discardableResult
    public func undo() async -> Outcome { await restore(redoes: false) }

    /// Restores what the last undo took back, if nothing was written since.
    @discardableResult
    public func redo() async -> Outcome { await restore(redoes: true) }

    /// Makes one step of what `body` writes to the model, whichever fields and however long it takes. Writes that other
    /// threads make meanwhile belong to the step too. Groups nest; the outermost one counts.
    public func group<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
      guard let model else { return try body() }
      let id = model.id
      model.runtime.state.withLock { $0.session.beginUndoGroup(in: id) }
      defer { model.runtime.state.withLock { $0.session.endUndoGroup(in: id) } }
      return try body()
    }

    /// What an undo and a redo would do now. Reads are tracked like those of a field's value.
    public var status: Status { model?.undoStatus ?? Status() }

    /// `status`, observable on the model's lane.
    public var statuses: Statuses<Status> {
      if let model { return Statuses(broadcaster: model.presentUndoBroadcaster, subject: model) }
      let broadcaster = StatusBroadcaster<Status>(present: { Status() }, begin: { _ in })
      return Statuses(broadcaster: broadcaster, subject: broadcaster)
    }
  }

  /// Undo and redo of this program's own writes to the model. The first access begins to record: what was written
  /// before cannot be undone.
  public var undoing: Undoing {
    let id = id
    runtime.state.withLock { $0.session.recordUndo(of: id, now: PeerRuntime.now) }
    return Undoing(model: self)
  }

  /// Takes back the last step of this program's writes; see `Undoing`.
  @discardableResult
  public func undo() async -> Undoing.Outcome { await undoing.undo() }

  /// Restores what the last undo took back; see `Undoing`.
  @discardableResult
  public func redo() async -> Undoing.Outcome { await undoing.redo() }
}

extension Model {
  /// Undo and redo of this program's own writes to the model. The first access once the model is shared begins to
  /// record: what was written before cannot be undone.
  public var undoing: SharedModel.Undoing { shared?.undoing ?? SharedModel.Undoing(model: nil) }

  /// Takes back the last step of this program's writes, if nobody else has changed its fields since. It shows before
  /// this call waits, which it does for the hub's decision, without a limit.
  @discardableResult
  public func undo() async -> SharedModel.Undoing.Outcome { await undoing.undo() }

  /// Restores what the last undo took back, if nothing was written since.
  @discardableResult
  public func redo() async -> SharedModel.Undoing.Outcome { await undoing.redo() }
}

// MARK: - Taking back

extension SharedModel.Undoing {
  private func restore(redoes: Bool) async -> Outcome {
    guard let model else { return .nothing }
    let start: UndoStart
    let pending: PendingWrite?
    do throws(WriteError) {
      (start, pending) = try model.beginRestoring(redoes: redoes)
    } catch {
      return .failed(error.description)
    }
    switch start {
    case .nothing: return .nothing
    case .withdrawn(let fields): return .done(fields: fields, inexact: [])
    case .failed(let failure): return .failed(failure.sentence)
    case .written(let write, let fields, let inexact):
      guard let outcome = await pending?.outcome else { return .nothing }
      switch outcome {
      case .committed, .unchanged, .superseded: return .done(fields: fields, inexact: inexact)
      case .conflict(let conflict): return .failed(model.failure(of: write, conflict).sentence)
      case .waitCancelled: return .waitCancelled
      case .refused, .expired, .unknown:
        return .failed(outcome.explanation(of: FieldTitle.all(fields)))
      }
    }
  }
}

extension SharedModel {
  fileprivate func beginRestoring(redoes: Bool) throws(WriteError) -> (UndoStart, PendingWrite?) {
    let (id, hops) = (id, Hops.current)
    let (start, pending) = try runtime.perform { state, now throws(WriteError) -> (UndoStart, PendingWrite?) in
      let start = try state.session.restore(id, redoes: redoes, hops: hops, now: now, into: &state.effects)
      guard case .written(let write, let fields, _) = start else { return (start, nil) }
      let pending = PendingWrite(fields.map { FieldOperation(.set, $0) })
      state.writes.insert(.init(write: pending, model: self, isRestoring: true), for: write)
      return (start, pending)
    }
    // Like an assignment, it is readable at once on every thread; observers run on the lane.
    switch start {
    case .written(_, let fields, _), .withdrawn(let fields): observers.accept(present(fields), of: fields)
    case .nothing, .failed: break
    }
    // The step may have been dropped without any update.
    reportStatus()
    return (start, pending)
  }

  /// Why the hub, or this peer before it sent the write, did not take a step back.
  fileprivate func failure(of write: WriteID, _ conflict: Conflict) -> UndoFailure {
    let id = id
    return runtime.state.withLock { state in
      state.session.takeUndoFailure(of: write, in: id)
        ?? UndoFailure(
          field: conflict.field,
          cause: .changed(
            by: conflict.origin, isOwn: conflict.origin.tag == state.session.identity.tag,
            isDeleted: conflict.value == nil))
    }
  }

  fileprivate var undoStatus: Undoing.Status {
    ReadTracking.current == .nobody ? presentUndoStatus : presentUndoBroadcaster.read()
  }

  private var presentUndoStatus: Undoing.Status {
    let id = id
    let state = runtime.state.withLock { $0.session.undoState(of: id) }
    return Undoing.Status(undoes: state.undoes ?? [], redoes: state.redoes ?? [])
  }

  fileprivate var presentUndoBroadcaster: StatusBroadcaster<Undoing.Status> {
    undoBroadcaster.object {
      StatusBroadcaster<Undoing.Status>(
        present: { [weak self] in self?.presentUndoStatus ?? Undoing.Status() },
        begin: { [weak self] in self?.observers.register($0) })
    }
  }
}

extension ModelObservers {
  /// Shows the cells of these fields what was just overlaid; their observers are notified on the lane.
  func accept(_ present: OverlaidFields, of fields: [String]) {
    for field in Swift.Set(fields.map(Names.whole)) {
      for weak in staged.withLock({ $0.fields.byName[field]?.cells ?? [] }) {
        weak.cell?.accept(
          .init(
            value: present.merged[field], stamp: present.stamp, isOurs: present.ours.contains(field),
            form: present.forms[field], list: present.lists[field]))
      }
    }
  }
}

extension UndoFailure {
  /// As a sentence with names.
  var sentence: String {
    let field = FieldTitle.of(field)
    switch cause {
    case .changed(let origin, let isOwn, let isDeleted):
      let writer =
        isOwn
        ? " by this program, in a write that is not undoable,"
        : origin == .none ? "" : " by \(origin.attribution)"
      return "\(field) was \(isDeleted ? "deleted" : "changed")\(writer) since"
    case .unknownBefore:
      return "what \(field) was before that write is not known here: its commit arrived together with others"
    case .lost:
      return "the hub's log has begun a new epoch, and \(field) is not what that write left"
    }
  }
}
