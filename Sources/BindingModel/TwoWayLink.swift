extension Binding where Value: Equatable & Sendable {
  /// Connects two values: this one takes the other's value now, and from then on each follows the other, until the
  /// token is cancelled or released or one of their owners is gone.
  ///
  /// Neither can set off a loop. If a side shows something else than it was given (a mapping that does not round-trip,
  /// a range), the side that was written last is corrected once, and that is the end of it. If a side takes no such
  /// value at all (`BindingError.Reason.unmappable`), both keep what they have.
  ///
  /// - Parameters:
  ///   - other: whose value this one takes now.
  ///   - onProblem: told each time a value could not be carried over, or was taken as another one (`.corrected`), on
  ///     the thread that delivered it.
  /// - Returns: the token that holds the two together; keep it.
  public func bind(
    to other: Binding<Value>, onProblem: (@Sendable (BindingError) -> Void)? = nil
  ) -> ObserverToken {
    let link = TwoWayLink(self, other, onProblem: onProblem)
    link.start()
    return ObserverToken { link.cancel() }
  }
}

/// Carries values between two bindings, one transfer at a time.
///
/// What both sides showed after the last transfer is remembered: a notification that finds them unchanged is an echo.
/// Only one thread carries at any time; others leave a mark for it, so that two threads that write the two sides at
/// once cannot swap the values back and forth.
// SAFETY: `settled` is reached by the carrying thread only, and `progress` hands that role on; all else never changes.
final class TwoWayLink<Value: Equatable & Sendable>: @unchecked Sendable {
  private enum Side { case left, right }

  private let left: Binding<Value>
  private let right: Binding<Value>
  private let onProblem: (@Sendable (BindingError) -> Void)?
  /// In whose name this link writes, to leave out most echoes before they cost anything.
  private let writer = Writer()
  private let progress = Protected(LinkProgress())
  /// What both sides showed after the last transfer; nil before the first.
  private var settled: (left: Value, right: Value)?

  init(_ left: Binding<Value>, _ right: Binding<Value>, onProblem: (@Sendable (BindingError) -> Void)?) {
    self.left = left
    self.right = right
    self.onProblem = onProblem
  }

  func start() {
    // Nothing is settled yet, so this carries the right value to the left.
    carryNews()
    for side in [left, right] {
      let token = side.observe(from: .others(than: writer)) { [weak self] _ in self?.carryNews() }
      let isTooLate = progress.withLock { $0.keep(token) == false }
      if isTooLate { token.cancel() }
    }
  }

  func cancel() {
    for token in progress.withLock({ $0.end() }) { token.cancel() }
  }

  private func carryNews() {
    guard progress.withLock({ $0.begin() }) else { return }
    repeat { carry() } while progress.withLock { $0.isToGoOn() }
  }

  private func carry() {
    let present = (left: left.value, right: right.value)
    // Where both were written since, the right one stays: it is the one that was bound to.
    if settled.map({ present.right != $0.right }) ?? true {
      settled = transfer(present.right, from: .right)
    } else if settled.map({ present.left != $0.left }) ?? true {
      settled = transfer(present.left, from: .left)
    }
  }

  private func transfer(_ value: Value, from side: Side) -> (left: Value, right: Value) {
    let (source, target) = side == .left ? (left, right) : (right, left)
    var shown = value
    var taken = target.value
    do throws(BindingError) {
      // A control that already shows the value is not written: carets and selections stay.
      if taken != value {
        try target.set(value, by: writer)
        taken = target.value
      }
      if taken != value, value == value {
        try source.set(taken, by: writer)
        shown = source.value
        report(.corrected(value, to: taken))
      }
    } catch {
      report(error)
      taken = target.value
    }
    return side == .left ? (shown, taken) : (taken, shown)
  }

  private func report(_ error: BindingError) {
    if error.reason == .ended { cancel() } else { onProblem?(error) }
  }
}

/// Who carries, and whether there is more to carry.
private struct LinkProgress {
  private var isCarrying = false
  private var isNewsWaiting = false
  private var isOver = false
  private var tokens: [ObserverToken] = []

  /// True if the caller is to carry now; else whoever does will go on with this news.
  mutating func begin() -> Bool {
    if isCarrying {
      isNewsWaiting = true
      return false
    }
    isCarrying = !isOver
    return isCarrying
  }

  /// After a transfer: true if there was news meanwhile.
  mutating func isToGoOn() -> Bool {
    isCarrying = isNewsWaiting && !isOver
    isNewsWaiting = false
    return isCarrying
  }

  /// False if the link is over already.
  mutating func keep(_ token: ObserverToken) -> Bool {
    if isOver { return false }
    tokens.append(token)
    return true
  }

  mutating func end() -> [ObserverToken] {
    isOver = true
    defer { tokens = [] }
    return tokens
  }
}
