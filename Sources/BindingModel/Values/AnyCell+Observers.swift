extension AnyCell {
  /// Ends one observation; harmless when it is over already.
  @usableFromInline
  final func cancel(_ number: UInt64) {
    lock()
    let observation = traffic?.pointee.cancel(number, on: ThreadTurn.current.pointee.id)
    unlock()
    // Its captures are released here, with no lock held.
    withExtendedLifetime(observation) {}
  }

  /// Ends every observation of this owner.
  @usableFromInline
  final func removeObservers(of owner: AnyObject) {
    var removed: Traffic.List = []
    lock()
    if let traffic {
      removed = (traffic.pointee.observers + traffic.pointee.starting).filter { $0.belongs(to: owner) }
      let thread = ThreadTurn.current.pointee.id
      for observation in removed { traffic.pointee.cancel(observation.number, on: thread) }
    }
    unlock()
    withExtendedLifetime(removed) {}
  }

  /// Drops the observers of dead owners each time the number of observers has doubled. Checking may release an owner,
  /// so no lock is held meanwhile.
  final func pruneOrphans() {
    lock()
    let suspects = traffic?.pointee.observersToPrune() ?? []
    unlock()
    guard !suspects.isEmpty else { return }
    for suspect in suspects where suspect.isOrphaned { cancel(suspect.number) }
    lock()
    traffic?.pointee.planPruning()
    unlock()
  }

  /// The owner is gone: releases all observers and refuses later writes. The last value stays readable.
  @usableFromInline
  final func end() {
    lock()
    let traffic = openTraffic()
    let released = traffic.pointee.cancelAll(on: ThreadTurn.current.pointee.id)
    let undelivered = (traffic.pointee.undelivered, traffic.pointee.overwritten)
    traffic.pointee.undelivered = Deque()
    traffic.pointee.overwritten = nil
    traffic.pointee.isLastPresent = false
    traffic.pointee.heldBy = 0
    traffic.pointee.isEnded = true
    unlock()
    withExtendedLifetime((released, undelivered)) {}
  }

  final var coalescedWrites: UInt64 {
    lock()
    defer { unlock() }
    return traffic?.pointee.coalescedWrites ?? 0
  }
}
