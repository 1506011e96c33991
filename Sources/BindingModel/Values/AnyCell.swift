/// The type-independent part of a cell: its lock, its observers and its part in turns.
@usableFromInline
// SAFETY: all mutable state is accessed between `lock()` and `unlock()` only.
class AnyCell: @unchecked Sendable {
  /// Must stay the first property: see `lockAddress`.
  private var lockMemory = blankLock()
  /// Created when first needed, mostly by the first observer; an unobserved value does not pay for it.
  @exclusivity(unchecked) @usableFromInline final var traffic: UnsafeMutablePointer<Traffic>?

  @usableFromInline
  init() { lockAddress.makeLock() }

  deinit {
    traffic?.deinitialize(count: 1)
    traffic?.deallocate()
    lockAddress.destroyLock()
  }

  /// Calls the observers with the next undelivered value. On the delivering thread only.
  @usableFromInline
  func deliverNext(in turn: UnsafeMutablePointer<ThreadTurn>) {}

  final var isObserved: Bool {
    lock()
    defer { unlock() }
    return traffic.map { !$0.pointee.observers.isEmpty } ?? false
  }

  /// A number that changes with each write. Writes are counted from the first time it is read.
  final var stamp: UInt64 {
    lock()
    defer { unlock() }
    return openTraffic().pointee.version
  }

  /// The value's type and the value, shortened for display.
  var outline: String { "" }

  /// Passes the current value to observers whose first callback is still running. Called with the lock held.
  func giveToStarting(by writer: Writer, version: UInt64, hops: UInt8) {}

  /// Removes the newest overwritten value, so that it can be released after unlocking. Called with the lock held.
  func takeLastOverwritten() -> AnyObject? { nil }

  @inlinable @inline(__always)
  final func lock() { lockAddress.takeLock() }

  @inlinable @inline(__always)
  final func unlock() { lockAddress.releaseLock() }

  /// The address of the lock, fixed for the object's lifetime. The lock is stored inline to save an allocation.
  @inlinable @inline(__always)
  final var lockAddress: UnsafeMutablePointer<PlatformLock> {
    // SAFETY: the first property of a class without a superclass follows its two-word header. The address is computed
    // because `&lockMemory` guarantees no fixed one, and thread sanitizer would report that access as a race.
    (Unmanaged.passUnretained(self).toOpaque() + 2 * MemoryLayout<UnsafeRawPointer>.size)
      .assumingMemoryBound(to: PlatformLock.self)
  }

  /// The bytes that the lock takes, out to the pointer behind it.
  @inlinable @inline(__always)
  static var lockStride: Int {
    let pointer = MemoryLayout<UnsafeRawPointer>.stride
    return (MemoryLayout<PlatformLock>.size + pointer - 1) / pointer * pointer
  }

  /// The traffic, created if there is none yet. Called with the lock held.
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
  /// One round: calls each of these observers in order.
  ///
  /// - Parameter value: points to a value of the cell's type.
  /// - Returns: false if an observer was dropped because its owner is gone.
  @inlinable @inline(__always) @discardableResult
  final func callBack(_ observers: ObserverList.Members, with value: UnsafeRawPointer, by writer: Writer) -> Bool {
    var isWhole = true
    observers.withUnsafeBufferPointer { buffer in
      // SAFETY: a reference has the layout of an unmanaged one, and the list, of which this round has its own copy,
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

  /// Ends a round: schedules the next undelivered value for a later round of this thread, or ends the delivery.
  @inlinable @inline(__always)
  final func finishRound(_ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>) {
    lock()
    if traffic.pointee.undelivered.isEmpty && traffic.pointee.observers.cancelledElsewhere.isEmpty {
      traffic.pointee.deliverer = 0
      unlock()
    } else {
      goOn(traffic, turn)
    }
  }

  /// Called with the lock held; unlocks.
  @usableFromInline
  final func goOn(_ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>) {
    let cancelled = traffic.pointee.observers.takeCancelledElsewhere()
    var timeout: Duration?
    if traffic.pointee.undelivered.isEmpty {
      traffic.pointee.deliverer = 0
    } else {
      timeout = traffic.pointee.service?.isDue(in: turn.pointee.progress.drain)
      if timeout == nil {
        ThreadTurn.schedule(self, in: turn)
      } else {
        traffic.pointee.deliverer = Traffic.offered | turn.pointee.id
      }
    }
    unlock()
    // Their captures are released here, with no lock held.
    withExtendedLifetime(cancelled) {}
    if let timeout { waitForSuccessor(timeout, in: turn) }
  }

  /// Lets another writing thread take over the delivery. If none does before the timeout, there was little to
  /// deliver, and this thread goes on.
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

  /// Defers the write that was just stored to the end of the current turn, or to the drainer. Called with the lock
  /// held; unlocks.
  @usableFromInline
  final func enqueue(
    by writer: Writer, _ traffic: UnsafeMutablePointer<Traffic>, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    let hold = turn.pointee.hold.name
    guard hold == 0 else {
      let former = traffic.pointee.held
      traffic.pointee.held = HeldWrite(
        turn: hold, writer: writer, version: traffic.pointee.version,
        hops: max(turn.pointee.hops, former.turn == hold ? former.hops : 0))
      if former.turn != hold { turn.pointee.hold.members.append(self) }
      return unlock()
    }
    // This write supersedes the value that another thread's turn holds back.
    traffic.pointee.held.turn = 0
    makeDeliverable(by: writer, version: traffic.pointee.version, hops: turn.pointee.hops, traffic, turn)
    ThreadTurn.drainIfIdle(turn)
  }

  /// Ends the turn named `hold`: queues the value that it held back, unless another thread superseded it.
  final func release(hold: UInt64, in turn: UnsafeMutablePointer<ThreadTurn>) {
    lock()
    guard let traffic, traffic.pointee.held.turn == hold else { return unlock() }
    traffic.pointee.held.turn = 0
    let held = traffic.pointee.held
    makeDeliverable(by: held.writer, version: held.version, hops: held.hops, traffic, turn)
  }

  /// Queues the current value for delivery. Called with the lock held; unlocks.
  private final func makeDeliverable(
    by writer: Writer, version: UInt64, hops: UInt8, _ traffic: UnsafeMutablePointer<Traffic>,
    _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    if !traffic.pointee.observers.starting.isEmpty { giveToStarting(by: writer, version: version, hops: hops) }
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
  /// Ensures that queued values are delivered, by this thread or by the one already delivering. Called with the lock
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

  /// Adds an observer that is called from the next write on. Returns the number that cancels it.
  final func follow(_ observer: AnyObserver) -> UInt64 {
    lock()
    defer { unlock() }
    let traffic = openTraffic()
    guard !traffic.pointee.isEnded else { return 0 }
    traffic.pointee.observers.number(observer, since: traffic.pointee.version)
    traffic.pointee.observers.join(observer)
    return observer.number
  }

  /// Marks this cell as one that repeats other values.
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
