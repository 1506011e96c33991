/// Delivers the values of one observation on a lane: immediately if the write is made there, else the newest when the
/// lane runs.
package final class LaneDelivery<Value: Sendable>: Sendable {
  private enum Slot {
    case empty
    /// A value, for which work was submitted to the lane.
    case waiting(Value, hops: UInt8)
    case over
  }

  private let lane: Lane
  private let body: @Sendable (Value) -> Void
  private let slot = Protected(Slot.empty)

  package init(lane: Lane, body: @escaping @Sendable (Value) -> Void) {
    self.lane = lane
    self.body = body
  }

  /// Observes a location until `owner`, if there is one, is deallocated, else until the token is released.
  ///
  /// - Parameter first: receives the current value in place of the body, on the calling thread, before this returns.
  package func observe<Source>(
    _ location: any BindingLocation<Source>, owner: AnyObject?, first: (@Sendable (Value) -> Void)? = nil,
    as form: @escaping @Sendable (Source) -> Value
  ) -> ObserverToken {
    let observation =
      if let first {
        observe(location, owner: owner, first: first, as: form)
      } else {
        location.observe(owner: owner) { value, _ in self.deliver(form(value)) }
      }
    return ObserverToken(cancelsWhenReleased: owner == nil) { [weak self] in
      observation.cancel()
      self?.slot.withLock { $0 = .over }
    }
  }

  private func observe<Source>(
    _ location: any BindingLocation<Source>, owner: AnyObject?, first: @escaping @Sendable (Value) -> Void,
    as form: @escaping @Sendable (Source) -> Value
  ) -> ObserverToken {
    let start = FirstCall(first)
    return location.observe(owner: owner) { value, _ in
      if let first = start.take() {
        ThreadTurn.runObserver { first(form(value)) }
      } else {
        self.deliver(form(value))
      }
    }
  }

  func deliver(_ value: Value) {
    if lane.isCurrent {
      // A waiting value is older than this one.
      let isOver = slot.withLock { slot in
        if case .over = slot { return true }
        slot = .empty
        return false
      }
      if !isOver { ThreadTurn.runObserver { body(value) } }
      return
    }
    let hops = Hops.current
    let isToAsk = slot.withLock { slot in
      switch slot {
      case .over: return false
      case .waiting(_, let former):
        slot = .waiting(value, hops: max(hops, former))
        return false
      case .empty:
        slot = .waiting(value, hops: hops)
        return true
      }
    }
    if isToAsk { lane.run { self.deliverWaiting() } }
  }

  private func deliverWaiting() {
    let waiting = slot.withLock { slot -> (value: Value, hops: UInt8)? in
      guard case .waiting(let value, let hops) = slot else { return nil }
      slot = .empty
      return (value, hops)
    }
    if let waiting { Hops.answering(waiting.hops) { ThreadTurn.runObserver { body(waiting.value) } } }
  }
}

/// Called once in place of a body.
// SAFETY: used by one observation only, whose callbacks never overlap and happen each before the next.
private final class FirstCall<Value>: @unchecked Sendable {
  private var call: (@Sendable (Value) -> Void)?

  init(_ call: @escaping @Sendable (Value) -> Void) { self.call = call }

  func take() -> (@Sendable (Value) -> Void)? {
    guard let call else { return nil }
    self.call = nil
    return call
  }
}
