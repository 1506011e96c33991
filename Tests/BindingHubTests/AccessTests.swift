import BindingProtocol
import Testing

@testable import BindingHub

/// What a hub with a policy lets whom do. Ann may do everything by her role, ben may read `shop/*` and has no
/// `fanout`, cat may write `lamp.level`.
@Suite("Rights, in the machine")
struct AccessTests {
  private static let everything = Dictionary(
    uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, patterns("*")) })
  private static let policy = AccessPolicy(
    roles: [
      "staff": AccessRole(everything, fanout: true, recover: true, admin: true),
      "guest": AccessRole([.read: patterns("shop/*")]), "sensor": AccessRole([.write: patterns("lamp.level")]),
    ],
    names: ["ann": ["staff"], "ben": ["guest"], "cat": ["sensor"]])

  private var bench: HubBench

  init() {
    bench = HubBench { $0.endpoints = [HubEndpoint(request: "ipc:/h", publish: "ipc:/h.pub")] }
    apply(AccessTests.policy)
    for peer in [Speaker.ann, .ben, .cat] { identify(peer) }
    bench.live(.ann)
    bench.write(.ann, 1, .set("level", "1"), .set("hue", "2"))
  }

  private static func patterns(_ texts: String...) -> [AccessPattern] { texts.compactMap { AccessPattern($0) } }

  @discardableResult
  private mutating func apply(_ policy: AccessPolicy) -> [ConnectionID] {
    var changed: [ConnectionID] = []
    bench.act { machine, _, _ in changed = machine.apply(policy) }
    return changed
  }

  private mutating func identify(_ peer: Speaker) {
    bench.act { machine, _, _ in machine.identify(peer.connection, as: .named(peer.identity.name, role: nil)) }
  }

  /// Cat's outcome of a write to `lamp`, which she has joined.
  private mutating func write(_ operations: WireOperation..., by peer: Speaker = .cat) -> WireOutcome.Rest? {
    bench.live(peer)
    return bench.propose(peer, .of(1, operations))[1]
  }

  private static func text(_ outcome: WireOutcome.Rest?) -> String {
    if case .refused(let refusal)? = outcome { refusal.text } else { "" }
  }

  // MARK: Reading

  @Test("a join without the right is refused alike, whether the model exists or not, and makes none")
  mutating func join() {
    bench.hello(.ben)
    let received = bench.send(.ben, .join([Join(request: 1, model: "lamp"), Join(request: 2, model: "none")]))
    #expect(received.messages(to: .ben).count == 2)
    #expect(received.errors(.ben).map(\.code) == [.notPermitted, .notPermitted])
    #expect(received.errors(.ben).map(\.refusedJoin) == ["lamp", "none"])
    #expect(
      received.errors(.ben).map(\.text) == [
        "lamp: ben (guest) lacks the right read", "none: ben (guest) lacks the right read",
      ])
    #expect(bench.machine.topic(of: "none") == nil)
  }

  @Test("an ephemeral model is read by who may read its stored one")
  mutating func ephemeralJoin() {
    bench.hello(.ben)
    let names = [Names.ephemeral("lamp"), Names.ephemeral("shop/till")]
    let received = bench.send(.ben, .join(names.enumerated().map { Join(request: UInt32($0), model: $1) }))
    #expect(received.errors(.ben).map(\.refusedJoin) == [names[0]])
    #expect(received.joined(.ben).map(\.model) == [names[1]])
  }

  @Test("a connection that nobody has identified may do nothing")
  mutating func unidentified() {
    let stranger = Speaker(9, "stranger")
    bench.hello(stranger)
    #expect(bench.join(stranger, Join(request: 1, model: "lamp")).errors(stranger).map(\.code) == [.notPermitted])
  }

  @Test("a connection within the hub's process may do everything")
  mutating func inProcess() {
    var gateway = Speaker(9, "gateway")
    gateway.connection += HubMachine.firstInProcessConnection
    #expect(bench.live(gateway).joined(gateway).map(\.model) == ["lamp"])
  }

  @Test("a prefix announces what its follower may read, now and later")
  mutating func prefix() {
    bench.live(.ann, model: "shop/till", topic: HubBench.lamp + 1)
    bench.propose(.ann, .of(1, [.set("open", "true")], topic: HubBench.lamp + 1))
    bench.hello(.ben)
    let now = bench.send(.ben, .join([Join(request: 5, prefix: "")]))
    #expect(now.announces(.ben).flatMap(\.models).map(\.model) == ["shop/till"])
    for (offset, model) in ["fan", "shop/door"].enumerated() {
      bench.live(.ann, model: model, topic: HubBench.lamp + 2 + Topic(offset))
    }
    let later = bench.send(
      .ann,
      .propose([
        .of(1, [.set("on", "1")], topic: HubBench.lamp + 2), .of(1, [.set("on", "1")], topic: HubBench.lamp + 3),
      ]))
    #expect(later.announces(.ben).flatMap(\.models).map(\.model) == ["shop/door"])
  }

  @Test(
    "status and comparison need the right admin",
    arguments: [PeerMessage.status, .verify(Verify(timeoutMilliseconds: 9))])
  mutating func admin(_ message: PeerMessage) {
    #expect(bench.send(.ben, message).errors(.ben).map(\.code) == [.notPermitted])
    #expect(bench.send(.ann, message).errors(.ann).isEmpty)
  }

  @Test("a session that can be told its rights is told them before it has joined, unless it may do everything")
  mutating func told() throws {
    for peer in [Speaker.ann, .cat] {
      bench.send(peer, .hello(Hello(identity: peer.identity, capabilities: [Capability.rights, Capability.users])))
    }
    let answers = bench.join(.cat, Join(request: 1, model: "lamp")).messages(to: .cat)
    let rights = SessionRights(
      session: Speaker.cat.session, topic: HubBench.lamp, mayOwn: false, mayBePresent: false, mayDescribe: false,
      write: [try #require(NamePattern("level"))], delete: [])
    #expect(answers.dropFirst().first == .rights(rights))
    #expect(answers.dropFirst(2).first.map { if case .joined = $0 { true } else { false } } == true)
    let all =
      bench.join(.ann, Join(request: 1, model: "lamp")).messages(to: .ann) + bench.wait(1_000).messages(to: .ann)
    #expect(!all.contains { if case .rights = $0 { true } else { false } })
  }

  @Test("a session that cannot be told its rights is not")
  mutating func notTold() {
    bench.hello(.cat)
    let answers = bench.join(.cat, Join(request: 1, model: "lamp")).messages(to: .cat)
    #expect(!answers.contains { if case .rights = $0 { true } else { false } })
  }

  // MARK: Writing

  @Test("a write without the right to one of its fields changes none; the refusal names role and right, no pattern")
  mutating func fields() {
    #expect(
      write(.set("level", "5"), .set("hue", "5"))
        == .refused(
          Refusal(.notPermitted, "lamp.hue: cat (sensor) lacks the right write")))
    #expect(bench.propose(.cat, .of(2, [.set("level", "5")]))[2] == .committed(2))
    #expect(bench.propose(.cat, .of(3, [.of(.add, "hue", "5")]))[3]?.refusal == .notPermitted)
  }

  @Test(
    "deleting, clearing and describing need rights of their own",
    arguments: [
      (WireOperation.delete("level"), "lamp.level: cat (sensor) lacks the right delete"),
      (WireOperation(verb: .clear, field: .name("level"), value: nil), "lamp: cat (sensor) lacks the right delete"),
      (.set(Names.description, "{}"), "lamp.@description: cat (sensor) lacks the right describe"),
      (.of(.setIfAbsent, "new", "1"), "lamp.new: cat (sensor) lacks the right write"),
    ])
  mutating func others(_ operation: WireOperation, _ text: String) {
    #expect(AccessTests.text(write(operation)) == text)
  }

  @Test("a default for a field that is there needs no right: nothing changes")
  mutating func presentDefault() {
    #expect(write(.of(.setIfAbsent, "hue", "9")) == .unchanged)
  }

  @Test(
    "ephemeral fields need the right present, the ownership the right own",
    arguments: [(Names.me, "present"), ("cursor", "present"), (Names.owner, "own")])
  mutating func ephemeral(_ field: String, _ right: String) throws {
    bench.live(.cat)
    bench.send(.cat, .join([Join(request: 2, model: Names.ephemeral("lamp"))]))
    let topic = try #require(bench.machine.topic(of: Names.ephemeral("lamp")))
    let outcome = bench.send(.cat, .propose([.of(1, [.set(field, "1")], topic: topic)])).outcomes(.cat, topic: topic)[1]
    #expect(AccessTests.text(outcome).hasSuffix("cat (sensor) lacks the right \(right)"))
  }

  @Test("a proposal that waits for the store is judged by the rights of the moment at which it is decided")
  mutating func waiting() throws {
    bench.live(.cat)
    bench.settling = .later
    bench.write(.ann, 2, .set("level", "7"))
    #expect(bench.propose(.cat, .of(1, [.set("level", "8")])).isEmpty)
    var less = AccessTests.policy
    less.names["cat"] = ["guest"]
    #expect(apply(less) == [Speaker.cat.connection])
    bench.settling = .atOnce
    let outcomes = try bench.settleWithStore().outcomes(.cat)
    #expect(outcomes[1]?.refusal == .notPermitted)
  }

  // MARK: The ways out

  @Test("without fanout a session gets no endpoint to subscribe to, its joins at once, and heartbeats for a prefix")
  mutating func noFanout() {
    #expect(bench.hello(.cat).welcome(.cat)?.endpoints == [])
    #expect(bench.send(.cat, .join([Join(request: 1, model: "lamp")])).joined(.cat).map(\.delivery) == [.routed])
    let hello = Hello(identity: Speaker.ben.identity, leaseMilliseconds: 60_000, capabilities: [Capability.users])
    bench.send(.ben, .hello(hello))
    bench.send(.ben, .join([Join(request: 1, prefix: "shop/")]))
    #expect(bench.wait(1_000).heartbeats(.connection(Speaker.ben.connection)).count == 1)
  }

  /// A second role with `fanout`, which may not read `lamp`.
  private mutating func restrictLamp() {
    var policy = AccessTests.policy
    policy.roles["hall"] = AccessRole([.read: AccessTests.patterns("hall/*")], fanout: true)
    apply(policy)
  }

  @Test(
    "what a role with fanout may not read is published no more from then on, but sent to who may read it"
  )
  mutating func restricted() {
    let before = bench.send(.ann, .propose([.of(2, [.set("level", "2")])]))
    #expect(before.commits().count == 1)
    restrictLamp()
    let after = bench.send(.ann, .propose([.of(3, [.set("level", "3")])]))
    #expect(after.published.isEmpty && after.commits(.connection(Speaker.ann.connection)).count == 1)
    let beat = bench.wait(1_000)
    #expect(beat.heads().isEmpty && beat.heads(.connection(Speaker.ann.connection)).count == 1)
    #expect(beat.heartbeats().count == 1)
    let verified = bench.send(.ann, .verify(Verify(timeoutMilliseconds: 100)))
    #expect(verified.published.isEmpty)
  }

  @Test("a join of a restricted model is answered on the request connection, though the peer has subscribed")
  mutating func restrictedJoin() {
    restrictLamp()
    let dora = Speaker(4, "ann")
    identify(dora)
    bench.hello(dora)
    bench.subscribe(dora, Topics.bytes(HubBench.lamp))
    #expect(bench.send(dora, .join([Join(request: 1, model: "lamp")])).joined(dora).map(\.delivery) == [.routed])
  }

  @Test("an ephemeral model goes out the way its stored one does")
  mutating func restrictedEphemeral() throws {
    restrictLamp()
    bench.send(.ann, .join([Join(request: 2, model: Names.ephemeral("lamp"))]))
    let topic = try #require(bench.machine.topic(of: Names.ephemeral("lamp")))
    let received = bench.send(.ann, .propose([.of(1, [.set("cursor", "1")], topic: topic)]))
    #expect(received.published.isEmpty && received.commits(.connection(Speaker.ann.connection)).count == 1)
  }

  // MARK: Claims and counts

  @Test("a replica ahead of the hub is believed only of those who may bring commits back", arguments: [true, false])
  mutating func claim(isBelieved: Bool) {
    let peer = isBelieved ? Speaker.ann : .cat
    bench.hello(peer)
    let joined = bench.send(
      peer, .join([Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 40)]))
    #expect((joined.newEpoch != nil) == isBelieved)
  }

  @Test("who may not see the status is not told how many others there are")
  mutating func counts() {
    var full = HubBench { $0.limits.maxSessions = 1 }
    full.act { machine, _, _ in
      _ = machine.apply(AccessTests.policy)
      for peer in [Speaker.ann, .ben] { machine.identify(peer.connection, as: .named(peer.identity.name, role: nil)) }
    }
    full.hello(.ann)
    #expect(full.hello(.ben).errors(.ben).map(\.text) == ["the hub has no room for another session"])
  }

  // MARK: Changes

  @Test("a change names the connections whose rights it changes, and no others")
  mutating func change() {
    var policy = AccessTests.policy
    #expect(apply(policy).isEmpty)
    policy.roles["guest"]?.fanout = true
    #expect(apply(policy) == [Speaker.ben.connection])
    policy.names["ben"] = nil
    #expect(apply(policy) == [Speaker.ben.connection])
  }

  @Test("a seat in a model does not outlive the rights that it was found with")
  mutating func seat() {
    #expect(write(.set("level", "5")) == .committed(2))
    var less = AccessTests.policy
    less.roles["sensor"] = AccessRole([.read: AccessTests.patterns("lamp")])
    for connection in apply(less) {
      bench.act { machine, time, output in machine.expel(connection, time: time, into: &output) }
    }
    #expect(bench.propose(.cat, .of(2, [.set("level", "6")])).isEmpty)
    #expect(write(.set("level", "6"))?.refusal == nil)
    #expect(bench.propose(.cat, .of(2, [.set("level", "6")]))[2]?.refusal == .notPermitted)
  }
}
