extension Cell {
  /// Tells what a derived value is now, unless a newer result has been told or it is the same again. Called in the
  /// round of derived values, where no observer is running. False if perhaps nobody observes any more.
  func publish(
    _ new: Value, version: UInt64, over published: UnsafeMutablePointer<UInt64>, cause: UInt64,
    in turn: UnsafeMutablePointer<ThreadTurn>
  ) -> Bool {
    lock()
    // Of results that follow one another each is another; of others some may be what was told last.
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
    let old = Self.exchange(&value, for: new)
    defer { withExtendedLifetime(old) {} }
    traffic.pointee.version &+= 1
    guard traffic.pointee.hasObservers else {
      unlock()
      return false
    }
    guard traffic.pointee.isClear else {
      deliverLater(over: old, by: .unnamed, traffic, turn)
      return true
    }
    traffic.pointee.deliverer = turn.pointee.id
    traffic.pointee.soleWriter = .unnamed
    let observers = traffic.pointee.observers
    unlock()
    turn.pointee.watch?.begin(self, cause: cause)
    let isWhole = withUnsafePointer(to: new) { callBack(observers, with: $0, by: .unnamed) }
    finishRound(traffic, turn)
    return isWhole
  }

  /// Whether a value is the present one again. Called with the lock held, which is let go of meanwhile unless the
  /// values are plain bits.
  private func isRepeatedUnlocked(_ new: Value) -> Bool {
    if _isPOD(Value.self) { return isRepeated(value, new, isRepeat) }
    let present = value
    unlock()
    defer { lock() }
    return isRepeated(present, new, isRepeat)
  }

  /// Puts a newer result in place, where nobody has been told the former.
  func renew(_ new: Value, version: UInt64, over published: UnsafeMutablePointer<UInt64>) {
    lock()
    let traffic = openTraffic()
    guard !traffic.pointee.hasObservers, published.pointee < version else { return unlock() }
    published.pointee = version
    let old = Self.exchange(&value, for: new)
    traffic.pointee.version &+= 1
    unlock()
    withExtendedLifetime(old) {}
  }
}
