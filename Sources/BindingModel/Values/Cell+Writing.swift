extension Cell {
  /// Compares with no lock held, and again if another thread wrote meanwhile.
  @inlinable
  func storeUnlessRepeated(_ new: Value, by writer: Writer, isErased: Bool) -> Bool {
    while true {
      lock()
      let traffic = openTraffic()
      guard !traffic.pointee.isEnded else {
        unlock()
        return false
      }
      let (present, version) = (value, traffic.pointee.version)
      unlock()
      if isRepeated(present, new, isRepeat) { return true }
      if commit(new, by: writer, isErased: isErased, ifStill: version) { return true }
    }
  }

  /// Compares an unobserved value with no lock held. The earlier of two concurrent writes may be compared with the
  /// value before the other.
  @usableFromInline
  func storeUnobserved(_ new: Value, by writer: Writer, isErased: Bool) -> Bool {
    if isRepeated(read(), new, isRepeat) { return true }
    lock()
    guard traffic == nil else {
      unlock()
      return storeUnlessRepeated(new, by: writer, isErased: isErased)
    }
    let old = exchange(for: new)
    unlock()
    return withExtendedLifetime(old) { true }
  }

  /// Compares plain bits of an unobserved value. The commonest number types are compared inline instead of by a call,
  /// so that an unobserved write costs no more than its lock.
  @inlinable @inline(__always)
  func isSameUnobserved(_ new: Value) -> Bool {
    // SAFETY: cast to the type that it is.
    if Value.self == Double.self {
      return unsafeBitCast(value, to: Double.self) == unsafeBitCast(new, to: Double.self)
    }
    if Value.self == Int.self { return unsafeBitCast(value, to: Int.self) == unsafeBitCast(new, to: Int.self) }
    return isRepeated(value, new, isRepeat)
  }

  /// Writes a stored member under one lock, if that runs no user code: the whole value is plain bits, is not read
  /// without the lock, and has no custom filter. Nil if that is not so and nothing was done; false if the owner is
  /// gone.
  func storeMember<Member>(
    _ new: Member, at offset: Int, unless isSame: (Member, Member) -> Bool, by writer: Writer
  ) -> Bool? {
    guard _isPOD(Value.self), !PlainBits.areAtomic(Value.self) else { return nil }
    lock()
    let traffic = openTraffic()
    guard !traffic.pointee.isEnded, !traffic.pointee.isFilterForeign else {
      let isOver = traffic.pointee.isEnded
      unlock()
      return isOver ? false : nil
    }
    withUnsafeMutablePointer(to: &value) { whole in
      // SAFETY: a stored member lies at its offset from the beginning of the whole.
      let member = (UnsafeMutableRawPointer(whole) + offset).assumingMemoryBound(to: Member.self)
      if isSame(member.pointee, new) { return unlock() }
      let old = whole.pointee
      member.pointee = new
      if isRepeated(old, whole.pointee, isRepeat) {
        whole.pointee = old
        return unlock()
      }
      traffic.pointee.version &+= 1
      guard !traffic.pointee.observers.isEmpty else { return unlock() }
      deliver(whole.pointee, over: old, by: writer, isErased: true, traffic)
    }
    return true
  }

  /// Queues a value that was just stored while another delivery or a turn is in progress, or reverts it where values
  /// answer each other endlessly. Called with the lock held; unlocks.
  @usableFromInline
  func deliverLater(
    over old: Value, by writer: Writer, _ traffic: UnsafeMutablePointer<Traffic>,
    _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    if turn.pointee.isIdle { turn.pointee.progress.cascade &+= 1 }
    if turn.pointee.hold.name == 0, traffic.pointee.isMereEcho(by: writer) { return unlock() }
    if let watch = turn.pointee.watch, !traffic.pointee.isFollower,
      watch.isEndless(
        self, isFull: traffic.pointee.undelivered.count >= Turn.backlogLimit, isLink: writer.isLink)
    {
      let refused = exchange(for: old)
      unlock()
      return withExtendedLifetime(refused) {}
    }
    if traffic.pointee.isLastPresent { keepOverwritten(old, traffic) }
    enqueue(by: writer, traffic, turn)
  }
}
