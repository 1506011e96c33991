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
  /// At a hub with keys: connections of which nobody knows yet whose they are, and those of the names with limits.
  private var arrivals: Arrivals
  var named = NamedConnections()
  private let admissions: Admissions?
  private var slots: [Poller.Slot] = []
  /// The most connections kept.
  let limit: Int
  /// Connections cut for exceeding the limit.
  private(set) var refused: UInt64 = 0
  /// Connections cut on arrival because of their address, or because they kept silent.
  private(set) var limitedAddresses: UInt64 = 0

  /// - Parameters:
  ///   - wanted: the most connections to keep, if the system allows as many.
  ///   - admissions: who may connect; nil: everybody.
  init(
    request: borrowing Socket, publish: borrowing Socket, wanted: Int, _ admissions: Admissions?
  ) throws(ZeroMQError) {
    let ofRequest = try SocketEvents(of: request)
    let ofPublish = try SocketEvents(of: publish)
    self.request = ofRequest
    self.publish = ofPublish
    // Half of the free descriptors stay free: a flood is accepted faster than it is cut.
    limit = min(wanted, max((OpenFiles.limit - 64) / 2, 16))
    arrivals = Arrivals(limit: max(limit / 2, 16))
    self.admissions = admissions
  }

  mutating func add(to poller: inout Poller) { slots = [poller.add(request), poller.add(publish)] }

  /// Handles opened and closed connections, if the poller has seen any.
  mutating func look(after poller: borrowing Poller, at now: UInt64) {
    var hasEvents = false
    for slot in slots where poller.isReadable(slot) { hasEvents = true }
    if hasEvents { drain(at: now) }
    for connection in arrivals.overdue(at: now) where connection.cut() { limitedAddresses += 1 }
  }

  /// Handles all that have opened and closed by now.
  mutating func drain(at now: UInt64) {
    while let event = try? request.next() { handle(event.change, isPublish: false, at: now) }
    while let event = try? publish.next() { handle(event.change, isPublish: true, at: now) }
  }

  /// It is known whose a connection is.
  mutating func identified(_ connection: AcceptedConnection) { arrivals.remove(connection) }

  /// A connection is refused, and ends once it has had the time to read why.
  mutating func refuse(_ connection: AcceptedConnection, at now: UInt64) { arrivals.end(connection, at: now + 1_000) }

  private mutating func handle(_ change: SocketEvent.Change, isPublish: Bool, at now: UInt64) {
    switch change {
    case .accepted(let descriptor):
      open.insert(descriptor)
      accepted += 1
      if isPublish { openPublish[descriptor] = accepted }
      let connection = AcceptedConnection(descriptor: descriptor, isPublish: isPublish)
      if open.count > limit, connection.cut() {
        refused += 1
      } else if !mayStay(connection, at: now), connection.cut() {
        limitedAddresses += 1
      }
    case .disconnected(let descriptor), .closed(let descriptor):
      open.remove(descriptor)
      arrivals.remove(AcceptedConnection(descriptor: descriptor, isPublish: isPublish))
      named.remove(AcceptedConnection(descriptor: descriptor, isPublish: isPublish))
      if isPublish { openPublish[descriptor] = nil }
    default: break
    }
  }

  /// Whether a connection that has just arrived may begin its handshake, as far as its address decides.
  private mutating func mayStay(_ connection: AcceptedConnection, at now: UInt64) -> Bool {
    guard let admissions, let site = NetworkPrefix(ofPeerOf: connection.descriptor) else { return true }
    return admissions.mayArrive(from: site, at: now) && arrivals.add(connection, from: site, at: now)
  }
}
