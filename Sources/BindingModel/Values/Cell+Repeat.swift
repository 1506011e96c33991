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
}
