extension ValueSource where Value: Sendable {
  /// Observes at a pace until `owner`, which is held weakly, is deallocated. The body receives the current value,
  /// then later ones as the pace allows.
  ///
  /// The body runs on the lane, one call at a time; the first call comes before this returns if the caller is on the
  /// lane. No call follows once the token's `cancel()` has returned there, and no timer keeps the owner alive.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, lane: Lane = .main, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner, lane) { value, _ in body(value) }
  }

  /// Observes at a pace until `owner`, which is held weakly, is deallocated. With each value the body receives the
  /// number of changes since the one before that were coalesced into it. It runs on the lane, one call at a time.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, lane: Lane = .main,
    _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner, lane, body)
  }

  /// Observes at a pace until the token is cancelled or released. The body runs on the lane, one call at a time.
  public func observe(
    _ pace: Pace<Value>, lane: Lane = .main, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil, lane) { value, _ in body(value) }
  }

  /// Observes at a pace until the token is cancelled or released. With each value the body receives the number of
  /// changes since the one before that were coalesced into it. It runs on the lane, one call at a time.
  public func observe(
    _ pace: Pace<Value>, lane: Lane = .main, _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil, lane, body)
  }

  /// An async sequence of the values at a pace, each with the number of changes that were coalesced into it.
  public func values(_ pace: Pace<Value>) -> PacedValues<Value> {
    let location = location
    return PacedValues(pace) { mailbox in
      let source = MailboxSource(mailbox)
      return location.observe(owner: nil) { value, _ in source.mailbox.post(value) }
    }
  }

  package func observe(
    _ pace: Pace<Value>, owner: AnyObject?, _ lane: Lane, clock: PaceClock = .system,
    _ body: @escaping @Sendable (Value, Int) -> Void
  ) -> ObserverToken {
    let coalesce = pace.coalesce
    let delivery = PacedDelivery<Paced<Value>, Value>(
      pace, lane: lane, owner: owner, clock: clock,
      coalesce: { older, newer in
        coalesce(&older.value, newer.value)
        older.hops = max(older.hops, newer.hops)
      },
      form: \.value,
      body: { raw, value, weight in Hops.answering(raw.hops) { body(value, max(weight - 1, 0)) } })
    let observation = location.observe(owner: owner) { value, _ in
      delivery.enqueue(Paced(value: value, hops: Hops.current))
      delivery.schedule()
    }
    return ObserverToken(cancelsWhenReleased: owner == nil) { [weak delivery] in
      observation.cancel()
      delivery?.end()
    }
  }
}

/// A value that waits for its delivery.
private struct Paced<Value: Sendable>: Sendable {
  var value: Value
  var hops: UInt8
}
