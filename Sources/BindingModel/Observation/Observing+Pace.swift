extension ValueSource where Value: Sendable {
  /// Observes at a pace, as long as `owner` lives, which is held weakly: the present value now, later ones as the pace
  /// has it.
  ///
  /// The body runs on the lane, one call at a time: a value that had to wait has no writing thread. Nothing comes after
  /// the token's `cancel()` has returned there, and no timer keeps the owner alive.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, lane: Lane = .main, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner, lane) { value, _ in body(value) }
  }

  /// As above, and says with each value how many changes since the one before were not told.
  @discardableResult
  public func observe(
    _ pace: Pace<Value>, on owner: AnyObject, lane: Lane = .main,
    _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: owner, lane, body)
  }

  /// Observes at a pace until the token is cancelled or released.
  public func observe(
    _ pace: Pace<Value>, lane: Lane = .main, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil, lane) { value, _ in body(value) }
  }

  /// As above, and says with each value how many changes since the one before were not told.
  public func observe(
    _ pace: Pace<Value>, lane: Lane = .main, _ body: @escaping @Sendable (_ value: Value, _ coalesced: Int) -> Void
  ) -> ObserverToken {
    observe(pace, owner: nil, lane, body)
  }

  /// The values at a pace, each with the number of changes that were folded into it.
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

/// A value that waits for the time to tell it.
private struct Paced<Value: Sendable>: Sendable {
  var value: Value
  var hops: UInt8
}
