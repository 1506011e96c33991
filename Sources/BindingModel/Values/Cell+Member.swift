extension Cell {
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
      guard traffic.pointee.hasObservers else { return unlock() }
      deliver(whole.pointee, over: old, by: writer, isErased: true, traffic)
    }
    return true
  }
}
