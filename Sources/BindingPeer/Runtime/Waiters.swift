import Dispatch

/// The threads and tasks that wait for a condition of the runtime's state, which is checked after every event.
struct Waiters: Sendable {
  typealias Condition = @Sendable (borrowing PeerRuntime.State) -> Bool

  struct Waiter: Sendable {
    fileprivate let condition: Condition
    let resume: @Sendable () -> Void
  }
  private var byNumber: [UInt64: Waiter] = [:]
  private var last: UInt64 = 0

  var count: Int { byNumber.count }
  var isEmpty: Bool { byNumber.isEmpty }

  fileprivate mutating func add(_ waiter: Waiter) -> UInt64 {
    last += 1
    byNumber[last] = waiter
    return last
  }

  /// The condition is released by the caller, outside the lock.
  fileprivate mutating func remove(_ number: UInt64) -> Waiter? { byNumber.removeValue(forKey: number) }

  /// The numbers of those whose condition holds.
  fileprivate func released(by state: borrowing PeerRuntime.State) -> [UInt64] {
    byNumber.compactMap { $0.value.condition(state) ? $0.key : nil }
  }
}

extension PeerRuntime.State {
  /// Removes the waiters that can continue, and returns them.
  mutating func takeReleasedWaiters() -> [Waiters.Waiter] {
    waiters.isEmpty ? [] : waiters.released(by: self).compactMap { waiters.remove($0) }
  }
}

extension PeerRuntime {
  /// Waits until `condition` holds, which is checked after every event. Returns false when `timeout` passes first
  /// (nil: no limit), or the task is cancelled.
  func wait(
    timeout: Duration? = nil, until condition: @escaping Waiters.Condition
  ) async -> Bool {
    let wait = Wait<Bool>()
    guard let id = enter(condition, resume: { wait.end(true) }) else { return true }
    let holds = await wait.value(timeout: timeout, otherwise: false)
    // The condition is released outside the lock.
    if !holds { _ = state.withLock { $0.waiters.remove(id) } }
    return holds
  }

  /// - Returns: the number of the waiter; nil if the condition holds already.
  private func enter(
    _ condition: @escaping Waiters.Condition, resume: @escaping @Sendable () -> Void
  ) -> UInt64? {
    state.withLock { state in
      if condition(state) { return nil }
      return state.waiters.add(.init(condition: condition, resume: resume))
    }
  }

  /// Blocks the thread until `condition` holds or `deadline`, in milliseconds of `now`, has passed.
  func block(until deadline: UInt64, or condition: @escaping Waiters.Condition) {
    let bell = DispatchSemaphore(value: 0)
    guard let id = enter(condition, resume: { bell.signal() }) else { return }
    let now = PeerRuntime.now
    _ = bell.wait(timeout: .now() + .milliseconds(Int(clamping: deadline > now ? deadline - now : 0)))
    _ = state.withLock { $0.waiters.remove(id) }
  }
}
