import BindingKeys
import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingHub

/// What reaches whom over real sockets of a hub with rights. Ann may do everything; ben may read `public/*` and gets
/// what is published; cleo may read the same and gets nothing that is published.
@Suite("Restricted models, over real sockets")
struct RestrictedModelTests {
  private static let access = #"""
    {"bindbus": "access", "version": 1, "roles": {
      "staff": {"read": ["*"], "write": ["*"], "present": ["*"], "fanout": true, "admin": true},
      "hall": {"read": ["public/*"], "fanout": true},
      "guest": {"read": ["public/*"]}},
     "members": {"ann": ["staff"], "ben": ["hall"], "cleo": ["guest"]}}
    """#
  private let hub: KeyedHub

  init() throws { hub = try KeyedHub(access: RestrictedModelTests.access) }

  private func caller(_ name: String) throws -> Caller { try Caller(hub.tcp, hub.options(try hub.member(name))) }

  /// Everything that a session has got on its request connection, until the hub has handled all that it asked.
  private func heard(_ caller: Caller, _ token: UInt64) throws -> [[UInt8]] {
    try caller.send(.ping(Ping(token: token)))
    var frames: [[UInt8]] = []
    while true {
      let frame = try #require(try caller.frame())
      frames.append(frame)
      if case .pong(let pong)? = try? HubMessage.decode(frame).message, pong.token == token { return frames }
    }
  }

  /// Ann joins and writes, until her write is committed.
  private func write(_ ann: Caller, _ model: String, _ number: ProposalNumber, _ value: String) throws {
    try ann.send(.join([Join(request: number, model: model)]))
    var topic: Topic?
    while topic == nil {
      if case .joined(let joined) = try ann.next(), joined.model == model { topic = joined.topic }
    }
    let operation = WireOperation(
      verb: .set, field: .name("codeword"), value: FieldValue(bytes: Array("\"\(value)\"".utf8)))
    try ann.send(
      .propose([NumberedProposal(topic: try #require(topic), number: number, operations: [operation])]))
    while true { if case .outcomes = try ann.next() { return } }
  }

  private static func contains(_ frames: [[UInt8]], _ text: String) -> Bool {
    frames.contains { Data($0).range(of: Data(text.utf8)) != nil }
  }

  @Test("no byte of a restricted model reaches a session without the right, whatever it asks and subscribes to")
  func isolation() throws {
    let (ann, ben) = (try caller("ann"), try caller("ben"))
    try ann.hello(subscribing: false)
    try ben.hello()
    // Everything: the heartbeat, all topics, the topics of all sessions.
    try ben.sub.subscribe([])
    try #require(try ben.published(milliseconds: 20_000) != nil)
    try write(ann, "secret/plan", 1, "marzipan")
    try write(ann, "public/menu", 1, "pancakes")
    let name = Names.ephemeral("secret/plan")
    try ben.send(
      .join([Join(request: 1, model: "secret/plan"), Join(request: 2, model: name), Join(request: 3, prefix: "")]))
    try ben.send(.verify(Verify(timeoutMilliseconds: 50, names: ["secret/"])))
    try ben.send(.status)
    try ben.send(.join([Join(request: 4, model: "public/menu")]))
    var requested = try heard(ben, 1)
    try write(ann, "secret/plan", 2, "marzipan")
    var published: [[UInt8]] = []
    // Two heartbeats later all heads of both models have left.
    while published.filter({ $0[4] == HubMessageKind.heartbeat.rawValue }).count < 3 {
      published.append(try #require(try ben.published(milliseconds: 20_000)))
    }
    let end = Date(timeIntervalSinceNow: 20)
    while !RestrictedModelTests.contains(requested + published, "pancakes"), Date() < end {
      requested += try heard(ben, 2)
    }
    #expect(RestrictedModelTests.contains(requested + published, "pancakes"))
    for text in ["marzipan", "codeword\u{0}secret"] {
      #expect(!RestrictedModelTests.contains(requested + published, text), "\(text)")
    }
    // The refusals repeat the names that ben has sent; nothing else names the model.
    let answers = requested.filter {
      (try? HubMessage.decode($0).message).map { if case .error = $0 { true } else { false } } != true
    }
    #expect(!RestrictedModelTests.contains(answers + published, "secret"))
    let topics = Set(published.map { Array($0.prefix(4)) })
    #expect(topics.count <= 2, "the heartbeat's and that of public/menu: \(topics)")
  }

  @Test("without fanout the publish port refuses the connection, and models come on the request connection")
  func noFanout() throws {
    let (ann, cleo) = (try caller("ann"), try caller("cleo"))
    try ann.hello()
    let key = try hub.member("cleo")
    #expect(
      try hub.handshake(.sub, at: ann.publish, hub.options(key)) == .handshakeFailed(.authentication(status: 400)))
    try cleo.hello(subscribing: false)
    try cleo.send(.join([Join(request: 1, model: "public/menu")]))
    while true {
      guard case .joined(let joined) = try cleo.next() else { continue }
      #expect(joined.delivery == .routed)
      return
    }
  }

  @Test("other rights take effect when they are applied: who loses some is cut and refused, others stay")
  func apply() throws {
    let (ann, ben) = (try caller("ann"), try caller("ben"))
    try ann.hello()
    try ann.sub.subscribe(Topics.bytes(Topics.heartbeat))
    try #require(try ann.published(milliseconds: 20_000) != nil)
    try ben.hello()
    let less = RestrictedModelTests.access.replacingOccurrences(of: "\"ben\": [\"hall\"]", with: "\"ben\": []")
    try Data(less.utf8).write(to: URL(fileURLWithPath: hub.keys.accessPath))
    #expect(try answer() == .inForce)
    try ben.ends()
    #expect(try ann.isListening())
    let again = try Caller(hub.tcp, hub.options(try hub.member("ben")))
    try again.hello(subscribing: false)
    try again.send(.join([Join(request: 1, model: "public/menu")]))
    guard case .error(let error) = try again.next() else { throw Silence() }
    #expect(error.code == .notPermitted)
  }

  @Test("a file of rights that is wrong changes nothing, and the answer says what is wrong")
  func wrong() throws {
    let ben = try caller("ben")
    try ben.hello()
    try Data("{}".utf8).write(to: URL(fileURLWithPath: hub.keys.accessPath))
    guard case .refused(let problem) = try answer() else { throw Silence() }
    #expect(problem.contains("bindhub access check"), "\(problem)")
    try ben.send(.join([Join(request: 1, model: "secret/plan")]))
    guard case .error(let error) = try ben.next() else { throw Silence() }
    #expect(error.code == .notPermitted)
  }

  @Test("a hub with a wrong file of rights does not start")
  func wrongAtStart() throws {
    #expect { _ = try KeyedHub(access: "{}") } throws: { error in
      if case .keys(let problem)? = error as? HubError { problem.contains("bindhub access check") } else { false }
    }
  }

  private func answer() throws -> AccessAnswer {
    let token = try hub.keys.requestAccess()
    let end = Date(timeIntervalSinceNow: 20)
    let heartbeats = try caller("ann")
    try heartbeats.hello(subscribing: false)
    while Date() < end {
      if let answer = hub.keys.accessAnswer(to: token) { return answer }
      _ = try heartbeats.frame(milliseconds: 20)
    }
    throw Silence()
  }
}
