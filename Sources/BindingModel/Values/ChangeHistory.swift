/// Undo and redo for values of one process: it records the changes of the values that it tracks, turn by turn, and
/// takes them back.
/// ```swift
/// let history = ChangeHistory()
/// history.track(title)
/// title.value = "Once"
/// history.undo()
/// ```
/// - What a turn changes, and what observers write in answer to it on its thread, is one step. So are changes of the
///   same values in quick succession, what `group` encloses, and what a person does in a control from focus to focus.
/// - A new change empties the redo stack. Beyond the limit the oldest steps go.
/// - Any thread may write, undo and redo. Observers run on the thread that does; two threads that write at once make
///   two steps.
/// - It holds the tracked values weakly, and what it needs to restore them until a step goes. It ends with its last
///   reference: nothing keeps it alive.
/// - It does not see `setSilently`. Call `undo`, `redo` and `withoutRecording` outside of turns and observers: inside,
///   values are delivered later, and what others answer then is a new change.
public final class ChangeHistory: Sendable {
  /// What an undo and a redo would do now.
  public struct Status: Sendable, Equatable {
    /// Whether there is a step to undo.
    public var canUndo = false
    /// Whether there is a step to redo.
    public var canRedo = false
  }

  private struct Steps: Sendable {
    var undo: [ChangeStep] = []
    var redo: [ChangeStep] = []
    /// How often a group was begun, and its number.
    var group: (depth: Int, number: UInt64) = (0, 0)
    /// Threads whose changes are not recorded now, and how often each has asked for that.
    var silent: [UInt64: Int] = [:]
    /// What is tracked, by identity.
    var tracked: [ObjectIdentifier: TrackedValue] = [:]

    /// Makes one step of the last two, if they changed the same values in one editing session or soon after each
    /// other. Only when a step is complete is it known which values it changed.
    mutating func mergeLast(within time: Duration) {
      guard undo.count > 1, undo[undo.count - 2].isContinued(by: undo[undo.count - 1], within: time) else { return }
      let last = undo.removeLast()
      undo[undo.count - 1].absorb(last)
    }
  }

  private let steps = Protected(Steps())
  private let published = Observable(Status())
  /// The writer of restored values.
  private let writer = Writer()
  private let limit: Int
  private let merging: Duration
  private let now: @Sendable () -> ContinuousClock.Instant

  /// Creates an empty history.
  /// - Parameters:
  ///   - limit: the most steps, at least 1, to undo and to redo together.
  ///   - merging: changes of the same values that follow each other within this time are one step; zero: none are.
  ///   - now: the clock, for tests.
  public init(
    limit: Int = 100, merging: Duration = .seconds(1),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.limit = max(limit, 1)
    self.merging = merging
    self.now = now
  }

  // MARK: Tracking

  /// Records the changes of a value from now on, until the token is cancelled or the value is gone. Releasing the token
  /// does not end it. A value that is tracked already stays so, and its token is returned.
  @discardableResult
  public func track<Value: Sendable>(_ observable: Observable<Value>) -> ObserverToken {
    let id = ObjectIdentifier(observable)
    let present = steps.withLock { steps in steps.tracked[id].flatMap { $0.object === observable ? $0.token : nil } }
    if let present, !present.isCancelled { return present }
    let last = LastNotified<Value>()
    let token = observable.cell.observe(owner: self) { [weak self, weak observable] value, writer in
      guard let old = last.replace(by: value), let self, let observable, writer != self.writer else { return }
      record(ValueChange(of: observable, from: old, to: value))
    }
    steps.withLock { steps in
      // Values that are gone leave their entries behind.
      if steps.tracked.count == steps.tracked.capacity {
        steps.tracked = steps.tracked.filter { $0.value.object != nil }
      }
      steps.tracked[id] = TrackedValue(object: observable, token: token)
    }
    return token
  }

  /// Records the changes of a state from now on.
  @discardableResult
  public func track<Value: Sendable>(_ state: State<Value>) -> ObserverToken { track(state.observable) }

  // MARK: Status

  /// Whether there is a step to undo. Reads are tracked, like those of an observable.
  public var canUndo: Bool { published.value.canUndo }
  /// Whether there is a step to redo. Reads are tracked, like those of an observable.
  public var canRedo: Bool { published.value.canRedo }
  /// Both, to be observed or shown.
  public var statuses: ReadOnly<Status> { published.readOnly }

  // MARK: Undo and redo

  /// Takes back the last step: its values return to what they were before it, in one turn.
  /// - Returns: whether there was one. Steps whose values are all gone are passed over.
  @discardableResult
  public func undo() -> Bool { restore(old: true) }

  /// Restores the step that was undone last.
  /// - Returns: whether there was one.
  @discardableResult
  public func redo() -> Bool { restore(old: false) }

  private func restore(old: Bool) -> Bool {
    var dropped: [ChangeStep] = []
    let step: ChangeStep? = steps.withLock { steps in
      steps.mergeLast(within: merging)
      while let last = old ? steps.undo.popLast() : steps.redo.popLast() {
        guard last.isAlive else {
          dropped.append(last)
          continue
        }
        var step = last
        step.isClosed = true
        if old { steps.redo.append(step) } else { steps.undo.append(step) }
        return step
      }
      return nil
    }
    withExtendedLifetime(dropped) {}
    guard let step else {
      publish()
      return false
    }
    // What observers write in answer to it belongs to it, and is no new change.
    withoutRecording {
      Turn.run {
        for change in old ? step.changes.reversed() : step.changes { change.restore(old: old, by: writer) }
      }
    }
    publish()
    return true
  }

  /// Forgets all steps.
  public func removeAll() {
    let gone = steps.withLock { steps in
      defer { (steps.undo, steps.redo) = ([], []) }
      return steps.undo + steps.redo
    }
    withExtendedLifetime(gone) { publish() }
  }

  // MARK: Grouping

  /// Makes one step of what is changed while `body` runs, on whichever thread. Groups nest; the outermost one counts.
  public func group<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    steps.withLock { steps in
      if steps.group.depth == 0 { steps.group.number += 1 }
      steps.group.depth += 1
    }
    defer { steps.withLock { $0.group.depth -= 1 } }
    return try body()
  }

  /// Does not record what `body` changes on this thread.
  public func withoutRecording<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = ThreadTurn.current.pointee.id
    steps.withLock { $0.silent[thread, default: 0] += 1 }
    defer {
      steps.withLock { steps in
        let left = (steps.silent[thread] ?? 1) - 1
        steps.silent[thread] = left > 0 ? left : nil
      }
    }
    return try body()
  }

  // MARK: Recording

  private func record(_ change: any RecordedChange) {
    let turn = ThreadTurn.current
    let (thread, progress) = (turn.pointee.id, turn.pointee.progress)
    let time = now()
    // Old values are released outside the lock: their deinit may run any code.
    let gone: [ChangeStep]? = steps.withLock { steps -> [ChangeStep]? in
      guard steps.silent[thread] == nil else { return nil }
      var gone = steps.redo
      steps.redo = []
      let group = steps.group.depth > 0 ? steps.group.number : 0
      if let last = steps.undo.indices.last, steps.undo[last].isOf(thread, progress.cascade, group: group) {
        steps.undo[last].add(change, at: time)
      } else {
        steps.mergeLast(within: merging)
        steps.undo.append(ChangeStep(change, thread, progress, group: group, at: time))
      }
      if steps.undo.count > limit {
        gone += steps.undo.prefix(steps.undo.count - limit)
        steps.undo.removeFirst(steps.undo.count - limit)
      }
      return gone
    }
    if let gone { withExtendedLifetime(gone) { publish() } }
  }

  private func publish() {
    published.update { status in
      status = steps.withLock { Status(canUndo: !$0.undo.isEmpty, canRedo: !$0.redo.isEmpty) }
    }
  }
}

/// A tracked value and its observation.
private struct TrackedValue: Sendable {
  // SAFETY: the reference is only compared, and never set again.
  nonisolated(unsafe) weak var object: AnyObject?
  let token: ObserverToken

  init(object: AnyObject, token: ObserverToken) {
    self.object = object
    self.token = token
  }
}
