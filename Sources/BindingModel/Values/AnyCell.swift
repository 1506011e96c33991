/// A cell as far as it does not depend on the type of its value: its lock, its observers, its place in turns.
@usableFromInline
// SAFETY: everything that changes is reached between `lock()` and `unlock()` only.
class AnyCell: @unchecked Sendable {
  /// Must stay the first property: see `lockAddress`.
  private var lockMemory = blankLock()
  /// Made when the first observer comes; a value that nobody looks at pays for none of it.
  @exclusivity(unchecked) @usableFromInline final var traffic: UnsafeMutablePointer<Traffic>?

  @usableFromInline
  init() { lockAddress.makeLock() }

  deinit {
    traffic?.deinitialize(count: 1)
    traffic?.deallocate()
    lockAddress.destroyLock()
  }

  /// Calls the observers of the next undelivered value. On the delivering thread only.
  @usableFromInline
  func deliverNext(in turn: UnsafeMutablePointer<ThreadTurn>) {}

  final var isObserved: Bool {
    lock()
    defer { unlock() }
    return traffic?.pointee.hasObservers ?? false
  }

  /// Another number after each write. From the first time that it is asked for on, writes are counted.
  final var stamp: UInt64 {
    lock()
    defer { unlock() }
    return openTraffic().pointee.version
  }

  /// The value's type and the value, shortened, for people.
  var outline: String { "" }

  /// Gives the present value to observers whose first callback is still running. Called with the lock held.
  func giveToStarting(by writer: Writer, version: UInt64, hops: UInt8) {}

  /// Takes out the newest overwritten value, so that it can be released after unlocking. Called with the lock held.
  func takeLastOverwritten() -> AnyObject? { nil }

  @inlinable @inline(__always)
  final func lock() { lockAddress.takeLock() }

  @inlinable @inline(__always)
  final func unlock() { lockAddress.releaseLock() }

  /// The lock lies inside the object, to spare an allocation, at an address of its own for life.
  @inlinable @inline(__always)
  final var lockAddress: UnsafeMutablePointer<PlatformLock> {
    // SAFETY: the first property of a class without superclass lies behind its header of two words. The address is
    // computed because `&lockMemory` promises none, and would be an access that thread sanitizer takes for a race.
    (Unmanaged.passUnretained(self).toOpaque() + 2 * MemoryLayout<UnsafeRawPointer>.size)
      .assumingMemoryBound(to: PlatformLock.self)
  }

  /// The traffic, made if there is none yet. Called with the lock held.
  @usableFromInline
  final func openTraffic() -> UnsafeMutablePointer<Traffic> {
    if let traffic { return traffic }
    let traffic = UnsafeMutablePointer<Traffic>.allocate(capacity: 1)
    traffic.initialize(to: Traffic())
    self.traffic = traffic
    return traffic
  }
}

// MARK: - Delivering

extension AnyCell {
  /// One round: each of these observers in order.
  ///
  /// - Parameter value: points at a value of the cell's type.
  /// - Returns: whether none was dropped because its owner is gone.
  @inlinable @inline(__always) @discardableResult
  final func callBack(_ observers: Traffic.List, with value: UnsafeRawPointer, by writer: Writer) -> Bool {
    var isWhole = true
    observers.withUnsafeBufferPointer { buffer in
      // SAFETY: a reference is laid out like an unmanaged one, and the list, of which this round has its own copy,
      // keeps the observations alive.
      buffer.withMemoryRebound(to: Unmanaged<AnyObserver>.self) { buffer in
        for unmanaged in buffer {
          unmanaged._withUnsafeGuaranteedRef { observation in
            if observation.marks == 0 {
              observation.call(with: value)
            } else if !observation.deliver(value, by: writer) {
              cancel(observation.number)
              isWhole = false
            }
          }
        }
      }
    }
    return isWhole
  }

  /// After a round: goes on to the next undelivered value in a later round of this thread, or lets go of the cell.
  @inlinable @inline(__always)
  final func finishRound(_ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>) {
    lock()
    if traffic.pointee.undelivered.isEmpty && traffic.pointee.cancelledElsewhere.isEmpty {
      traffic.pointee.deliverer = 0
      unlock()
    } else {
      goOn(traffic, turn)
    }
  }

  /// Called with the lock held; unlocks.
  @usableFromInline
  final func goOn(_ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>) {
    let cancelled = traffic.pointee.takeCancelledElsewhere()
    var timeout: Duration?
    if traffic.pointee.undelivered.isEmpty {
      traffic.pointee.deliverer = 0
    } else {
      timeout = traffic.pointee.service?.isDue(in: turn.pointee.drain)
      if timeout == nil {
        ThreadTurn.schedule(self, in: turn)
      } else {
        traffic.pointee.deliverer = Traffic.offered | turn.pointee.id
      }
    }
    unlock()
    // What they captured is released here, with no lock held.
    withExtendedLifetime(cancelled) {}
    if let timeout { waitForSuccessor(timeout, in: turn) }
  }

  /// Lets another thread that writes deliver from here on. If none does, there was not much to deliver, and this one
  /// goes on.
  private func waitForSuccessor(_ timeout: Duration, in turn: UnsafeMutablePointer<ThreadTurn>) {
    let offer = Traffic.offered | turn.pointee.id
    let end = ContinuousClock.now + timeout
    var isOpen = true
    while isOpen {
      Platform.pause(microseconds: 20)
      let isOver = ContinuousClock.now >= end
      lock()
      isOpen = traffic?.pointee.deliverer == offer
      if isOpen, isOver {
        traffic?.pointee.deliverer = turn.pointee.id
        ThreadTurn.schedule(self, in: turn)
        isOpen = false
      }
      unlock()
    }
  }

  /// The write that was just stored cannot be delivered at once: it waits for the end of the turn under way, or for the
  /// drainer. Called with the lock held; unlocks.
  @usableFromInline
  final func enqueue(
    by writer: Writer, _ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    let hold = turn.pointee.hold
    guard hold == 0 else {
      traffic.pointee.heldWriter = writer
      traffic.pointee.heldVersion = traffic.pointee.version
      traffic.pointee.heldHops = max(turn.pointee.hops, traffic.pointee.heldBy == hold ? traffic.pointee.heldHops : 0)
      if traffic.pointee.heldBy != hold {
        traffic.pointee.heldBy = hold
        ThreadTurn.keep(self, in: turn)
      }
      return unlock()
    }
    // What another thread's turn kept back is overtaken by this.
    traffic.pointee.heldBy = 0
    makeDeliverable(by: writer, version: traffic.pointee.version, hops: turn.pointee.hops, traffic, turn)
    ThreadTurn.drainIfIdle(turn)
  }

  /// The turn named `hold` is over: puts the value that it kept back on its way, unless another thread overtook it.
  final func release(hold: UInt64, in turn: UnsafeMutablePointer<ThreadTurn>) {
    lock()
    guard let traffic, traffic.pointee.heldBy == hold else { return unlock() }
    traffic.pointee.heldBy = 0
    makeDeliverable(
      by: traffic.pointee.heldWriter, version: traffic.pointee.heldVersion, hops: traffic.pointee.heldHops, traffic,
      turn)
  }

  /// Puts the present value on its way. Called with the lock held; unlocks.
  private final func makeDeliverable(
    by writer: Writer, version: UInt64, hops: UInt8, _ traffic: UnsafeMutablePointer<Traffic>,
    _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    if !traffic.pointee.starting.isEmpty { giveToStarting(by: writer, version: version, hops: hops) }
    let wasLastPresent = traffic.pointee.isLastPresent
    let isCoalesced = traffic.pointee.add(
      by: writer, version: version, cause: turn.pointee.watch?.cause ?? 0, hops: hops)
    let dropped = isCoalesced && !wasLastPresent ? takeLastOverwritten() : nil
    ensureDelivery(traffic, turn)
    unlock()
    withExtendedLifetime(dropped) {}
  }
}

extension AnyCell {
  /// Sees to it that what is undelivered will be: by this thread, or by the one that is at it. Called with the lock
  /// held.
  final func ensureDelivery(_ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>) {
    guard !traffic.pointee.undelivered.isEmpty else { return }
    if traffic.pointee.needsDeliverer {
      traffic.pointee.deliverer = turn.pointee.id
      ThreadTurn.schedule(self, in: turn)
    } else if traffic.pointee.deliverer != turn.pointee.id {
      let service = traffic.pointee.service ?? Service()
      service.isAsked = true
      traffic.pointee.service = service
    }
  }

  /// Adds an observer that is called with the next write, until it is cancelled by the number that is given.
  final func follow(_ observer: AnyObserver) -> UInt64 {
    lock()
    defer { unlock() }
    let traffic = openTraffic()
    guard !traffic.pointee.isEnded else { return 0 }
    traffic.pointee.number(observer)
    traffic.pointee.join(observer)
    return observer.number
  }

  /// Says that this cell repeats what others hold.
  final func markFollower() {
    lock()
    openTraffic().pointee.isFollower = true
    unlock()
  }

  final var isFollower: Bool {
    lock()
    defer { unlock() }
    return traffic?.pointee.isFollower ?? false
  }
}
