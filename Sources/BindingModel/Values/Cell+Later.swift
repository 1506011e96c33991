extension Cell {
  /// Queues a value that was just stored while another delivery or a turn is in progress, or reverts it where values
  /// answer each other endlessly. Called with the lock held; unlocks.
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
      let refused = exchange(for: old)
      unlock()
      return withExtendedLifetime(refused) {}
    }
    if traffic.pointee.isLastPresent { keepOverwritten(old, traffic) }
    enqueue(by: writer, traffic, turn)
  }
}
