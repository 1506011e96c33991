extension Binding where Value: Equatable & Sendable {
  /// Connects two values: this one takes the other's value now, and then each follows the other until the token is
  /// cancelled or released, or one of their owners is gone.
  ///
  /// Neither can cause a loop. If a side shows another value than it was given (a mapping that does not round-trip, a
  /// range), the side that was written last is corrected once. If a side has no such value at all
  /// (`BindingError.Reason.unmappable`), both keep what they have.
  ///
  /// - Parameters:
  ///   - other: the binding whose value this one takes now.
  ///   - onProblem: called each time a value could not be transferred, or was accepted as another one (`.corrected`),
  ///     on the thread that delivered it.
  /// - Returns: the token that keeps the two connected; store it.
  public func bind(
    to other: Binding<Value>, onProblem: (@Sendable (BindingError) -> Void)? = nil
  ) -> ObserverToken {
    let link = TwoWayLink(self, other, onProblem: onProblem)
    link.start()
    return ObserverToken { link.cancel() }
  }
}

/// Transfers values between two bindings, one transfer at a time.
///
/// The link remembers what both sides showed after the last transfer: a notification that finds them unchanged is an
/// echo. Only one thread transfers at any time. Others leave their change for it to find, so that two threads that
/// write the two sides concurrently cannot swap the values back and forth.
// SAFETY: `settled` and `isSettled` are accessed by the transferring thread only, and `progress` hands that role
// over; all else never changes.
final class TwoWayLink<Value: Equatable & Sendable>: @unchecked Sendable {
  private enum Side: Int {
    case left, right

    var opposite: Side { self == .left ? .right : .left }
  }

  private let left: LinkedLocation<Value>
  private let right: LinkedLocation<Value>
  private let onProblem: (@Sendable (BindingError) -> Void)?
  /// The writer of this link, which leaves out most echoes before they cost anything.
  private let writer = Writer.link()
  private let progress = Protected(LinkProgress())
  /// What both sides showed after the last transfer, the left one first. In separate memory: where the compiler does
  /// not know the type, it looks up that of an optional pair at every access.
  private let settled = UnsafeMutablePointer<Value>.allocate(capacity: 2)
  private var isSettled = false

  init(_ left: Binding<Value>, _ right: Binding<Value>, onProblem: (@Sendable (BindingError) -> Void)?) {
    self.left = LinkedLocation(left.location)
    self.right = LinkedLocation(right.location)
    self.onProblem = onProblem
  }

  deinit {
    if isSettled { settled.deinitialize(count: 2) }
    settled.deallocate()
  }

  func start() {
    // Nothing is settled yet, so this transfers the right value to the left.
    carryChanges()
    for side in [left, right] {
      // The two sides retain the link, and it their observations, until it is cancelled, at the latest with its
      // token.
      let token = observe(side)
      let isTooLate = progress.withLock { $0.keep(token) == false }
      if isTooLate { token.cancel() }
    }
  }

  private func observe(_ side: LinkedLocation<Value>) -> ObserverToken {
    if let cell = side.cell {
      let observer = Observer<Value>(except: writer) { [self] _ in carryChanges() }
      return cell.add(observer, cancelsWhenReleased: true)
    }
    return side.location.observe(owner: nil) { [self] _, writer in if writer != self.writer { carryChanges() } }
  }

  func cancel() {
    for token in progress.withLock({ $0.end() }) { token.cancel() }
  }

  private func carryChanges() {
    let turn = ThreadTurn.current
    let own = turn.pointee.hops
    guard progress.withLock({ $0.begin(own) }) else { return }
    defer { turn.pointee.hops = own }
    var rounds = 0
    repeat {
      carry(turn)
      rounds += 1
      if rounds.isMultiple(of: Service.limit), !findSuccessor() { return }
    } while progress.withLock({ $0.isToGoOn() })
  }

  /// Lets another writing thread take over. False if one does.
  private func findSuccessor() -> Bool {
    progress.withLock { $0.pause() }
    Platform.pause(microseconds: 50)
    return progress.withLock { $0.begin(0) }
  }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  private func carry(_ turn: UnsafeMutablePointer<ThreadTurn>) {
    let shownLeft = left.read()
    let shownRight = right.read()
    // If both were written since, the right one wins: it is the one that was bound to.
    let isRight = !isSettled || shownRight != settled[Side.right.rawValue]
    guard isRight || shownLeft != settled[Side.left.rawValue] else { return }
    // The values just read may include a change left by another thread, with more hops.
    let hops = progress.withLock { $0.hops }
    if hops > turn.pointee.hops { turn.pointee.hops = hops }
    if isRight {
      transfer(shownRight, from: .right, over: shownLeft)
    } else {
      transfer(shownLeft, from: .left, over: shownRight)
    }
  }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  private func transfer(_ value: Value, from side: Side, over present: Value) {
    do throws(BindingError) {
      // A control that already shows the value is not written: cursors and selections stay.
      if present == value { return settle(value, present, from: side) }
      try write(value, to: side.opposite)
      let accepted = read(side.opposite)
      guard accepted != value, value == value else { return settle(value, accepted, from: side) }
      try write(accepted, to: side)
      settle(read(side), accepted, from: side)
      // Another form of the same value is no correction.
      let target = side == .left ? right : left
      if (target.location as? any FormLocation<Value>)?.isSame(value, accepted) != true {
        report(.corrected(value, to: accepted))
      }
    } catch {
      settle(value, read(side.opposite), from: side)
      report(error)
    }
  }

  @inline(__always)
  private func read(_ side: Side) -> Value { side == .left ? left.read() : right.read() }

  @inline(__always)
  private func write(_ value: Value, to side: Side) throws(BindingError) {
    if side == .left { try left.write(value, by: writer) } else { try right.write(value, by: writer) }
  }

  @inline(__always)
  private func settle(_ source: Value, _ target: Value, from side: Side) {
    let (index, other) = (side.rawValue, 1 - side.rawValue)
    if isSettled {
      settled[index] = source
      settled[other] = target
    } else {
      (settled + index).initialize(to: source)
      (settled + other).initialize(to: target)
      isSettled = true
    }
  }

  private func report(_ error: BindingError) {
    if error.reason == .ended { cancel() } else { onProblem?(error) }
  }
}

/// One side of a link. Mostly a cell, which is reached without a look at its type.
private struct LinkedLocation<Value: Equatable & Sendable>: Sendable {
  let location: any BindingLocation<Value>
  let cell: Cell<Value>?

  init(_ location: any BindingLocation<Value>) {
    self.location = location
    cell = location as? Cell<Value>
  }

  @inline(__always)
  func read() -> Value { if let cell { cell.read() } else { location.read() } }

  @inline(__always)
  func write(_ value: Value, by writer: Writer) throws(BindingError) {
    if let cell { try cell.write(value, by: writer) } else { try location.write(value, by: writer) }
  }
}

/// Whether a thread transfers, and whether there is more to transfer.
private struct LinkProgress {
  private var isCarrying = false
  private var isChangeWaiting = false
  /// The most hops of the changes since the transfers began, or of those that wait for them.
  private(set) var hops: UInt8 = 0
  private var isOver = false
  private var tokens: [ObserverToken] = []

  /// True if the caller is to transfer now; else the transferring thread will see this change.
  mutating func begin(_ hops: UInt8) -> Bool {
    if isCarrying {
      isChangeWaiting = true
      self.hops = max(hops, self.hops)
      return false
    }
    isCarrying = !isOver
    return isCarrying
  }

  /// After a transfer: true if there was a change meanwhile.
  mutating func isToGoOn() -> Bool {
    isCarrying = isChangeWaiting && !isOver
    isChangeWaiting = false
    if !isCarrying { hops = 0 }
    return isCarrying
  }

  /// Until `begin`, any thread may take over; changes wait for it.
  mutating func pause() { isCarrying = false }

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
