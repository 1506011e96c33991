import BindingKeys
import BindingProtocol
import Foundation
import Logging
import Testing
import ZeroMQ

@testable import BindingHub

@Suite("The hub's test of its own keys")
struct SelfTestTests {
  private let context: Context
  private let server: KeyPair

  init() throws {
    context = try Context()
    server = try .random()
  }

  private func problem(_ options: [SocketOption]) throws -> String? {
    let router = try Socket(.router, in: context)
    try router.set(options)
    try router.bind("tcp://127.0.0.1:*")
    return try SelfTest(of: server.publicKey, as: .random()).stranger(at: try router.lastEndpoint(), as: .dealer)
  }

  @Test("passes where strangers are refused")
  func refused() throws {
    let authenticator = try Authenticator(in: context) { _ in .refused }
    #expect(try problem([.encryptedServer(server.secretKey), .authenticationDomain("request")]) == nil)
    withExtendedLifetime(authenticator) {}
  }

  @Test("finds an endpoint that asks nobody, as libzmq's are without a domain")
  func open() throws {
    #expect(try problem([.encryptedServer(server.secretKey)]) == "let a stranger in")
  }

  @Test("finds an authenticator that admits everybody")
  func admitted() throws {
    let authenticator = try Authenticator(in: context) { _ in .admitted(user: "x") }
    let options: [SocketOption] = [.encryptedServer(server.secretKey), .authenticationDomain("request")]
    #expect(try problem(options) == "let a stranger in")
    withExtendedLifetime(authenticator) {}
  }

  @Test("does not take silence or another failure for a refusal")
  func silent() throws {
    #expect(try problem([]) != nil)
  }
}

/// A hub's sockets at two tcp addresses, one endpoint of which is bound once more, with a mistake.
@Suite("A mistake at one endpoint of a hub")
final class EndpointMistakeTests {
  enum Mistake: String, CaseIterable {
    /// As libzmq's sockets are by themselves.
    case noDomain = "let a stranger in"
    case noEncryption = "answered a stranger with"
    case nobodyListens = "did not answer a stranger"
  }

  /// A socket that is not the hub's.
  private final class OtherSocket {
    let socket: Socket

    init(_ kind: Socket.Kind, _ options: [SocketOption]) throws {
      socket = try Socket(kind, in: try Context())
      try socket.set(options)
    }
  }

  private let folder = NSTemporaryDirectory() + "mistake-\(UInt32.random(in: 0 ... .max))"
  private let keys: KeyPair
  private let security: HubSecurity

  init() throws {
    keys = try HubKeys(in: folder).create()
    var configuration = Hub.Configuration()
    configuration.keys = folder
    let log = Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() })
    security = try #require(try HubSecurity(configuration, log))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func sockets() throws -> HubSockets {
    var sockets = try HubSockets(Limits(), security)
    for _ in 0..<2 { try sockets.listen(HubAddress(tcp: "127.0.0.1", port: 0)) }
    return sockets
  }

  /// Binds another socket in place of the hub's; libzmq gives the endpoint free in the background.
  private func replace(
    _ socket: borrowing Socket, at endpoint: String, _ mistake: Mistake
  ) throws -> OtherSocket? {
    try socket.unbind(endpoint)
    guard mistake != .nobodyListens else { return nil }
    let other = try OtherSocket(socket.kind, mistake == .noDomain ? [.encryptedServer(keys.secretKey)] : [])
    let end = Date(timeIntervalSinceNow: 20)
    while true {
      do throws(ZeroMQError) {
        try other.socket.bind(endpoint)
        return other
      } catch {
        guard error.name == "EADDRINUSE", Date() < end else { throw error }
        usleep(5_000)
      }
    }
  }

  @Test("sockets without a mistake pass")
  func right() throws {
    let sockets = try sockets()
    #expect(throws: Never.self) { try sockets.testThatStrangersAreRefused() }
  }

  @Test(
    "each endpoint of each address is tried, and only a refusal by the authenticator passes",
    arguments: [(0, false), (0, true), (1, false), (1, true)], Mistake.allCases)
  func found(_ place: (index: Int, publishes: Bool), _ mistake: Mistake) throws {
    // Waiting for an answer takes seconds: once is enough.
    if mistake == .nobodyListens, place != (1, true) { return }
    let sockets = try sockets()
    let address = sockets.addresses[place.index]
    let publish = try #require(address.publishEndpoint(among: sockets.endpoints))
    let endpoint = place.publishes ? publish : address.description
    let other =
      try place.publishes
      ? replace(sockets.xpub, at: endpoint, mistake) : replace(sockets.router, at: endpoint, mistake)
    do throws(HubError) {
      try sockets.testThatStrangersAreRefused()
      Issue.record("the mistake is not found")
    } catch {
      guard case .selfTest(endpoint, let problem) = error else { throw error }
      #expect(problem.hasPrefix(mistake.rawValue), "\(problem)")
    }
    withExtendedLifetime(other) {}
  }
}
