import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Keys and authentication")
struct AuthenticationTests {
  let context: Context
  let server: KeyPair
  let member: KeyPair

  init() throws {
    context = try Context()
    server = try .random()
    member = try .random()
  }

  /// Admits one key, in the domain `request` only.
  private func authenticator() throws -> Authenticator {
    let key = member.publicKey
    return try Authenticator(in: context) { request in
      request.domain == "request" && request.credentials == .key(key) ? .admitted(user: "anna") : .refused
    }
  }

  private func listening(_ kind: Socket.Kind, domain: String) throws -> Socket {
    try .listening(kind, in: context, [.encryptedServer(server.secretKey), .authenticationDomain(domain)])
  }

  /// Connects a client of another context, and returns its end of the handshake.
  private func handshake(
    _ options: [SocketOption], to endpoint: String, as kind: Socket.Kind = .dealer
  ) throws -> SocketEvent.Change {
    let socket = try Socket(kind, in: try Context())
    try socket.set(options)
    var events = try SocketEvents(of: socket)
    try socket.connect(endpoint)
    return try events.await("the end of the handshake") { change in
      if case .handshakeSucceeded = change { true } else { change.isHandshakeFailed }
    }.change
  }

  @Test("a member's message carries the name that the authenticator gave it")
  func named() throws {
    let authenticator = try authenticator()
    let router = try listening(.router, domain: "request")
    let dealer = try Socket.connected(
      .dealer, in: try Context(), to: try router.lastEndpoint(),
      [.encryptedClient(server: server.publicKey, own: member)])
    try dealer.send([7])
    var message = Message()
    #expect(try router.receiveRouted(into: &message).bytes == [7])
    #expect(message.user == "anna")
    withExtendedLifetime(authenticator) {}
  }

  @Test("an unknown key is refused with status 400")
  func stranger() throws {
    let authenticator = try authenticator()
    let router = try listening(.router, domain: "request")
    let change = try handshake(
      [.encryptedClient(server: server.publicKey, own: .random())], to: try router.lastEndpoint())
    #expect(change == .handshakeFailed(.authentication(status: 400)))
    withExtendedLifetime(authenticator) {}
  }

  @Test("the same key may be admitted in one domain and refused in another")
  func domains() throws {
    let authenticator = try authenticator()
    let other = try listening(.xpub, domain: "publish")
    let change = try handshake(
      [.encryptedClient(server: server.publicKey, own: member)], to: try other.lastEndpoint(), as: .sub)
    #expect(change == .handshakeFailed(.authentication(status: 400)))
    withExtendedLifetime(authenticator) {}
  }

  @Test("a client without encryption does not get through")
  func plain() throws {
    let authenticator = try authenticator()
    let router = try listening(.router, domain: "request")
    #expect(try handshake([], to: try router.lastEndpoint()) != .handshakeSucceeded)
    withExtendedLifetime(authenticator) {}
  }

  @Test("a client that expects another server key does not get through")
  func otherServer() throws {
    let authenticator = try authenticator()
    let router = try listening(.router, domain: "request")
    let other = try KeyPair.random().publicKey
    let change = try handshake([.encryptedClient(server: other, own: member)], to: try router.lastEndpoint())
    #expect(change != .handshakeSucceeded)
    withExtendedLifetime(authenticator) {}
  }

  @Test("without an authenticator an endpoint with a domain refuses everybody")
  func noAuthenticator() throws {
    let router = try listening(.router, domain: "request")
    let change = try handshake([.encryptedClient(server: server.publicKey, own: member)], to: try router.lastEndpoint())
    #expect(change != .handshakeSucceeded)
  }

  @Test("after a change of the decision a key that was admitted is refused")
  func replaced() throws {
    let authenticator = try authenticator()
    let router = try listening(.router, domain: "request")
    let options: [SocketOption] = [.encryptedClient(server: server.publicKey, own: member)]
    #expect(try handshake(options, to: try router.lastEndpoint()) == .handshakeSucceeded)
    authenticator.replace { _ in .refused }
    #expect(
      try handshake(options, to: try router.lastEndpoint()) == .handshakeFailed(.authentication(status: 400)))
  }

  @Test("over ipc the authenticator learns the system's user id, and its name wins over what the client claims")
  func local() throws {
    let directory = try TemporaryDirectory()
    let seen = Shared<[String]>([])
    let authenticator = try Authenticator(in: context) { request in
      seen.with { $0.append(request.address) }
      return .admitted(user: "uid:\(request.address.split(separator: ":").dropFirst().first ?? "?")")
    }
    let router = try Socket.listening(
      .router, in: context, [.encryptedServer(server.secretKey), .unencrypted, .authenticationDomain("local")],
      at: "ipc://\(directory.path)/r")
    let dealer = try Socket.connected(.dealer, in: try Context(), to: "ipc://\(directory.path)/r")
    try dealer.send([7])
    var message = Message()
    _ = try router.receiveRouted(into: &message)
    #expect(message.user == "uid:\(getuid())")
    #expect(seen.current.allSatisfy { $0.hasPrefix("localhost:\(getuid()):\(getgid()):") })
    withExtendedLifetime(authenticator) {}
  }

  @Test("a context has one authenticator, and another after that has ended")
  func oneAtATime() throws {
    var first: Authenticator? = try authenticator()
    #expect(throws: ZeroMQError.self) { try authenticator() }
    withExtendedLifetime(first) {}
    first = nil
    try eventually("the name is free") { (try? authenticator()) != nil }
  }

  @Test("the public key follows from the secret one")
  func derived() throws { #expect(try KeyPair(of: member.secretKey) == member) }

  @Test("a key reads back from its text")
  func keyText() throws {
    #expect(PublicKey(member.publicKey.description) == member.publicKey)
    #expect(SecretKey(member.secretKey.text) == member.secretKey)
  }

  @Test(
    "what is no key is none",
    arguments: ["", "short", String(repeating: "~", count: 40), String(repeating: "#", count: 40), "é"])
  func noKey(text: String) { #expect(PublicKey(text) == nil) }

  @Test("a secret does not show in descriptions, dumps and mirrors")
  func secrecy() throws {
    var dumped = ""
    dump(member, to: &dumped)
    for shown in ["\(member)", String(reflecting: member), dumped, "\(SocketOption.encryptedServer(member.secretKey))"]
    {
      #expect(!shown.contains(member.secretKey.text))
      #expect(!shown.contains("\(member.secretKey.bytes[0]), \(member.secretKey.bytes[1])"))
    }
  }
}
