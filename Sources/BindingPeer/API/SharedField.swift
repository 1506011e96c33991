public import BindingModel
import BindingProtocol

/// A field itself, as `$level` gives it: observe it, bind controls to it, update it, read its status.
public struct SharedField<Value: Sendable & Equatable>: BindingSource, Sendable {
  let cell: FieldCell<Value>

  /// The shown value; assigning is the same as assigning the property. Reads inside `withObservationTracking`,
  /// `Observations` or a SwiftUI view are tracked; inside a `Derived` the field is a source.
  public var value: Value {
    get { cell.value }
    nonmutating set { cell.assign(newValue) }
  }

  /// How the shown value relates to the hub's. Reads are tracked like those of the value.
  public var status: FieldStatus { ReadTracking.current == .nobody ? cell.status : cell.statusBroadcaster.read() }

  /// `status`, observable on the model's lane: `lamp.$level.statuses.observe { … }`.
  public var statuses: Statuses<FieldStatus> { Statuses(broadcaster: cell.statusBroadcaster, subject: cell) }

  /// Whether the hub does not let this peer write the field: a form can disable its control. false until the hub has
  /// said so; it is known when the model is current, and changes only while the link is down.
  public var isReadOnly: Bool { cell.attachment.map { !$0.model.mayWrite($0.name) } ?? false }

  /// A binding for controls and for `BindingModel`'s compositions. It keeps the field alive, nothing else.
  public var binding: Binding<Value> { Binding(FieldLocation(cell: cell)) }
  /// The location that bindings use: reads are local, writes go to the hub.
  public var location: any BindingLocation<Value> { FieldLocation(cell: cell) }

  /// The present value, then the newest at each change, made here or elsewhere.
  public var values: Values<Value> { cell.published.values }

  /// Observes the value, now and at each change, on the model's lane, until the token is cancelled or released. Keep
  /// the token: releasing it ends the observation immediately.
  ///
  /// The lane may be any thread, so the closure is `@Sendable` and cannot touch what belongs to the main actor. There
  /// use `observeOnMain`:
  /// ```swift
  /// lamp.$level.observeOnMain(on: self) { screen, level in screen.title = "\(level)" }
  /// ```
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    cell.published.observe(body)
  }

  /// Observes the value, now and at each change, on the model's lane while `owner` lives, which is held weakly. On
  /// the main actor use `observeOnMain`, whose closure gets the owner.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    cell.published.observe(on: owner, body)
  }

  /// Writes a value and returns the write, whose outcome can be awaited.
  /// - Throws: `FieldError` if the value does not fit the declaration, `WriteError` if it cannot be overlaid.
  @discardableResult
  public func write(_ value: Value) throws -> PendingWrite {
    let (model, name) = try cell.attached()
    if let list = cell.list {
      return try cell.writeList(list, value, from: list.base) ?? PendingWrite.unchanged(name, model.version.version)
    }
    cell.catchUp(in: model, name)
    guard let (assignment, shows) = try cell.assignment(of: value, name: name) else {
      return PendingWrite.unchanged(name, model.version.version)
    }
    return try model.write(assignment.proposal, policies: assignment.policies) { [cell] in
      cell.accept(shows, of: assignment, $0)
    }
  }

  /// Takes note of the field's problem: `status` no longer reports a write that failed.
  public func dismissProblem() { cell.dismissProblem() }

  /// Writes the declared default, as a real write.
  @discardableResult
  public func reset() throws -> PendingWrite { try write(cell.declared) }

  /// Read-modify-write that loses nothing, however many processes do it: a compare-and-set that is retried on what
  /// others wrote meanwhile. `body` may run many times.
  ///
  /// A cancelled task does not retry. An attempt that was made stays written and may still be committed: to know,
  /// read the field.
  /// - Parameter attempts: the most attempts.
  /// - Returns: the value that was committed.
  /// - Throws: what `body` throws, `FieldError`, `WriteError`, `CancellationError`, or `RejectionError` when the hub
  ///   refuses or the attempts are used up.
  @discardableResult
  public func update(attempts: Int = 1_000, _ body: (Value) throws -> Value) async throws -> Value {
    let (model, name) = try cell.attached()
    if let list = cell.list { return try await updateList(list, attempts: attempts, body) }
    // An own pending write would make the first attempt a conflict with it.
    var seen = await model.recordOnceSettled(name)
    var rejection = RejectionError(outcome: .expired, fields: [name], current: [:])
    for _ in 0..<max(attempts, 1) {
      try Task.checkCancellation()
      cell.catchUp(in: model, name)
      let reading = cell.present.reading
      let decoded = seen?.committed.flatMap { cell.decode($0, reading) }
      if let value = seen?.committed, decoded == nil { throw FieldError.cannotShow(field: name, value: value) }
      let value = try body(decoded ?? cell.declared)
      let set = try cell.operation(.set, value, name: name, reading)
      if let mapped = set.value, cell.isStored(value, as: mapped, (reading, seen?.committed)) { return value }
      let proposal = Proposal(
        operations: [set],
        conditions: [Condition(field: name, epoch: seen?.epoch ?? 0, version: seen?.version ?? 0)],
        metadata: cell.condition(name, reading))
      let write = try model.write(proposal)
      let outcome = await write.outcome
      switch outcome {
      case .committed, .unchanged: return value
      case .conflict(let conflict):
        rejection = RejectionError(outcome: outcome, fields: [name], current: write.current)
        seen = await model.record(name, noOlderThan: conflict)
      case .refused where cell.stored != nil && cell.isReadOtherwise(than: reading, in: model, name):
        seen = model.record(name)
      case .waitCancelled: throw CancellationError()
      default: throw RejectionError(outcome: outcome, fields: [name], current: write.current)
      }
    }
    throw rejection
  }
}

extension SharedField where Value: AdditiveArithmetic & FieldCodable {
  /// Adds at the hub: no increment is lost, and none waits for another.
  @discardableResult
  public func add(_ amount: Value) throws -> PendingWrite {
    let (model, name) = try cell.attached()
    try cell.checkReadable(in: model, name)
    return try model.write(Proposal(operations: [FieldOperation(.add, name, try cell.codec.encode(amount))]))
  }
}

extension SharedModel {
  /// The field once no write of this peer is pending on it. Waits without a limit, until the peer has stopped or the
  /// task is cancelled.
  func recordOnceSettled(_ field: String) async -> FieldRecord? {
    let id = id
    _ = await runtime.wait { state in
      state.session.phase.isStopped || state.session.fieldRecord(id, field)?.isPending != true
    }
    return record(field)
  }

  /// The field once the replica has reached the commit that a conflict named, or as it is after a second.
  func record(_ field: String, noOlderThan conflict: Conflict) async -> FieldRecord? {
    let id = id
    _ = await runtime.wait(timeout: .seconds(1)) { state in
      state.session.fieldRecord(id, field).map { $0.version >= conflict.version } ?? false
    }
    return record(field)
  }
}

/// The location of a shared field: reading is local, writing goes to the hub.
struct FieldLocation<Value: Sendable & Equatable>: BindingLocation {
  let cell: FieldCell<Value>

  func read() -> Value { cell.value }

  func track() { if ReadTracking.current != .nobody { _ = cell.value } }

  var target: AnyObject? { cell }

  func write(_ value: Value, by writer: Writer) throws(BindingError) { try write(value, over: nil, by: writer) }

  private func write(_ value: Value, over base: ListBase<Value>?, by writer: Writer) throws(BindingError) {
    let refused = LateRefusals.observer(of: writer)
    if let reason = cell.assign(value, over: base, renews: false, onRefusal: refused) {
      throw BindingError(.refused, reason)
    }
  }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    let base = cell.list?.base
    var value = cell.value(over: base)
    if body(&value) { try write(value, over: base, by: writer) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    cell.published.binding.location.observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { cell.published.remove(observer: owner) }
}

extension FieldCell {
  func attached() throws(FieldError) -> (model: SharedModel, name: String) {
    guard let attachment else { throw .notShared(field: declaredName ?? "this field") }
    return attachment
  }

  var status: FieldStatus {
    guard let (model, name) = attachment else { return problem.map(FieldStatus.problem) ?? .local }
    if let problem { return .problem(problem) }
    let (syncState, reason) = model.runtime.state.withLock { state in
      let syncState = state.session.syncState(of: name, in: model.id)
      return (syncState, state.writes.retryReason(of: syncState.waiting))
    }
    if let since = syncState.pendingSince.map(PeerClock.instant) {
      return reason.map { .waiting($0, since: since) } ?? .pending(isInFlight: syncState.isInFlight, since: since)
    }
    if let since = syncState.expiredSince {
      return .expired(version: syncState.version, since: PeerClock.instant(since))
    }
    if let since = syncState.staleSince {
      return .stale(version: syncState.version, since: PeerClock.instant(signed: since))
    }
    if let text = model.descriptionText, let described = model.description(of: name, in: text, otherwiseThan: self) {
      return .mismatch(declared: description, described: described)
    }
    return .current(version: syncState.version)
  }
}
