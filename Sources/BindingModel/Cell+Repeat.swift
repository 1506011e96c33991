extension Cell {
  /// Compares with no lock held, and again if somebody wrote meanwhile.
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

  /// Compares with no lock held what nobody has looked at. Of two writes at once the earlier may be compared with what
  /// was there before the other.
  @usableFromInline
  func storeUnobserved(_ new: Value, by writer: Writer, isErased: Bool) -> Bool {
    if isRepeated(read(), new, isRepeat) { return true }
    lock()
    guard traffic == nil else {
      unlock()
      return storeUnlessRepeated(new, by: writer, isErased: isErased)
    }
    let old = Self.exchange(&value, for: new)
    unlock()
    return withExtendedLifetime(old) { true }
  }
}
