import BindingProtocol
import Testing

@testable import BindingHub

/// A gateway speaks for members: Ann may do everything, ben may read `shop/*`, cat may write `lamp.level`. The gateway
/// may do all that anybody may but own `lamp`, and describe.
@Suite("Sessions for somebody else")
struct RepresentationTests {
  private static let everything = Dictionary(
    uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, patterns("*")) })
  private static let gate: [AccessRole.Right: [AccessPattern]] = [
    .read: patterns("*"), .write: patterns("*"), .own: patterns("shop/*"),
  ]
  private static let policy = AccessPolicy(
    roles: [
      "staff": AccessRole(everything, fanout: true, recover: true, admin: true),
      "guest": AccessRole([.read: patterns("shop/*")]), "sensor": AccessRole([.write: patterns("lamp.level")]),
      "gate": AccessRole(gate, fanout: true, gateway: true),
    ],
    names: ["ann": ["staff"], "cat": ["sensor"], "web": ["gate"], "dan": ["guest"], "*": []])

  private var bench: HubBench
  /// Three sessions of one connection.
  private let one = speaker(11)
  private let two = speaker(12)
  private let three = speaker(13)

  init() {
    bench = HubBench { $0.endpoints = [HubEndpoint(request: "ipc:/h", publish: "ipc:/h.pub")] }
    bench.act { machine, _, _ in
      _ = machine.apply(RepresentationTests.policy)
      machine.apply(RepresentationTests.members)
      for (connection, name) in [(1, "ann"), (10, "web"), (20, "dan")] as [(ConnectionID, String)] {
        machine.identify(connection, as: .named(name, role: nil))
      }
    }
    bench.live(.ann)
    bench.write(.ann, 1, .set("level", "1"), .set("hue", "2"))
  }

  private static var members: HubMembers {
    var members = HubMembers()
    for (name, role) in [("ann", nil), ("ben", "guest"), ("cat", nil), ("dan", nil)] as [(String, String?)] {
      members.add(name, role: role)
    }
    return members
  }

  private static func patterns(_ texts: String...) -> [AccessPattern] { texts.compactMap { AccessPattern($0) } }

  private static func speaker(_ number: UInt64) -> Speaker {
    var speaker = Speaker(number, "page\(number)")
    (speaker.connection, speaker.subscriber) = (10, 10)
    return speaker
  }

  /// A hello that names for whom it is.
  @discardableResult
  private mutating func hello(_ peer: Speaker, for claims: String...) -> Received {
    let capabilities = [Capability.rights, Capability.users] + claims.map { "for:" + $0 }
    return bench.send(peer, .hello(Hello(identity: peer.identity, capabilities: capabilities)))
  }

  private mutating func join(_ peer: Speaker, _ model: String) -> Received {
    bench.send(peer, .join([Join(request: 1, model: model)]))
    return bench.wait(1_000)
  }

  // MARK: Who may

  @Test("the welcome of a session for somebody says that the hub knows it, and whether that member has the right admin")
  mutating func welcome() {
    #expect(hello(one, for: "cat").welcome(one)?.capabilities.contains("for") == true)
    #expect(hello(two, for: "ann").welcome(two)?.capabilities.contains("admin") == false)
    #expect(hello(three).welcome(three)?.capabilities.contains("for") == false)
    var gateway = Speaker(30, "page")
    gateway.connection += HubMachine.firstInProcessConnection
    #expect(hello(gateway, for: "ann").welcome(gateway)?.capabilities.contains("admin") == true)
  }

  @Test("without the right gateway a hello for somebody is refused, for oneself too, and begins no session")
  mutating func noGateway() {
    var dan = Speaker(20, "dan")
    for claim in ["ann", "dan"] {
      let refused = hello(dan, for: claim)
      #expect(refused.errors(dan).map(\.code) == [.notPermitted] && refused.errors(dan).allSatisfy(\.isFatal))
      #expect(refused.errors(dan).map(\.text) == ["dan (guest) lacks the right gateway"])
      #expect(!bench.machine.hasOpenSession(dan.session))
    }
    dan.connection = 40
    #expect(hello(dan, for: "ann").errors(dan).map(\.code) == [.notPermitted])
  }

  @Test(
    "nobody speaks for a name that no member has, with a role that no invitation gave, or for two",
    arguments: [["zoe"], [""], ["ben:staff"], ["ann:staff"], ["uid:0"], ["ann", "cat"]])
  mutating func nobody(_ claims: [String]) {
    let hello = Hello(identity: one.identity, capabilities: [Capability.users] + claims.map { "for:" + $0 })
    #expect(bench.send(one, .hello(hello)).errors(one).map(\.code) == [.notPermitted])
    #expect(!bench.machine.hasOpenSession(one.session))
  }

  @Test("a hub without a policy lets its own process speak for members, and no member for another")
  mutating func withoutPolicy() {
    bench.act { machine, _, _ in _ = machine.apply(nil as AccessPolicy?) }
    #expect(hello(one, for: "ann").errors(one).map(\.code) == [.notPermitted])
    var gateway = Speaker(30, "page")
    gateway.connection += HubMachine.firstInProcessConnection
    #expect(hello(gateway, for: "ann").welcome(gateway) != nil)
    bench.act { machine, _, _ in machine.apply(nil as HubMembers?) }
    #expect(hello(gateway, for: "ann").errors(gateway).map(\.code).contains(.notPermitted))
  }

  @Test("a gateway has the sessions of a connection of the hub's own process")
  mutating func manySessions() {
    for number in UInt64(100)..<150 {
      #expect(hello(RepresentationTests.speaker(number), for: "cat").errors(.ann).isEmpty)
      #expect(bench.machine.hasOpenSession(RepresentationTests.speaker(number).session))
    }
  }

  // MARK: What they may

  @Test("sessions of one connection have the rights of different members")
  mutating func rights() {
    hello(one, for: "ann")
    hello(two, for: "ben:guest")
    hello(three, for: "cat")
    #expect(join(one, "lamp").joined(one).map(\.model) == ["lamp"])
    let refused = bench.send(two, .join([Join(request: 1, model: "lamp"), Join(request: 2, model: "none")]))
    #expect(
      refused.errors(two).map(\.text) == [
        "lamp: ben (guest) lacks the right read", "none: ben (guest) lacks the right read",
      ])
    #expect(bench.machine.topic(of: "none") == nil)
    #expect(join(three, "lamp").joined(three).map(\.model) == ["lamp"])
    #expect(bench.propose(one, .of(1, [.set("hue", "3")]))[1] == .committed(2))
    #expect(bench.propose(three, .of(1, [.set("hue", "4")]))[1]?.refusal == .notPermitted)
    #expect(bench.propose(three, .of(2, [.set("level", "4")]))[2] == .committed(3))
  }

  @Test("what the gateway may not do it may do for nobody")
  mutating func withinItsOwn() {
    hello(one, for: "ann")
    #expect(join(one, "lamp").joined(one).map(\.model) == ["lamp"])
    #expect(bench.propose(one, .of(1, [.delete("hue")]))[1]?.refusal == .notPermitted)
    #expect(bench.propose(one, .of(2, [.set(Names.description, "{}")]))[2]?.refusal == .notPermitted)
    #expect(bench.send(one, .status).errors(one).map(\.code) == [.notPermitted])
  }

  @Test("rights by field are told and decided by both, the member's and the gateway's")
  mutating func byField() {
    var policy = RepresentationTests.policy
    policy.roles["gate"]?.patterns[.write] = RepresentationTests.patterns("lamp.h*", "lamp.level")
    policy.roles["sensor"]?.patterns[.write] = RepresentationTests.patterns("lamp.l*", "lamp.x")
    bench.act { machine, _, _ in _ = machine.apply(policy) }
    hello(one, for: "cat")
    #expect(join(one, "lamp").joined(one).count == 1)
    let outcomes = ["level", "hue", "x", "light"].enumerated().map { index, field in
      let number = ProposalNumber(index + 1)
      return bench.propose(one, .of(number, [.set(field, "9")]))[number]?.refusal
    }
    #expect(outcomes == [nil, .notPermitted, .notPermitted, .notPermitted])
  }

  @Test("a commit names the member, and the status lists it with its roles")
  mutating func attribution() throws {
    hello(one, for: "cat")
    hello(two, for: "ben:guest")
    #expect(join(one, "lamp").joined(one).count == 1)
    let commits = bench.send(one, .propose([.of(1, [.set("level", "4")])])).commits()
    #expect(commits.first?.origins.map(\.user) == ["cat"])
    let sessions = bench.machine.statusJSON(time: bench.time)["sessions"]?.elements ?? []
    let users = sessions.filter { $0["name"]?.string?.hasPrefix("page") == true }.map { $0["user"]?.string }
    #expect(users == ["cat", "ben"])
    #expect(sessions.compactMap { $0["roles"]?[0]?.string }.sorted() == ["guest", "sensor", "staff"])
  }

  @Test("a prefix announces what the member may read, now and later")
  mutating func prefix() {
    bench.live(.ann, model: "shop/till", topic: HubBench.lamp + 1)
    bench.propose(.ann, .of(1, [.set("open", "true")], topic: HubBench.lamp + 1))
    hello(two, for: "ben:guest")
    let now = bench.send(two, .join([Join(request: 5, prefix: "")]))
    #expect(now.announces(two).flatMap(\.models).map(\.model) == ["shop/till"])
    bench.live(.ann, model: "fan", topic: HubBench.lamp + 2)
    let later = bench.send(.ann, .propose([.of(1, [.set("on", "1")], topic: HubBench.lamp + 2)]))
    #expect(later.announces(two).isEmpty)
  }

  // MARK: The end

  @Test("when a member's rights change its sessions end before anything decided then, and the others go on")
  mutating func changed() {
    hello(one, for: "cat")
    hello(three, for: "ann")
    #expect(join(one, "lamp").joined(one).count == 1)
    bench.settling = .later
    bench.send(one, .propose([.of(1, [.set("level", "8")])]))
    var less = RepresentationTests.policy
    less.names["cat"] = []
    let ended = bench.act { machine, _, _ in _ = machine.apply(less) }
    #expect(ended.errors(one).map(\.code) == [.notPermitted] && ended.errors(one).allSatisfy(\.isFatal))
    #expect(!bench.machine.hasOpenSession(one.session) && bench.machine.hasOpenSession(three.session))
    #expect(bench.send(one, .join([Join(request: 2, model: "lamp")])).errors(one).map(\.code) == [.unknownSession])
    hello(one, for: "cat")
    #expect(bench.send(one, .join([Join(request: 3, model: "lamp")])).errors(one).map(\.code) == [.notPermitted])
  }

  @Test("when a member is revoked or kicked its sessions end, and it cannot be spoken for")
  mutating func revoked() {
    hello(one, for: "cat")
    hello(two, for: "ben:guest")
    let ended = bench.act { machine, _, _ in machine.apply(RepresentationTests.members.without(["cat"])) }
    #expect(ended.errors(one).map(\.code) == [.notPermitted] && ended.errors(one).map(\.session) == [one.session])
    #expect(!bench.machine.hasOpenSession(one.session) && bench.machine.hasOpenSession(two.session))
    #expect(hello(one, for: "cat").errors(one).map(\.code) == [.notPermitted])
    bench.act { machine, _, _ in machine.apply(RepresentationTests.members) }
    #expect(hello(one, for: "cat").welcome(one) != nil)
  }

  @Test("a session number of one connection lends its member to no other connection")
  mutating func otherConnection() {
    hello(one, for: "ann")
    var thief = one
    thief.connection = 20
    #expect(bench.send(thief, .status).errors(thief).map(\.code) == [.notPermitted])
    #expect(bench.send(thief, .join([Join(request: 1, model: "lamp")])).errors(thief).map(\.code) == [.unknownSession])
  }
}
