import ZeroMQ

/// Counts the connections of both sockets and cuts off those that are too many.
///
/// A process that has no file descriptors left cannot be helped: libzmq 4.3.4 then aborts it over `ipc`, and over `tcp`
/// tries to accept for ever. So the hub stays far below that limit, and a flood of connections costs only the flood.
/// What is accepted faster than it is cut off here, `MessageGuard` closes as it comes.
struct ConnectionQuota: ~Copyable {
  private var request: SocketEvents
  private var publish: SocketEvents
  private var open: Set<Int32> = []
  private var slots: [Poller.Slot] = []
  /// Connections that are let live.
  let limit: Int
  /// Connections that were cut off because there were too many.
  private(set) var refused: UInt64 = 0

  /// - Parameter wanted: connections that there may be where the system allows as many.
  init(request: borrowing Socket, publish: borrowing Socket, wanted: Int) throws(ZeroMQError) {
    let ofRequest = try SocketEvents(of: request)
    let ofPublish = try SocketEvents(of: publish)
    self.request = ofRequest
    self.publish = ofPublish
    // Half of what is free stays free: a flood is accepted faster than it is cut off.
    limit = min(wanted, max((OpenFiles.limit - 64) / 2, 16))
  }

  mutating func add(to poller: inout Poller) { slots = [poller.add(request), poller.add(publish)] }

  /// Looks at who has come and who has gone, if the poller has seen anybody do so.
  mutating func look(after poller: borrowing Poller) {
    var hasEvents = false
    for slot in slots where poller.isReadable(slot) { hasEvents = true }
    guard hasEvents else { return }
    while let event = try? request.next() { handle(event.change) }
    while let event = try? publish.next() { handle(event.change) }
  }

  private mutating func handle(_ change: SocketEvent.Change) {
    switch change {
    case .accepted(let descriptor):
      open.insert(descriptor)
      if open.count > limit, ConnectionCut.shutdownConnection(fileDescriptor: descriptor) { refused += 1 }
    case .disconnected(let descriptor), .closed(let descriptor): open.remove(descriptor)
    default: break
    }
  }
}
