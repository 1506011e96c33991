/// What a validated value is made of, without its model.
final class ValidatedState<Value: Equatable & Sendable>: Sendable {
  /// A value and what the rule says of it.
  struct Attempt: Equatable, Sendable {
    var value: Value
    var problem: String?
  }

  /// A valid value that the model did not take, or gave back.
  struct Refusal: Equatable, Sendable {
    var value: Value
    var message: String
  }

  let first: Value
  let draft: Binding<Value>
  /// The present value, judged; told anew when what the rule reads changes.
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

  /// What is wrong with the present value. A read of it is tracked.
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
      // The former value goes after the lock is let go of: its end may be anybody's code.
      let former = known.withLock { known in
        defer { known = newValue }
        return known
      }
      withExtendedLifetime(former) {}
    }
  }
}

/// Carries what is valid to a model, and what others write there back.
protocol DraftLink: AnyObject, Sendable {
  func start()
  func end()
}

/// The link of one validated value and its model, one transfer at a time: whoever has news while another thread carries
/// leaves a mark for it.
// SAFETY: what changes is reached by the carrying thread only, and `progress` hands that role on; `tokens` is set
// before another thread knows of this; all else never changes.
final class ModelLink<Conversion: Mapping>: DraftLink, @unchecked Sendable
where Conversion.Source: Equatable & Sendable, Conversion.Target: Equatable & Sendable {
  private struct Progress {
    var isCarrying = false
    var hasChanges = false
    var isOver = false
    /// Why the write of this number was refused after it had been taken.
    var refusal: (write: Int, message: String)?
  }

  private let model: any BindingLocation<Conversion.Source>
  private let map: Conversion
  private let state: ValidatedState<Conversion.Target>
  private let writer = Writer.observingRefusals()
  private let progress = Protected(Progress())
  private let tokens = ObserverTokens()

  /// The value when it was last looked at.
  private var settled: Conversion.Target
  /// What the model had when it was last looked at.
  private var written: Conversion.Source
  /// The value was edited, and has not gone on to the model.
  private var isOwing = false
  /// How many writes the model has taken, and the last of them, until the model has another value.
  private var writes = 0
  private var sent: Conversion.Target?
  /// The model took the last write and has been given another value since.
  private var hasFollowed = false
  /// The last write was refused, and the model is still to fall back to what stands.
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

  /// Of the write that is being made, on the carrying thread.
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
    // What was written since stands for itself.
    if let refusal, refusal.write == writes { showRefusal(refusal.message) }
    let attempt = state.attempt.value
    if attempt.value != settled {
      settled = attempt.value
      isOwing = true
    }
    if isOwing, attempt.problem == nil { write(attempt.value) }
    let present = model.read()
    guard present != written else { return }
    // Somebody else wrote, or the model made something else of what it was given.
    written = present
    let form = map.forward(present)
    state.committed = form
    // What was refused stays here, with its problem, until it is edited.
    guard !isFallingBack else {
      isFallingBack = false
      return
    }
    (isOwing, hasFollowed, settled) = (false, true, form)
    state.refusal.value = nil
    try? state.draft.set(settled, by: writer)
  }

  /// The model took the last write, and its hub has not: the value stays here, with the reason.
  private func showRefusal(_ message: String) {
    guard let sent else { return }
    self.sent = nil
    // What was edited since stays.
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
