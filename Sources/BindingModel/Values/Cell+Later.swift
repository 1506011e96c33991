extension Cell {
  /// Has a value delivered that was just stored while something else is under way; or takes it back, where values
  /// answer each other without end. Called with the lock held; unlocks.
  @usableFromInline
  func deliverLater(
    over old: Value, by writer: Writer, _ traffic: UnsafeMutablePointer<Traffic>,
    _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    if turn.pointee.hold == 0, traffic.pointee.isMereEcho(by: writer) { return unlock() }
    if let watch = turn.pointee.watch, !traffic.pointee.isFollower,
      watch.isEndless(
        self, isFull: traffic.pointee.undelivered.count >= Turn.backlogLimit, isLink: writer.isLink)
    {
      let refused = Self.exchange(&value, for: old)
      unlock()
      return withExtendedLifetime(refused) {}
    }
    if traffic.pointee.isLastPresent { keepOverwritten(old, traffic) }
    enqueue(by: writer, traffic, turn)
  }
}
