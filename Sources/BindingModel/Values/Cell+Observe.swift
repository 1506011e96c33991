extension Cell {
  @usableFromInline
  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    add(Observer(owner: owner, namedBody: body), cancelsWhenReleased: owner == nil)
  }

  /// Adds an observer and calls it with the current value before returning.
  @usableFromInline
  func add(_ observation: Observer<Value>, cancelsWhenReleased: Bool) -> ObserverToken {
    pruneOrphans()
    lock()
    let traffic = openTraffic()
    guard !traffic.pointee.isEnded else {
      unlock()
      return ObserverToken {}
    }
    traffic.pointee.observers.number(observation, since: traffic.pointee.version)
    let number = observation.number
    traffic.pointee.observers.starting.append(observation)
    let present = value
    unlock()
    start(observation, with: present, traffic)
    // By number, not by reference: the token may outlive the observation, and must not retain what its body captured.
    return ObserverToken(cancelsWhenReleased: cancelsWhenReleased) { self.cancel(number) }
  }

  /// Makes the first callback, then delivers what was written meanwhile; only then does the observer join the others.
  /// Thus it receives the current value first and once, and every later one after it, whichever thread writes.
  private func start(
    _ observation: Observer<Value>, with present: Value, _ traffic: UnsafeMutablePointer<Traffic>
  ) {
    let turn = ThreadTurn.current
    let wasDelivering = turn.pointee.isDelivering
    turn.pointee.isDelivering = true
    let hops = turn.pointee.hops
    var next: EarlyValue<Value>? = EarlyValue(value: present, writer: .unnamed, hops: hops)
    var rounds = 0
    while let delivery = next {
      turn.pointee.hops = delivery.hops
      let isOwned = withUnsafePointer(to: delivery.value) { observation.deliver($0, by: delivery.writer) }
      rounds += 1
      lock()
      next = nextEarly(of: observation, isOwned: isOwned, isEnough: rounds >= Service.limit, traffic)
      unlock()
    }
    turn.pointee.hops = hops
    turn.pointee.isDelivering = wasDelivering
    ThreadTurn.drainIfIdle(turn)
  }

  /// The next value that the starting observer has to receive, or nil when it has joined the others or is over.
  ///
  /// - Parameter isEnough: whether this thread has called it often enough. The rest is then queued like any value, so
  ///   that the observing thread is not kept for as long as others write.
  private func nextEarly(
    of observation: Observer<Value>, isOwned: Bool, isEnough: Bool, _ traffic: UnsafeMutablePointer<Traffic>
  ) -> EarlyValue<Value>? {
    guard let index = traffic.pointee.observers.starting.firstIndex(where: { $0 === observation }) else { return nil }
    if isOwned, !isEnough, let next = observation.early.popFirst() { return next }
    traffic.pointee.observers.starting.remove(at: index)
    guard isOwned else { return nil }
    traffic.pointee.observers.join(observation)
    if !observation.early.isEmpty { queueEarly(of: observation, traffic) }
    return nil
  }

  /// Queues the remaining values of an observer that has just joined, behind the values already queued and before
  /// later writes. Called with the lock held.
  private func queueEarly(of observation: Observer<Value>, _ traffic: UnsafeMutablePointer<Traffic>) {
    if traffic.pointee.isLastPresent { keepOverwritten(value, traffic) }
    let turn = ThreadTurn.current
    let cause = turn.pointee.watch?.cause ?? 0
    while let early = observation.early.popFirst() {
      traffic.pointee.undelivered.append(
        Traffic.Delivery(writer: early.writer, observers: [observation], cause: cause, hops: early.hops))
      keepOverwritten(early.value, traffic)
    }
    traffic.pointee.soleWriter = .unnamed
    ensureDelivery(traffic, turn)
  }
}
