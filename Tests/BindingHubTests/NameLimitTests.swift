import BindingProtocol
import Testing

@testable import BindingHub

/// What one name may use, whatever its sessions and connections (§15.7). Ann may make 10 writes a second, and have 3
/// sessions, 2 models and 4 subscriptions; ben has the standard limits.
@Suite("Limits of a name, in the machine")
struct NameLimitTests {
  private static let small: [NameLimits.Kind: Int] = [
    .writesPerSecond: 10, .bytesPerSecond: 1_000_000, .sessions: 3, .models: 2, .subscriptions: 4,
  ]
  private var bench = HubBench()

  init() {
    apply(NameLimitTests.small)
    for peer in [Speaker.ann, .ben, .cat] { identify(peer, peer.identity.name) }
  }

  private mutating func apply(_ limits: [NameLimits.Kind: Int], mayWrite: Bool = true) {
    let everything = [AccessPattern("*")].compactMap { $0 }
    let rights: [AccessRole.Right: [AccessPattern]] =
      mayWrite ? [.read: everything, .write: everything, .describe: everything] : [.read: everything]
    let roles = ["small": AccessRole(rights, fanout: true), "all": AccessRole(rights, fanout: true)]
    let policy = AccessPolicy(roles: roles, names: ["ann": ["small"], "*": ["all"]], limits: ["small": limits])
    bench.act { machine, time, _ in _ = machine.apply(policy, time: time) }
  }

  private mutating func identify(_ peer: Speaker, _ name: String) {
    bench.act { machine, _, _ in machine.identify(peer.connection, as: .named(name, role: nil)) }
  }

  private func writes(_ numbers: ClosedRange<ProposalNumber>) -> PeerMessage {
    .propose(numbers.map { .of($0, [.set("level", "\($0)")], confirmed: $0 - 1) })
  }

  /// The outcomes of writes under these numbers, in order.
  private mutating func write(_ numbers: ClosedRange<ProposalNumber>, by peer: Speaker) -> [WireOutcome.Rest] {
    let outcomes = bench.send(peer, writes(numbers)).outcomes(peer)
    return numbers.compactMap { outcomes[$0] }
  }

  private static func pause(_ outcome: WireOutcome.Rest?) -> UInt64 {
    if case .retryLater(.rateLimited, let pause)? = outcome { UInt64(pause) } else { 0 }
  }

  // MARK: Writes

  @Test("writes past a burst of four seconds are sent back with a pause, in order; sent again after it they are made")
  mutating func writesSentBack() {
    bench.live(.ann)
    let outcomes = write(1...50, by: .ann)
    #expect(outcomes.count == 50)
    #expect(outcomes.prefix(40).allSatisfy { $0.retryReason == nil })
    #expect(outcomes.suffix(10).allSatisfy { $0.retryReason == .rateLimited })
    #expect(bench.counters.limitedWrites == 10)
    let pause = NameLimitTests.pause(outcomes.last)
    #expect(pause == 1_100, "ten writes are earned in a second, after the first one")
    bench.now += pause
    #expect(write(41...50, by: .ann) == (41...50).map { .committed(Version($0)) })
  }

  @Test("no other name is held back by a flood, and its writes are made in the same turn")
  mutating func otherName() {
    bench.live(.ann)
    bench.live(.ben)
    let received = bench.together([(.ann, writes(1...1_000)), (.ben, writes(1...1_000)), (.ann, writes(1...1_000))])
    #expect(received.outcomes(.ben).values.allSatisfy { $0.retryReason != .rateLimited })
    #expect(bench.machine.hub.usages.limited.map(\.name) == ["ann"])
    #expect(bench.counters.limitedWrites == 960 + 1_000)
  }

  @Test("all sessions and connections of a name share its limit")
  mutating func shared() {
    identify(.cat, "ann")
    bench.live(.ann)
    bench.live(.cat)
    #expect(write(1...30, by: .ann).allSatisfy { $0.retryReason == nil })
    let outcomes = write(1...30, by: .cat)
    #expect(outcomes.filter { $0.retryReason == nil }.count == 10)
  }

  @Test("refused writes count, so that a name without the right cannot fill the log")
  mutating func refused() {
    apply(NameLimitTests.small, mayWrite: false)
    bench.live(.ann)
    let outcomes = write(1...100, by: .ann)
    #expect(outcomes.filter { $0.refusal == .notPermitted }.count == 40)
    #expect(outcomes.filter { $0.retryReason == .rateLimited }.count == 60)
  }

  @Test("writes that are sent back return as the name earns them, and never later than after five seconds")
  mutating func spread() {
    bench.live(.ann)
    _ = write(1...40, by: .ann)
    var pauses: [UInt64] = []
    for number in 41...60 as ClosedRange<ProposalNumber> {
      pauses.append(NameLimitTests.pause(write(number...number, by: .ann).last))
    }
    #expect(pauses.first == 200 && pauses == pauses.sorted() && pauses.last == 2_100)
    _ = write(41...200, by: .ann)
    let late = (41...80 as ClosedRange<ProposalNumber>).map { NameLimitTests.pause(write($0...$0, by: .ann).last) }
    #expect(late.allSatisfy { (3_750...5_000).contains($0) })
    #expect(Set(late).count > 30, "they do not all return at once")
  }

  @Test("a later write is never made before one that was sent back")
  mutating func order() {
    bench.live(.ann)
    _ = write(1...41, by: .ann)
    bench.now += 100
    #expect(write(42...42, by: .ann) == [.expected(next: 41)])
  }

  @Test("a message longer than a burst of bytes passes, and what it took too much is earned before the next one")
  mutating func bytes() {
    apply([.bytesPerSecond: 100])
    bench.live(.ann)
    let long = PeerMessage.propose([.of(1, [.set("level", text(ofBytes: 1_000))])])
    #expect(bench.send(.ann, long).outcomes(.ann)[1] == .committed(1))
    #expect(write(2...2, by: .ann).last?.retryReason == .rateLimited)
    #expect(bench.counters.limitedBytes == 1)
    #expect(bench.counters.limitedWrites == 0)
    bench.wait(8_000)
    #expect(write(2...2, by: .ann) == [.committed(2)])
  }

  @Test("a pause that was promised is enough for the bytes too")
  mutating func bytesPause() {
    apply([.bytesPerSecond: 1_000])
    bench.live(.ann)
    let long = PeerMessage.propose([.of(1, [.set("level", text(ofBytes: 6_000))])])
    bench.send(.ann, long)
    let pause = NameLimitTests.pause(write(2...2, by: .ann).last)
    #expect(pause > 1_000)
    bench.now += pause
    #expect(write(2...2, by: .ann) == [.committed(2)])
  }

  @Test("other limits count at once for a name that is there, and end no connection")
  mutating func changed() {
    bench.live(.ann)
    _ = write(1...40, by: .ann)
    apply([.writesPerSecond: 1_000])
    bench.now += 10
    #expect(write(41...50, by: .ann).allSatisfy { $0.retryReason == nil })
    #expect(bench.machine.hasOpenSession(Speaker.ann.session))
    bench.now += 5_000
    apply([.writesPerSecond: 2])
    #expect(write(51...70, by: .ann).filter { $0.retryReason == nil }.count == 8)
  }

  @Test("who runs the hub has no limits unless the file names it; nor has its own process")
  mutating func owner() {
    bench = HubBench()
    apply(NameLimitTests.small)
    bench.act { machine, _, _ in machine.identify(Speaker.ann.connection, as: .owner(name: "uid:1")) }
    var page = Speaker(7, "page")
    page.connection = 1 << 63 | 7
    for peer in [Speaker.ann, page] {
      bench.live(peer)
      #expect(bench.machine.hub.sessions[peer.session]?.usage == nil)
    }
    #expect(AccessPolicy.limits(of: .owner(name: "uid:1"), by: AccessPolicy(names: ["uid:1": []])) != nil)
  }

  @Test("without a file of rights a member has the standard limits")
  mutating func noFile() {
    bench = HubBench()
    identify(.ann, "ann")
    bench.live(.ann)
    #expect(bench.machine.hub.sessions[Speaker.ann.session]?.usage?.limits == NameLimits())
  }

  // MARK: Sessions, models, subscriptions

  @Test("a session past the limit is refused with the limit and the cure; one that replaces its own is not")
  mutating func sessions() {
    let peers = (0..<4).map { Speaker(20 + UInt64($0), "peer") }
    for peer in peers { identify(peer, "ann") }
    for peer in peers.prefix(3) { #expect(bench.hello(peer).welcome(peer) != nil) }
    let errors = bench.hello(peers[3]).errors(peers[3])
    #expect(errors.map(\.code) == [.tooManySessions])
    #expect(
      errors.first?.text
        == "ann has 3 sessions, and its limit is 3. Close some, or raise sessions in access.json")
    #expect(bench.counters.limitedSessions == 1)
    let again = peers[0].again(30)
    identify(again, "ann")
    #expect(bench.hello(again).welcome(again) != nil)
    bench.send(peers[1], .leave(Leave()))
    #expect(bench.hello(peers[3]).welcome(peers[3]) != nil)
  }

  @Test("a name makes so many models, whichever of its peers; one that is gone makes room")
  mutating func models() {
    identify(.cat, "ann")
    for peer in [Speaker.ann, .cat, .ben] { bench.hello(peer) }
    bench.send(.ann, .join([Join(request: 1, model: "one")]))
    bench.send(.cat, .join([Join(request: 1, model: "two")]))
    let errors = bench.send(.ann, .join([Join(request: 2, model: "three")])).errors(.ann)
    #expect(errors.map(\.code) == [.overLimit])
    #expect(
      errors.first?.text == "three: ann has 2 models, and its limit is 2. Delete unused models, and leave them")
    #expect(bench.counters.limitedModels == 1)
    #expect(bench.send(.ben, .join([Join(request: 1, model: "three")])).errors(.ben).isEmpty)
    bench.send(.cat, .leave(Leave()))
    #expect(bench.send(.ann, .join([Join(request: 3, model: "four")])).errors(.ann).isEmpty)
  }

  @Test("subscriptions of all subscribers of a name count; past the limit the subscriber is cut")
  mutating func subscriptions() {
    identify(.cat, "ann")
    bench.hello(.ann)
    bench.hello(.cat)
    func topic(_ number: Topic) -> [UInt8] { Topics.bytes(Topics.firstModel + number) }
    #expect(bench.subscribe(.ann, topic(0), topic(1), topic(0)).cut.isEmpty)
    #expect(bench.subscribe(.cat, topic(0), topic(1)).cut.isEmpty)
    #expect(bench.subscribe(.cat, topic(2)).cut == [Speaker.cat.subscriber])
    #expect(bench.counters.limitedSubscriptions == 1)
    bench.unsubscribe(.ann, topic(1))
    #expect(bench.subscribe(.cat, topic(2)).cut.isEmpty)
    bench.unsubscribe(.cat, Topics.sessionTopic(Speaker.cat.session))
    #expect(bench.subscribe(.ann, topic(5), topic(6), topic(7)).cut.isEmpty)
  }

  @Test("models subscribed to before the session's hello count too")
  mutating func earlySubscriptions() {
    bench.subscribe(.ann, Topics.sessionTopic(Speaker.ann.session))
    for number in 0..<4 as Range<Topic> { bench.subscribe(.ann, Topics.bytes(Topics.firstModel + number)) }
    bench.hello(.ann)
    #expect(bench.subscribe(.ann, Topics.bytes(Topics.firstModel + 9)).cut == [Speaker.ann.subscriber])
  }

  // MARK: Telling

  @Test("the log is told of a name and limit once in ten seconds, and the status how often each has held")
  mutating func told() throws {
    bench.live(.ann)
    let first = bench.send(.ann, writes(1...50))
    #expect(first.notices == [.limited(name: "ann", kind: .writesPerSecond, limit: 10, times: 10)])
    bench.now += 5_000
    #expect(bench.send(.ann, writes(41...95)).notices.isEmpty)
    bench.now += 5_001
    #expect(bench.send(.ann, writes(81...150)).notices.count == 1)
    let status = bench.machine.statusJSON(time: bench.time)["limited"]?.elements ?? []
    #expect(status.map { $0["name"]?.string } == ["ann"])
    #expect(status.first?["writesPerSecond"] == .integer(55))
  }

  @Test("names that use nothing are forgotten: a crowd of them leaves nothing behind")
  mutating func forgotten() {
    for number in 0..<5_000 as Range<UInt64> {
      let peer = Speaker(1_000 + number, "peer")
      identify(peer, "name\(number)")
      bench.hello(peer)
      bench.send(peer, .leave(Leave()))
    }
    #expect(bench.machine.hub.usages.count <= 1_025)
  }
}
