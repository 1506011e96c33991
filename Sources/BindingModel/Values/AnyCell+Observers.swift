extension AnyCell {
  /// Ends one observation; harmless when it is over already.
  @usableFromInline
  final func cancel(_ number: UInt64) {
    lock()
    let observation = traffic.flatMap {
      $0.pointee.observers.cancel(number, isElsewhere: $0.pointee.isDeliveringElsewhere)
    }
    unlock()
    // Its captures are released here, with no lock held.
    withExtendedLifetime(observation) {}
  }

  /// Ends every observation of this owner.
  @usableFromInline
  final func removeObservers(of owner: AnyObject) {
    var removed: ObserverList.Members = []
    lock()
    if let traffic {
      let isElsewhere = traffic.pointee.isDeliveringElsewhere
      removed = traffic.pointee.observers.all.filter { $0.belongs(to: owner) }
      for observation in removed { traffic.pointee.observers.cancel(observation.number, isElsewhere: isElsewhere) }
    }
    unlock()
    withExtendedLifetime(removed) {}
  }

  /// Drops the observers of dead owners each time the number of observers has doubled. Checking may release an owner,
  /// so no lock is held meanwhile.
  final func pruneOrphans() {
    lock()
    let suspects = traffic?.pointee.observers.toPrune ?? []
    unlock()
    guard !suspects.isEmpty else { return }
    for suspect in suspects where suspect.isOrphaned { cancel(suspect.number) }
    lock()
    traffic?.pointee.observers.planPruning()
    unlock()
  }

  /// The owner is gone: releases all observers and refuses later writes. The last value stays readable.
  @usableFromInline
  final func end() {
    lock()
    let traffic = openTraffic()
    let released = traffic.pointee.observers.cancelAll(isElsewhere: traffic.pointee.isDeliveringElsewhere)
    let undelivered = (traffic.pointee.undelivered, traffic.pointee.overwritten)
    traffic.pointee.undelivered = Deque()
    traffic.pointee.overwritten = nil
    traffic.pointee.isLastPresent = false
    traffic.pointee.held.turn = 0
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
