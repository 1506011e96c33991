/// The state of a validated value, without its model.
final class ValidatedState<Value: Equatable & Sendable>: Sendable {
  /// A value and its problem by the rule.
  struct Attempt: Equatable, Sendable {
    var value: Value
    var problem: String?
  }

  /// A valid value that the model refused, at once or later.
  struct Refusal: Equatable, Sendable {
    var value: Value
    var message: String
  }

  let first: Value
  let draft: Binding<Value>
  /// The current value with its problem; published again when something that the rule reads changes.
  let attempt: Derived<Attempt>
  let refusal = Observable<Refusal?>(nil)
  private let known: Protected<Value>

  init(_ draft: Binding<Value>, check: @escaping @Sendable (Value) -> String?) {
    self.draft = draft
    first = draft.location.read()
    known = Protected(first)
    attempt = Derived {
      let value = draft.value
      return Attempt(value: value, problem: check(value))
    }
  }

  /// What is wrong with the current value. A read of it is tracked.
  var problem: String? {
    let attempt = attempt.value
    if let problem = attempt.problem { return problem }
    guard let refusal = refusal.value, refusal.value == attempt.value else { return nil }
    return refusal.message
  }

  /// What the model had last, in the form of this value.
  var committed: Value {
    get { known.withLock { $0 } }
    set {
      // The former value is released without the lock: its deinit may run user code.
      let former = known.withLock { known in
        defer { known = newValue }
        return known
      }
      withExtendedLifetime(former) {}
    }
  }
}

/// Writes valid values to a model, and takes back what others write there.
protocol DraftLink: AnyObject, Sendable {
  func start()
  func end()
}

/// The link of one validated value and its model, one transfer at a time: a thread with a change leaves it to the
/// thread that is transferring.
// SAFETY: mutable state is accessed by the transferring thread only, and `progress` hands that role over; `tokens` is
// set before another thread knows of this; all else never changes.
final class ModelLink<Conversion: Mapping>: DraftLink, @unchecked Sendable
where Conversion.Source: Equatable & Sendable, Conversion.Target: Equatable & Sendable {
  private struct Progress {
    var isCarrying = false
    var hasChanges = false
    var isOver = false
    /// Why the write with this number was refused after it had been accepted.
    var refusal: (write: Int, message: String)?
  }

  private let model: any BindingLocation<Conversion.Source>
  private let map: Conversion
  private let state: ValidatedState<Conversion.Target>
  private let writer = Writer.observingRefusals()
  private let progress = Protected(Progress())
  private let tokens = ObserverTokens()

  /// The value when it was last read.
  private var settled: Conversion.Target
  /// The model's value when it was last read.
  private var written: Conversion.Source
  /// The value was edited, and has not been written to the model.
  private var isOwing = false
  /// How many writes the model has accepted, and the last of them, until the model has another value.
  private var writes = 0
  private var sent: Conversion.Target?
  /// The model accepted the last write and has been given another value since.
  private var hasFollowed = false
  /// The last write was refused, and the model has still to fall back to its committed value.
  private var isFallingBack = false

  init(
    _ model: any BindingLocation<Conversion.Source>, _ map: Conversion, _ state: ValidatedState<Conversion.Target>
  ) {
    self.model = model
    self.map = map
    self.state = state
    settled = state.first
    written = model.read()
  }

  func start() {
    LateRefusals.observe(for: writer) { [weak self] in self?.observer ?? { _ in } }
    state.attempt.observe { [weak self] _ in self?.carryChanges() }.store(in: tokens)
    model.observe(owner: nil) { [weak self] _, _ in self?.carryChanges() }.store(in: tokens)
  }

  func end() {
    progress.withLock { $0.isOver = true }
    LateRefusals.end(for: writer)
    tokens.cancelAll()
  }

  /// Observes the write that is being made, on the transferring thread.
  private var observer: LateRefusals.Observer {
    let write = writes + 1
    return { [weak self] message in
      self?.progress.withLock { $0.refusal = (write, message) }
      self?.carryChanges()
    }
  }

  private func carryChanges() {
    let isToCarry = progress.withLock { progress in
      progress.hasChanges = true
      defer { progress.isCarrying = true }
      return !progress.isCarrying && !progress.isOver
    }
    guard isToCarry else { return }
    while consumeChanges() { carry() }
  }

  private func consumeChanges() -> Bool {
    progress.withLock { progress in
      progress.isCarrying = progress.hasChanges && !progress.isOver
      progress.hasChanges = false
      return progress.isCarrying
    }
  }

  private func carry() {
    let refusal = progress.withLock { progress in
      defer { progress.refusal = nil }
      return progress.refusal
    }
    // A write made since then has an outcome of its own.
    if let refusal, refusal.write == writes { showRefusal(refusal.message) }
    let attempt = state.attempt.value
    if attempt.value != settled {
      settled = attempt.value
      isOwing = true
    }
    if isOwing, attempt.problem == nil { write(attempt.value) }
    let present = model.read()
    guard present != written else { return }
    // Another writer wrote, or the model changed what it was given.
    written = present
    let form = map.forward(present)
    state.committed = form
    // A refused value stays here, with its problem, until it is edited.
    guard !isFallingBack else {
      isFallingBack = false
      return
    }
    (isOwing, hasFollowed, settled) = (false, true, form)
    state.refusal.value = nil
    try? state.draft.set(settled, by: writer)
  }

  /// The model accepted the last write, and its hub refused it: the value stays here, with the reason.
  private func showRefusal(_ message: String) {
    guard let sent else { return }
    self.sent = nil
    // A later edit stays.
    let left = hasFollowed ? state.committed : sent
    guard settled == left, state.attempt.value.value == left else { return }
    isOwing = false
    state.refusal.value = ValidatedState.Refusal(value: sent, message: message)
    guard hasFollowed else {
      isFallingBack = true
      return
    }
    // The model has fallen back already, and this value with it.
    settled = sent
    try? state.draft.set(sent, by: writer)
  }

  private func write(_ value: Conversion.Target) {
    do throws(BindingError) {
      let source = try map.back(value)
      (sent, hasFollowed, isFallingBack) = (value, false, false)
      if model.read() != source {
        try model.write(source, by: writer)
        writes += 1
      }
      isOwing = false
      written = source
      state.committed = value
      state.refusal.value = nil
    } catch {
      sent = nil
      state.refusal.value = ValidatedState.Refusal(value: value, message: error.message)
    }
  }
}
