import BindingWire
import ZeroMQ

extension ZeroMQGate {
  /// Binds both sockets for an address.
  func listen(_ address: HubAddress) throws(HubFailure) {
    switch address.transport {
    case .ipc: try listenIPC(address)
    case .tcp: try listenTCP(address)
    }
  }

  private func listenIPC(_ address: HubAddress) throws(HubFailure) {
    let place = try LockedPlace(address)
    let publish = "\(address.place).pub"
    do throws(ZeroMQError) {
      try router.bind(address.description)
      try xpub.bind("ipc://\(publish)")
    } catch {
      throw .cannotListen(address: address.description, problem: "\(error)")
    }
    locks.append(place)
    bound.append(Way(request: "ipc:\(address.place)", publish: "ipc:\(publish)"))
    addresses.append(address)
  }

  private func listenTCP(_ address: HubAddress) throws(HubFailure) {
    do throws(ZeroMQError) {
      try router.bind("tcp://\(address.place):\(ZeroMQGate.port(address.port ?? 0))")
      let request = try ZeroMQGate.bound(router, address)
      // Port 0 asks the system for two free ports; a port of one's own has its neighbour for publishing.
      try xpub.bind("tcp://\(address.place):\(ZeroMQGate.port(address.port.map { $0 == 0 ? 0 : $0 + 1 } ?? 0))")
      let publish = try ZeroMQGate.bound(xpub, address)
      bound.append(Way(request: request.wayName, publish: publish.wayName))
      addresses.append(request)
    } catch {
      if error.name == "EADDRINUSE" { throw .addressInUse(address: address.description, process: nil) }
      throw .cannotListen(address: address.description, problem: "\(error)")
    }
  }

  private static func port(_ number: Int) -> String { number == 0 ? "*" : String(number) }

  /// The address that a socket was bound to: with the port that the system picked.
  private static func bound(_ socket: borrowing Socket, _ address: HubAddress) throws(ZeroMQError) -> HubAddress {
    let endpoint = try socket.lastEndpoint()
    let port = endpoint.lastIndex(of: ":").flatMap { Int(endpoint[endpoint.index(after: $0)...]) }
    return HubAddress(tcp: address.place, port: port ?? 0)
  }
}
