import ZeroMQ

/// Counts the connections of both sockets and cuts those past the limit.
///
/// A process without free file descriptors cannot continue: libzmq 4.3.4 then aborts it over `ipc`, and over `tcp`
/// retries to accept forever. So the hub stays far below that limit, and a flood of connections harms only itself.
/// What is accepted faster than it is cut here, `MessageGuard` closes on arrival.
struct ConnectionQuota: ~Copyable {
  private var request: SocketEvents
  private var publish: SocketEvents
  private var open: Set<Int32> = []
  /// Those of the publishing socket, each with a number of its own.
  private(set) var openPublish: [Int32: UInt64] = [:]
  private var accepted: UInt64 = 0
  private var slots: [Poller.Slot] = []
  /// The most connections kept.
  let limit: Int
  /// Connections cut for exceeding the limit.
  private(set) var refused: UInt64 = 0

  /// - Parameter wanted: the most connections to keep, if the system allows as many.
  init(request: borrowing Socket, publish: borrowing Socket, wanted: Int) throws(ZeroMQError) {
    let ofRequest = try SocketEvents(of: request)
    let ofPublish = try SocketEvents(of: publish)
    self.request = ofRequest
    self.publish = ofPublish
    // Half of the free descriptors stay free: a flood is accepted faster than it is cut.
    limit = min(wanted, max((OpenFiles.limit - 64) / 2, 16))
  }

  mutating func add(to poller: inout Poller) { slots = [poller.add(request), poller.add(publish)] }

  /// Handles opened and closed connections, if the poller has seen any.
  mutating func look(after poller: borrowing Poller) {
    var hasEvents = false
    for slot in slots where poller.isReadable(slot) { hasEvents = true }
    guard hasEvents else { return }
    drain()
  }

  /// Handles all that have opened and closed by now.
  mutating func drain() {
    while let event = try? request.next() { handle(event.change, isPublish: false) }
    while let event = try? publish.next() { handle(event.change, isPublish: true) }
  }

  private mutating func handle(_ change: SocketEvent.Change, isPublish: Bool) {
    switch change {
    case .accepted(let descriptor):
      open.insert(descriptor)
      accepted += 1
      if isPublish { openPublish[descriptor] = accepted }
      if open.count > limit, ConnectionCut.shutdownConnection(fileDescriptor: descriptor) { refused += 1 }
    case .disconnected(let descriptor), .closed(let descriptor):
      open.remove(descriptor)
      if isPublish { openPublish[descriptor] = nil }
    default: break
    }
  }
}
