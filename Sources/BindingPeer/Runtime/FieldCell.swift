import BindingModel
import BindingProtocol

/// The one place of a field's value in this process: the shown value, the declaration, and the observers.
/// What is called for each change is compiled for the usual types: else it looks up metadata at every step.
final class FieldCell<Value: Sendable & Equatable>: AnyFieldCell {
  let declared: Value
  let declaredName: String?
  let formerName: String?
  let codec: FieldCodec<Value>
  /// The type of an earlier release, in which the values may be stored.
  let stored: Field<Value>.StoredForm?
  let description: FieldDescription
  let policy: ConflictPolicy<Value>
  /// The value of the last notification. It follows `shown` at each delivery on the model's lane.
  let published: Observable<Value>

  private let state = Protected(CellState())
  // SAFETY: read and written only while the lock of `state` is held.
  nonisolated(unsafe) private var shown: Value
  /// The last value from the hub, or the default: it shows where a write was refused and the committed value cannot
  /// be decoded.
  // SAFETY: as `shown`.
  nonisolated(unsafe) private var good: Value
  /// The values that the declaration allows, computed once.
  let rule: FieldRule
  /// The elements, of a field with the policy `list`.
  let list: (any FieldList<Value>)?

  init(
    declared: Value, name: String?, was formerName: String? = nil, stored: Field<Value>.StoredForm? = nil,
    codec: FieldCodec<Value>, description: FieldDescription, policy: ConflictPolicy<Value>
  ) {
    self.policy = policy
    self.stored = stored
    self.formerName = formerName
    self.declared = declared
    declaredName = name
    self.codec = codec
    var described = description
    if case .set(nil) = policy.strategy {} else { described.policy = policy.name }
    list = if case .list(let make) = policy.strategy { make(declared) } else { nil }
    if list != nil { described.describeElements() }
    described.formerly = stored?.form
    self.description = described
    published = Observable(declared)
    shown = declared
    good = declared
    rule = described.rule
  }

  var encodedDefault: FieldValue? { list == nil ? try? codec.encode(declared) : nil }

  /// The model that this field belongs to, and its name there; nil until it is shared.
  var attachment: (model: SharedModel, name: String)? { state.withLock { $0.attachment } }

  var sharedModel: SharedModel? { attachment?.model }

  /// Why the last value assigned or received does not show; nil if it does.
  var problem: FieldProblem? { state.withLock { $0.problem } }

  func declare(_ declaration: DescribedField?) { state.withLock { $0.declared.declare(declaration) } }

  func describedOtherwise(
    in description: FieldValue, _ compare: (DescribedField) -> FieldDescription?
  ) -> FieldDescription? {
    let declared = state.withLock { $0.declared }
    if let compared = declared.compared, compared.description == description { return compared.otherwise }
    let otherwise = declared.field.flatMap(compare)
    state.withLock { state in
      if state.declared.number == declared.number { state.declared.compared = (description, otherwise) }
    }
    return otherwise
  }

  /// The shown value, or in a draft the value assigned there. Reads are tracked.
  var value: Value {
    let readers = ReadTracking.current
    // A derived value is the same for all readers: it ignores drafts.
    if readers != .derived, let draft = ChangeDraft.current, let drafted = draft.value(of: self) {
      return drafted as? Value ?? declared
    }
    return readers == .nobody ? shownValue : trackedReads.read { shownValue }
  }

  /// The value that shows outside of any draft.
  var shownValue: Value { state.withLock { _ in shown } }

  /// A plain assignment: overlaid immediately, sent when it can be.
  /// - Parameters:
  ///   - base: of a list: what the value was made from; nil: what shows now.
  ///   - renews: whether an equal value is sent to a field that expires; not by a binding, which may only echo.
  ///   - refused: called on the model's lane with the reason if the write is not applied in the end.
  /// - Returns: why the value is refused here; nil if it is not. The hub may have refused it by then: that is the
  ///   field's problem, and `refused` is called.
  @_specialize(where Value == Bool)
  @_specialize(where Value == Int)
  @_specialize(where Value == Double)
  @_specialize(where Value == String)
  @discardableResult
  func assign(
    _ value: Value, over base: ListBase<Value>? = nil, renews: Bool = true,
    onRefusal refused: LateRefusals.Observer? = nil
  ) -> String? {
    if let draft = ChangeDraft.current, draft.holds(self) {
      draft.record(value, for: self, over: base)
      return nil
    }
    let (attachment, isChange) = state.withLock { ($0.attachment, shown != value || $0.problem != nil) }
    guard isChange || renews && rule.expiry != nil && attachment != nil else { return nil }
    guard let attachment else { return hold(value) }
    do {
      catchUp(in: attachment.model, attachment.name)
      if let list {
        let write = try writeList(list, value, from: base ?? list.base)
        if write == nil { record(nil) }
        if let refused { write?.whenRefused(on: attachment.model.lane, writing: nil, refused) }
        return nil
      }
      guard let (assignment, shows) = try assignment(of: value, name: attachment.name) else {
        record(nil)
        return nil
      }
      let write = try attachment.model.write(assignment.proposal, policies: assignment.policies) { [self] in
        accept(shows, of: assignment, $0)
      }
      if let refused { write.whenRefused(on: attachment.model.lane, writing: assignment.operation.value, refused) }
      return nil
    } catch {
      record(.rejected("\(error)", current: attachment.model.record(attachment.name)?.committed))
      return "\(error)"
    }
  }

  /// Shows a value of a field that is not shared.
  /// - Returns: why not; nil if it shows.
  private func hold(_ value: Value) -> String? {
    if let reason = violation(by: value) {
      record(.rejected(reason, current: try? codec.encode(shownValue)))
      return reason
    }
    list?.hold(value)
    show(value)
    record(nil)
    publish(after: nil)
    return nil
  }

  /// How the last value received is to be read, and its stored form, if the field's type was changed.
  var present: (reading: FieldReading, raw: FieldValue?) { state.withLock { ($0.reading, $0.raw) } }

  /// Records the result of an assignment for which no caller waits, and has the status reported.
  func record(_ problem: FieldProblem?) {
    let (broadcaster, model) = state.withLock {
      $0.problem = problem
      $0.isSticky = false
      return ($0.broadcaster, $0.attachment?.model)
    }
    guard let broadcaster, broadcaster.isObserved else { return }
    guard let model else { return broadcaster.report() }
    model.reportStatus()
  }

  /// The broadcaster of the field's status.
  var statusBroadcaster: StatusBroadcaster<FieldStatus> {
    if let present = state.withLock({ $0.broadcaster }) { return present }
    let fresh = StatusBroadcaster<FieldStatus>(
      present: { [weak self] in self?.status ?? .local },
      begin: { [weak self] in self?.sharedModel?.observers.register($0) })
    return state.withLock { $0.broadcaster.filled(with: fresh) }
  }

  func attach(to model: SharedModel, as name: String) -> Bool {
    let (isFirst, broadcaster) = state.withLock { state -> (Bool, StatusBroadcaster<FieldStatus>?) in
      guard state.attachment == nil else { return (false, nil) }
      state.attachment = (model, name)
      return (true, state.broadcaster)
    }
    if let broadcaster, broadcaster.isObserved {
      model.observers.register(broadcaster)
      model.reportStatus()
    }
    return isFirst
  }

  @_specialize(where Value == Bool)
  @_specialize(where Value == Int)
  @_specialize(where Value == Double)
  @_specialize(where Value == String)
  func accept(_ update: FieldUpdate) {
    if let list { return accept(update, in: list) }
    let reading = reading(of: update.form)
    guard let value = update.list.map({ $0.isWritten ? $0.array : nil }) ?? update.value else {
      return accept(typed: declared, stamp: update.stamp, isOurs: update.isOurs, isAnswer: false, in: reading)
    }
    // Decoding may run the program's code, so it happens outside the lock; the stamp keeps the order.
    guard let decoded = decode(value, reading) else { return fallBack(from: value, update) }
    accept(typed: decoded, stamp: update.stamp, isOurs: update.isOurs, isAnswer: false, raw: value, in: reading)
  }

  /// Shows the last good value, since the committed one cannot be decoded. A refused value is not good.
  func fallBack(from value: FieldValue, _ update: FieldUpdate) {
    // The old value is released outside the lock: its deinit may run any code.
    var old: Value?
    let tracker: ReadTracker? = state.withLock {
      guard update.stamp > $0.stamp else { return nil }
      $0.stamp = update.stamp
      $0.raw = stored == nil ? nil : value
      $0.reading = reading(of: update.form)
      if update.keepsShown {
        old = good
        good = shown
      } else {
        old = shown
        shown = good
      }
      if !$0.isSticky { $0.problem = .cannotShow(value) }
      return $0.tracker
    }
    tracker?.invalidate()
    withExtendedLifetime(old) {}
  }

  /// The program has written the field, as an answer to a refusal.
  func acceptAnswer(at stamp: UInt64) {
    let answered = state.withLock { $0.answer(at: stamp) ? $0.attachment?.model : nil }
    answered?.reportStatus()
  }

  /// `accept` for a decoded value, by default that of a local write.
  /// - Parameters:
  ///   - isAnswer: whether the program writes it through this field, and so answers a refusal.
  ///   - raw: the stored form of the value; nil: there is none.
  ///   - reading: how it was read; nil: as the value before.
  func accept(
    typed value: Value, stamp: UInt64, isOurs: Bool = true, isAnswer: Bool = true, raw: FieldValue? = nil,
    in reading: FieldReading? = nil
  ) {
    // The old value is released outside the lock: its deinit may run any code.
    var value = value
    var old: Value?
    var answered: SharedModel?
    let tracker: ReadTracker? = state.withLock {
      // The update that this write causes may have been shown before.
      if isAnswer, $0.answer(at: stamp) { answered = $0.attachment?.model }
      guard stamp > $0.stamp else { return nil }
      $0.stamp = stamp
      if stored != nil { $0.raw = raw }
      if let reading { $0.reading = reading }
      if !isOurs {
        old = good
        good = value
      }
      swap(&shown, &value)
      // The commit of an earlier own write shows nothing new: the refusal of a later one remains.
      if $0.problem != nil, !$0.isSticky, stamp > $0.refusedAt, !$0.isRejected || shown != value { $0.problem = nil }
      return $0.tracker
    }
    tracker?.invalidate()
    answered?.reportStatus()
    withExtendedLifetime(old) {}
  }

  private func show(_ value: Value) {
    var value = value
    let tracker = state.withLock {
      swap(&shown, &value)
      return $0.tracker
    }
    tracker?.invalidate()
  }

  func publish(after overwritten: FieldUpdate.Overwritten?) {
    let (value, tracker) = state.withLock { (shown, $0.tracker) }
    if let overwritten { forgetPublished(value, after: overwritten) }
    published.value = value
    list?.publish()
    // Created for this field by `trackedReads`.
    if let tracker { (tracker as? TrackedReads<Value>)?.notify(value) }
  }

  /// Whether the value was ever read by a reader that tracks it.
  var isTracked: Bool { state.withLock { $0.tracker != nil } }

  private var trackedReads: TrackedReads<Value> {
    if let present = state.withLock({ $0.tracker }) as? TrackedReads<Value> { return present }
    let fresh = TrackedReads<Value>()
    return state.withLock { $0.tracker.filled(with: fresh) } as? TrackedReads<Value> ?? fresh
  }

  func reject(_ reason: String, current: FieldValue?, stamp: UInt64, isSticky: Bool) {
    state.withLock {
      // A value assigned since then shows.
      guard stamp > $0.stamp else { return }
      $0.problem = .rejected(reason, current: current)
      $0.refusedAt = stamp
      $0.isSticky = isSticky
    }
  }
}
