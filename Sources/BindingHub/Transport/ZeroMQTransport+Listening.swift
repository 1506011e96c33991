import BindingProtocol
import ZeroMQ

extension ZeroMQTransport {
  /// Binds both sockets for an address.
  func listen(_ address: HubAddress) throws(HubError) {
    switch address.transport {
    case .ipc: try listenIPC(address)
    case .tcp: try listenTCP(address)
    }
  }

  /// The most bytes of a Unix-domain socket's path, without the terminating zero.
  private static let maxPathBytes = 107
  private static let publishSuffix = ".pub"

  private func listenIPC(_ address: HubAddress) throws(HubError) {
    let publish = address.hostOrPath + ZeroMQTransport.publishSuffix
    guard publish.utf8.count <= ZeroMQTransport.maxPathBytes else {
      throw .cannotListen(
        address: address.description,
        problem:
          "a socket's path has at most \(ZeroMQTransport.maxPathBytes) bytes, and that of the publishing socket, "
          + "\(publish), has \(publish.utf8.count). Choose a shorter path")
    }
    let socketPath = try LockedSocketPath(address, neighbours: [publish])
    try bind(router, at: address.description, requestGuard, for: address)
    try bind(xpub, at: "ipc://\(publish)", publishGuard, for: address)
    locks.append(socketPath)
    bound.append(HubEndpoint(request: "ipc:\(address.hostOrPath)", publish: "ipc:\(publish)"))
    addresses.append(address)
  }

  private func listenTCP(_ address: HubAddress) throws(HubError) {
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
    try bind(router, at: "tcp://\(address.hostOrPath):\(ZeroMQTransport.port(port))", requestGuard, for: address, port)
    let request = try ZeroMQTransport.bound(router, address)
    // Port 0 asks the system for two free ports; a given port has the next one for publishing.
    let next = port == 0 ? 0 : port + 1
    try bind(xpub, at: "tcp://\(address.hostOrPath):\(ZeroMQTransport.port(next))", publishGuard, for: address, next)
    let publish = try ZeroMQTransport.bound(xpub, address)
    bound.append(HubEndpoint(request: request.endpointName, publish: publish.endpointName))
    addresses.append(request)
  }

  private func bind(
    _ socket: borrowing Socket, at endpoint: String, _ messages: MessageGuard, for address: HubAddress,
    _ port: Int? = nil
  ) throws(HubError) {
    do throws(ZeroMQError) {
      isGuarded = try socket.bind(endpoint, guardedBy: messages) && isGuarded
    } catch {
      guard error.name == "EADDRINUSE", let port else {
        throw .cannotListen(address: address.description, problem: error.problem)
      }
      let isHub = ZeroMQTransport.isHub(at: HubAddress(tcp: address.hostOrPath, port: port))
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
