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
