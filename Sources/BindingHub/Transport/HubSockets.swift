import BindingProtocol
import ZeroMQ

/// The hub's two sockets, and the addresses at which they listen.
struct HubSockets: ~Copyable {
  /// Receives requests, and sends what concerns one connection.
  let router: Socket
  /// Publishes, and receives subscriptions.
  let xpub: Socket
  let requestGuard: MessageGuard
  let publishGuard: MessageGuard
  /// Whether every incoming message is bounded before libzmq has collected it.
  private(set) var isGuarded = true
  private(set) var endpoints: [HubEndpoint] = []
  private(set) var addresses: [HubAddress] = []
  private var locks: [LockedSocketPath] = []
  /// Those of tcp.
  var listeners: [EncryptedListener] = []
  /// How often the key was changed.
  var keyChanges = 0
  /// What tcp is protected with; nil: nothing.
  let security: HubSecurity?
  /// Answers as long as the sockets live.
  private let authenticator: Authenticator?

  /// The most frames of a message that is still read, and then refused: a valid message has one.
  private static let maxParts = 16
  /// The most bytes of a message to the publish port, which gets subscriptions of a few bytes.
  private static let maxSubscriptionBytes = 512
  /// The published messages that may wait for one subscriber before it loses some; a gap is cheaper than stale
  /// updates.
  private static let publishHighWaterMark = 256

  /// Encryption adds this to each frame at most (CurveZMQ, MESSAGE: its name, nonce, flags and authenticator).
  private static let encryptionBytes = 64

  /// - Parameter security: what tcp is protected with; nil: everybody may connect.
  init(_ limits: Limits, _ security: HubSecurity?) throws(ZeroMQError) {
    // With keys, handshakes have an I/O thread of their own: ipc never waits for a stranger's. Each endpoint has one
    // thread, as the guards require.
    let context = try Context(ioThreads: security == nil ? 1 : 2, maximumSockets: 16)
    let authenticator = try (security?.admissions).map { admissions throws(ZeroMQError) in
      try Authenticator(in: context) { admissions.decide($0) }
    }
    let extra = security == nil ? 0 : HubSockets.encryptionBytes
    let router = try Socket(.router, in: context)
    let xpub = try Socket(.xpub, in: context)
    // Peers detect a dead hub by heartbeats, and the hub a dead peer by its lease. ZeroMQ's heartbeats only free
    // what is left of such a connection, and must stay cheap for thousands.
    let common: [SocketOption] = [
      .backlog(connections: 1_024), .heartbeat(intervalMilliseconds: 5_000, timeoutMilliseconds: 10_000),
    ]
    try router.set(
      common + [
        .maximumMessageSize(bytes: limits.maxFrameBytes + extra), .sendHighWaterMark(messages: 1_000),
        .receiveHighWaterMark(messages: 10_000),
      ])
    try xpub.set(
      common + [
        .maximumMessageSize(bytes: HubSockets.maxSubscriptionBytes + extra),
        .sendHighWaterMark(messages: HubSockets.publishHighWaterMark),
        .receiveHighWaterMark(messages: 0),
      ])
    self.router = router
    self.xpub = xpub
    self.security = security
    self.authenticator = authenticator
    requestGuard = MessageGuard(maximumParts: HubSockets.maxParts, maximumBytes: limits.maxFrameBytes + extra)
    publishGuard = MessageGuard(
      maximumParts: HubSockets.maxParts, maximumBytes: HubSockets.maxSubscriptionBytes + extra)
  }

  /// Lets what was sent last over request connections leave before the socket ends, for so long at most.
  func linger(milliseconds: Int) { try? router.set([.linger(milliseconds: milliseconds)]) }

  /// Connections closed on arrival, because hardly any file descriptors were left.
  var refusedConnections: UInt64 { requestGuard.refusedConnections + publishGuard.refusedConnections }
  /// Connections ended in the middle of a message with too many or too long parts.
  var cutConnections: UInt64 { requestGuard.cutConnections + publishGuard.cutConnections }

  /// Binds both sockets for an address.
  mutating func listen(_ address: HubAddress) throws(HubError) {
    switch address.transport {
    case .ipc: try listenIPC(address)
    case .tcp: try listenTCP(address)
    }
  }

  /// The most bytes of a Unix-domain socket's path, without the terminating zero.
  private static let maxPathBytes = 107
  private static let publishSuffix = ".pub"

  private mutating func listenIPC(_ address: HubAddress) throws(HubError) {
    let publish = address.hostOrPath + HubSockets.publishSuffix
    guard publish.utf8.count <= HubSockets.maxPathBytes else {
      throw .cannotListen(
        address: address.description,
        problem:
          "a socket's path has at most \(HubSockets.maxPathBytes) bytes, and that of the publishing socket, "
          + "\(publish), has \(publish.utf8.count). Choose a shorter path")
    }
    let socketPath = try LockedSocketPath(address, neighbours: [publish])
    try secure(address)
    let request = try HubSockets.bind(router, at: address.description, requestGuard, for: address)
    let published = try HubSockets.bind(xpub, at: "ipc://\(publish)", publishGuard, for: address)
    isGuarded = isGuarded && request.isGuarded && published.isGuarded
    locks.append(socketPath)
    endpoints.append(HubEndpoint(request: "ipc:\(address.hostOrPath)", publish: "ipc:\(publish)"))
    addresses.append(address)
  }

  private mutating func listenTCP(_ address: HubAddress) throws(HubError) {
    let port = address.port ?? 0
    guard port < 65_535 else {
      throw .cannotListen(
        address: address.description,
        problem: "a hub publishes at the next port, and 65535 is the last. Choose a lower port")
    }
    if address.hostOrPath.hasPrefix("[") {
      do throws(ZeroMQError) {
        try router.set([.ipv6(true)])
        try xpub.set([.ipv6(true)])
      } catch {
        throw .cannotListen(address: address.description, problem: "\(error)")
      }
    }
    try secure(address)
    let host = "tcp://\(address.hostOrPath):"
    let requests = try HubSockets.bind(
      router, at: host + HubSockets.port(port), requestGuard, for: address, port)
    let request = try HubSockets.bound(router, address)
    // Port 0 asks the system for two free ports; a given port has the next one for publishing.
    let next = port == 0 ? 0 : port + 1
    let published = try HubSockets.bind(xpub, at: host + HubSockets.port(next), publishGuard, for: address, next)
    let publish = try HubSockets.bound(xpub, address)
    isGuarded = isGuarded && requests.isGuarded && published.isGuarded
    listeners.append(EncryptedListener(request: requests, publish: published))
    endpoints.append(HubEndpoint(request: request.endpointName, publish: publish.endpointName))
    addresses.append(request)
  }

  /// Sets what the next bind of both sockets asks of a connection.
  private borrowing func secure(_ address: HubAddress) throws(HubError) {
    guard let security else { return }
    do throws(ZeroMQError) {
      switch address.transport {
      case .ipc:
        // The kernel names the user: without a domain a client could name any.
        try router.set([.unencrypted, .ioThread(0), .authenticationDomain(Admissions.Domain.local.rawValue)])
        try xpub.set([.unencrypted, .ioThread(0), .authenticationDomain(Admissions.Domain.localPublish.rawValue)])
      case .tcp:
        try encrypt(with: security.keys)
      }
    } catch {
      throw .cannotListen(address: address.description, problem: "\(error)")
    }
  }

  private static func bind(
    _ socket: borrowing Socket, at endpoint: String, _ messages: MessageGuard, for address: HubAddress,
    _ port: Int? = nil
  ) throws(HubError) -> MessageGuard.Listener {
    do throws(ZeroMQError) {
      return try messages.listen(socket, at: endpoint)
    } catch {
      guard error.name == "EADDRINUSE", let port else {
        throw .cannotListen(address: address.description, problem: error.problem)
      }
      let isHub = isHub(at: HubAddress(tcp: address.hostOrPath, port: port))
      if isHub, port == address.port { throw .addressInUse(address: address.description, process: nil) }
      throw .portInUse(address: address.description, port: port, byHub: isHub)
    }
  }

  /// Whether the process at the port answers like a hub.
  private static func isHub(at address: HubAddress) -> Bool {
    guard let inquiry = HubInquiry(to: address) else { return false }
    return inquiry.ask(.ping(Ping(token: 1)), timeout: .milliseconds(500)) != nil
  }

  private static func port(_ number: Int) -> String { number == 0 ? "*" : String(number) }

  /// The address to which a socket was bound, with the port that the system picked.
  private static func bound(_ socket: borrowing Socket, _ address: HubAddress) throws(HubError) -> HubAddress {
    do throws(ZeroMQError) {
      let endpoint = try socket.lastEndpoint()
      let port = endpoint.lastIndex(of: ":").flatMap { Int(endpoint[endpoint.index(after: $0)...]) }
      return HubAddress(tcp: address.hostOrPath, port: port ?? 0)
    } catch {
      throw .cannotListen(address: address.description, problem: "\(error)")
    }
  }
}

extension ZeroMQError {
  /// The problem with its remedy. For a name, or an address of another machine, libzmq says "try again".
  fileprivate var problem: String {
    switch name {
    case "EAGAIN", "ENODEV", "EADDRNOTAVAIL":
      "this machine has no such address. Use one of its numeric addresses, such as 127.0.0.1"
    default: "\(self)"
    }
  }
}
