import BindingKeys
import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingHub

@Suite("What a hub with keys writes down, over real sockets")
struct AuditTests {
  private static let access = #"""
    {"bindbus": "access", "version": 1, "roles": {
      "staff": {"read": ["*"], "write": ["*"], "fanout": true, "admin": true}, "guest": {"read": ["public/*"]}},
     "members": {"ann": ["staff"], "cleo": ["guest"]}}
    """#
  private let hub: KeyedHub

  init() throws { hub = try KeyedHub(access: AuditTests.access) }

  /// Waits for an event with these words.
  private func event(_ name: String, _ words: String...) throws -> JSON {
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      let text = (try? String(contentsOfFile: hub.keys.auditPath, encoding: .utf8)) ?? ""
      for line in text.split(separator: "\n") {
        let json = try JSON(parsing: String(line))
        if json["event"]?.string == name, words.allSatisfy({ line.contains($0) }) { return json }
      }
      usleep(5_000)
    }
    throw Silence()
  }

  @Test("a start, a refused key with its address, and an enrolment; the hub's own test of its endpoints is none")
  func admission() throws {
    _ = try event("started", "\"rights\":true")
    let stranger = try KeyPair.random()
    _ = try hub.handshake(.dealer, at: hub.tcp.description, hub.options(stranger))
    let refused = try event("refused", "\(stranger.publicKey)")
    #expect(refused["address"]?.string == "127.0.0.1" && refused["domain"]?.string == "request")
    let text = try String(contentsOfFile: hub.keys.auditPath, encoding: .utf8)
    #expect(text.components(separatedBy: "\"refused\"").count == 2, "\(text)")
    let own = try KeyPair.random()
    #expect(try hub.invitation(for: "dora").enrol(own.publicKey, label: "") == "dora")
    _ = try event("admitted", "dora", "\(own.publicKey)")
  }

  @Test("a member without fanout that connects to what is published, and what it asks without the right")
  func denial() throws {
    let ann = try Caller(hub.tcp, hub.options(try hub.member("ann")))
    try ann.hello()
    let key = try hub.member("cleo")
    let cleo = try Caller(hub.tcp, hub.options(key))
    try cleo.hello(subscribing: false)
    try cleo.send(.join([Join(request: 1, model: "secret/plan")]))
    _ = try event("denied", "secret/plan: cleo (guest) lacks the right read")
    _ = try hub.handshake(.sub, at: ann.publish, hub.options(key))
    _ = try event("refused", "\(key.publicKey)", "lacks the right fanout")
  }

  @Test("changed rights, and whom they cut; a wrong file")
  func rights() throws {
    let cleo = try Caller(hub.tcp, hub.options(try hub.member("cleo")))
    try cleo.hello(subscribing: false)
    try Data("{}".utf8).write(to: URL(fileURLWithPath: hub.keys.accessPath))
    _ = try hub.keys.requestAccess()
    _ = try event("rightsRefused", "access.json")
    let less = AuditTests.access.replacingOccurrences(of: "\"cleo\": [\"guest\"]", with: "\"cleo\": []")
    try Data(less.utf8).write(to: URL(fileURLWithPath: hub.keys.accessPath))
    _ = try hub.keys.requestAccess()
    _ = try event("rights", "\"changed\":true")
    _ = try event("ended", "cleo")
  }

  @Test("the status names the user of each session and its roles")
  func status() throws {
    let ann = try Caller(hub.tcp, hub.options(try hub.member("ann")))
    try ann.hello(subscribing: false)
    let status = try #require(HubStatus.ask(hub.ipc, timeout: .seconds(20)))
    let session = try #require(status["sessions"]?.elements?.first)
    #expect(session["user"]?.string == "ann" && session["roles"] == .array([.string("staff")]))
  }
}
