import Testing

@testable import ZeroMQ

/// A listener whose options another one at the same endpoint replaces.
@Suite("Replaced listeners", .serialized)
struct ReplacedListenerTests {
  private let context: Context
  private let bounds = MessageGuard(maximumParts: 4, maximumBytes: 1_000)
  private let keys: [KeyPair]
  private let member: KeyPair

  init() throws {
    context = try Context()
    keys = [try .random(), try .random()]
    member = try .random()
  }

  private func authenticator() throws -> Authenticator {
    try Authenticator(in: context) { _ in .admitted(user: "anna") }
  }

  private func encrypted(_ index: Int) -> [SocketOption] {
    [.encryptedServer(keys[index].secretKey), .authenticationDomain("request")]
  }

  private func dealer(_ index: Int, to endpoint: String) throws -> Socket {
    try Socket.connected(
      .dealer, in: try Context(), to: endpoint, [.encryptedClient(server: keys[index].publicKey, own: member)])
  }

  /// What becomes of a client that expects one of the two keys.
  private func handshake(_ index: Int, at endpoint: String) throws -> SocketEvent.Change {
    let socket = try Socket(.dealer, in: try Context())
    try socket.set([
      .encryptedClient(server: keys[index].publicKey, own: member), .reconnectInterval(milliseconds: nil),
    ])
    var events = try SocketEvents(of: socket)
    try socket.connect(endpoint)
    return try events.await("the end of the handshake") { change in
      if case .handshakeSucceeded = change { true } else { change.isHandshakeFailed }
    }.change
  }

  @Test("a connection of before goes on in both directions, and new ones need the new key")
  func replaced() throws {
    let authenticator = try authenticator()
    let router = try Socket(.router, in: context)
    try router.set(encrypted(0))
    let first = try bounds.listen(router, at: "tcp://127.0.0.1:*")
    try #require(first.isGuarded)
    let early = try dealer(0, to: first.endpoint)
    try early.send([1])
    var message = Message()
    let id = try router.receiveRouted(into: &message).id
    try router.set(encrypted(1))
    let second = try bounds.replace(first, of: router)
    #expect(second.endpoint == first.endpoint)
    for _ in 0..<20 { #expect(try handshake(0, at: first.endpoint).isHandshakeFailed) }
    for _ in 0..<20 { #expect(try handshake(1, at: first.endpoint) == .handshakeSucceeded) }
    try early.send([2])
    #expect(try router.receiveRouted(into: &message).bytes == [2])
    try router.send([3], to: id)
    #expect(try early.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds))
    #expect(try early.receive(into: &message) && message.withBytes { Array($0) } == [3])
    withExtendedLifetime(authenticator) {}
  }

  @Test("what replaced a listener can be undone, and the connections of both go on")
  func restored() throws {
    let authenticator = try authenticator()
    let router = try Socket(.router, in: context)
    try router.set(encrypted(0))
    let first = try bounds.listen(router, at: "tcp://127.0.0.1:*")
    try router.set(encrypted(1))
    let second = try bounds.replace(first, of: router)
    let meanwhile = try dealer(1, to: first.endpoint)
    try meanwhile.send([3])
    var message = Message()
    #expect(try router.receiveRouted(into: &message).bytes == [3])
    try router.set(encrypted(0))
    try bounds.restore(first, insteadOf: second, of: router)
    #expect(try handshake(0, at: first.endpoint) == .handshakeSucceeded)
    #expect(try handshake(1, at: first.endpoint).isHandshakeFailed)
    try meanwhile.send([4])
    #expect(try router.receiveRouted(into: &message).bytes == [4])
    withExtendedLifetime(authenticator) {}
  }

  @Test("the connections of a listener that replaced another one are bounded too, and both end with the socket")
  func bounded() throws {
    let endpoint: String
    do {
      let router = try Socket(.router, in: context)
      let first = try bounds.listen(router, at: "tcp://127.0.0.1:*")
      endpoint = first.endpoint
      _ = try bounds.replace(first, of: router)
      let dealer = try Socket.connected(.dealer, in: try Context(), to: endpoint)
      for _ in 0..<8 { _ = try dealer.send([UInt8](repeating: 7, count: 200), .sendMore) }
      _ = try dealer.send([7])
      try eventually("the endless message is cut") { bounds.cutConnections > 0 }
    }
    let next = try Socket(.router, in: context)
    try eventually("the port is free again") {
      do { try next.bind(endpoint) } catch let error as ZeroMQError where error.name == "EADDRINUSE" { return false }
      return true
    }
  }

  @Test("without a guard the socket listens again, and the connections end")
  func unguarded() throws {
    let authenticator = try authenticator()
    let router = try Socket(.router, in: context)
    try router.set(encrypted(0))
    try router.bind("tcp://127.0.0.1:*")
    let endpoint = try router.lastEndpoint()
    try router.set(encrypted(1))
    try router.bindAgain(endpoint)
    #expect(try handshake(1, at: endpoint) == .handshakeSucceeded)
    #expect(try handshake(0, at: endpoint).isHandshakeFailed)
    withExtendedLifetime(authenticator) {}
  }
}
