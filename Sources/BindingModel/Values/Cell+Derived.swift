extension Cell {
  /// Publishes a derived value's result, unless it is unchanged or a newer one was published. Called in the round of
  /// derived values, where no observer is running. False if the cell may have lost its observers.
  func publish(
    _ new: Value, version: UInt64, over published: UnsafeMutablePointer<UInt64>, cause: UInt64,
    in turn: UnsafeMutablePointer<ThreadTurn>
  ) -> Bool {
    lock()
    // Consecutive results differ. After skipped ones, this result may equal the one published last.
    if published.pointee &+ 1 < version, isRepeatedUnlocked(new) {
      unlock()
      return true
    }
    let traffic = openTraffic()
    guard published.pointee < version else {
      unlock()
      return true
    }
    published.pointee = version
    let old = exchange(for: new)
    defer { withExtendedLifetime(old) {} }
    traffic.pointee.version &+= 1
    guard !traffic.pointee.observers.isEmpty else {
      unlock()
      return false
    }
    guard traffic.pointee.isClear else {
      deliverLater(over: old, by: .unnamed, traffic, turn)
      return true
    }
    traffic.pointee.deliverer = turn.pointee.id
    traffic.pointee.soleWriter = .unnamed
    let observers = traffic.pointee.observers.joined
    unlock()
    turn.pointee.watch?.begin(self, cause: cause)
    let isWhole = withUnsafePointer(to: new) { callBack(observers, with: $0, by: .unnamed) }
    finishRound(traffic, turn)
    return isWhole
  }

  /// Whether a value equals the current one. Called with the lock held, which is released during the comparison
  /// unless the values are plain bits.
  private func isRepeatedUnlocked(_ new: Value) -> Bool {
    if _isPOD(Value.self) { return isRepeated(value, new, isRepeat) }
    let present = value
    unlock()
    defer { lock() }
    return isRepeated(present, new, isRepeat)
  }

  /// Stores a newer result if there are no observers, so that none received the former one.
  func renew(_ new: Value, version: UInt64, over published: UnsafeMutablePointer<UInt64>) {
    lock()
    let traffic = openTraffic()
    guard traffic.pointee.observers.isEmpty, published.pointee < version else { return unlock() }
    published.pointee = version
    let old = exchange(for: new)
    traffic.pointee.version &+= 1
    unlock()
    withExtendedLifetime(old) {}
  }
}
