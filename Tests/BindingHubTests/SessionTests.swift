import BindingHub
import BindingProtocol
import Testing

/// Hellos, leases, and remembered identities.
@Suite struct SessionTests {
  var bench = HubBench()

  // MARK: Hello

  @Test("a welcome names session, log, epoch, start, heartbeat, lease and limits")
  mutating func welcome() throws {
    let received = bench.hello(.ann, lease: 9_000)
    let frame = try #require(received.frames(to: .ann).first)
    #expect(frame.header.start == HubBench.start)
    let welcome = try #require(received.welcome(.ann))
    #expect(welcome.session == Speaker.ann.session)
    #expect(welcome.logID == 3)
    #expect(welcome.epoch == HubBench.epoch)
    #expect(welcome.heartbeatMilliseconds == 1_000)
    #expect(welcome.leaseMilliseconds == 9_000)
    #expect(!welcome.knewIdentity)
    #expect(!welcome.mayAskOffers && !welcome.capabilities.contains(Capability.insecure))
  }

  @Test("a welcome says whether the hub may ask for offers, as its tail is not proven, and whether it is insecure")
  mutating func welcomes() {
    bench = HubBench(tailProven: false) { $0.isInsecure = true }
    let welcome = bench.hello(.ann).welcome(.ann)
    #expect(welcome?.mayAskOffers == true && welcome?.capabilities.contains(Capability.insecure) == true)
  }

  @Test(
    "a lease is granted as requested within the hub's bounds; 0 requests the hub's default",
    arguments: [(UInt32(0), UInt32(10_000)), (1, 1_000), (30_000, 30_000), (.max, 60_000)])
  mutating func leaseGiven(_ asked: UInt32, _ given: UInt32) {
    #expect(bench.hello(.ann, lease: asked).welcome(.ann)?.leaseMilliseconds == given)
  }

  @Test("an unsupported protocol number is an error that names the supported ones, and is counted")
  mutating func otherProtocol() throws {
    let received = bench.send(.ann, .hello(Hello(lowest: 1, highest: 3, identity: Speaker.ann.identity)))
    let error = try #require(received.errors(.ann).first)
    #expect(error.code == .otherProtocol)
    #expect(error.text.contains("0 to 0"))
    #expect(received.welcome(.ann) == nil)
    #expect(bench.counters.otherProtocols == 1)
  }

  @Test("a peer of another draft of the protocol is welcomed and counted; one of this draft is not counted")
  mutating func otherDraft() {
    for (draft, counted) in [(Capability.draft, UInt64(0)), ("draft-00c0ffee", 1)] {
      let hello = Hello(identity: Speaker.ann.identity, capabilities: [draft])
      #expect(bench.send(.ann, .hello(hello)).welcome(.ann)?.capabilities.contains(Capability.draft) == true)
      #expect(bench.counters.otherDrafts == counted)
    }
  }

  @Test("a range of protocol numbers that contains the hub's is welcomed with the hub's")
  mutating func protocolWithin() {
    let received = bench.send(.ann, .hello(Hello(lowest: 0, highest: 9, identity: Speaker.ann.identity)))
    #expect(received.welcome(.ann)?.protocolNumber == 0)
  }

  @Test("a hello with another's session number is refused, and that session is not disturbed")
  mutating func takenSession() {
    bench.live(.ann)
    var other = Speaker.ben
    other.session = Speaker.ann.session
    let received = bench.hello(other)
    #expect(received.errors(other).map(\.code) == [.notYours])
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
  }

  @Test("two peers of one name live side by side")
  mutating func sameName() {
    let (one, two) = (Speaker(31, "twin"), Speaker(32, "twin"))
    bench.live(one)
    bench.live(two)
    #expect(bench.write(one, 1, .set("a", "1")) == .committed(1))
    #expect(bench.write(two, 1, .set("a", "2")) == .committed(2))
    #expect(bench.counters.fencedSessions == 0)
  }

  // MARK: Leases (R16)

  @Test("a silent session ends with its lease, and is counted")
  mutating func expires() {
    bench.hello(.ann, lease: 3_000)
    for _ in 0..<2 { bench.wait(1_000) }
    bench.wait(999)
    #expect(bench.counters.expiredLeases == 0)
    bench.wait(1)
    #expect(bench.counters.expiredLeases == 1)
    #expect(bench.send(.ann, .ping(Ping(token: 1))).errors(.ann).map(\.code) == [.unknownSession])
  }

  @Test(
    "any frame renews the lease",
    arguments: [
      PeerMessage.ping(Ping(token: 1)), .alive(Alive(heartbeat: 1)), .askHeads,
      .join([Join(request: 1, model: "lamp")]),
      .propose([]),
    ])
  mutating func renewed(_ message: PeerMessage) {
    bench.hello(.ann, lease: 3_000)
    for _ in 0..<2 { bench.wait(1_000) }
    bench.send(.ann, message)
    for _ in 0..<2 { bench.wait(1_000) }
    bench.wait(999)
    #expect(bench.counters.expiredLeases == 0)
    bench.wait(1)
    #expect(bench.counters.expiredLeases == 1)
  }

  @Test("after a long pause of the hub every session has a full term")
  mutating func pause() {
    bench.hello(.ann, lease: 3_000)
    bench.hello(.ben, lease: 3_000)
    bench.wait(60_000)
    for _ in 0..<2 { bench.wait(1_000) }
    bench.wait(999)
    #expect(bench.counters.expiredLeases == 0)
    bench.wait(1)
    #expect(bench.counters.expiredLeases == 2)
  }

  @Test("the next deadline is not later than the end of a lease")
  mutating func deadline() {
    bench = HubBench { $0.heartbeatMilliseconds = 5_000 }
    bench.hello(.ann, lease: 1_000)
    #expect(bench.machine.nextDeadline == bench.now + 1_000)
  }

  // MARK: Leaving (R11)

  @Test("an identity that leaves with nothing unacknowledged is forgotten")
  mutating func leaves() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 1, applied: 1)])))
    bench.send(.ann, .leave(Leave()))
    #expect(bench.counters.forgottenIdentities == 1)
    let again = Speaker.ann.again(21)
    let received = bench.live(again)
    #expect(received.welcome(again)?.knewIdentity == false)
    #expect(received.joined(again).map(\.lastDecided) == [0])
  }

  @Test("an identity that leaves is forgotten also while another's proposal is being decided")
  mutating func leavesAmongOthers() {
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 1, applied: 1)])))
    bench.together([(.ben, .propose([.of(1, [.set("a", "2")])])), (.ann, .leave(Leave()))])
    let again = Speaker.ann.again(21)
    #expect(bench.live(again).joined(again).map(\.lastDecided) == [0])
  }

  @Test("writers keep their own numbers when an earlier writer is forgotten")
  mutating func writesAfterOneWasForgotten() {
    bench.live(.ann)
    bench.live(.ben)
    bench.live(.cat)
    bench.write(.ann, 1, .set("a", "1"))
    bench.write(.ben, 1, .set("a", "2"))
    bench.write(.cat, 1, .set("a", "3"))
    bench.write(.cat, 2, .set("a", "4"))
    bench.send(
      .ann, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 1, applied: 1)])),
      .leave(Leave()))
    #expect(bench.write(.ben, 2, .set("a", "5")) == .committed(5))
    #expect(bench.write(.cat, 3, .set("a", "6")) == .committed(6))
    #expect(bench.counters.forgottenIdentities == 1)
  }

  @Test("a session that left a model is refused there until it joins again")
  mutating func leavesAndComesBack() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    let received = bench.send(.ann, .propose([.of(2, [.set("a", "2")])]))
    #expect(received.errors(.ann).map(\.code) == [.notJoined])
    bench.join(.ann, Join(request: 2, model: "lamp"))
    #expect(bench.write(.ann, 2, .set("a", "2")) == .committed(2))
  }

  @Test("a hub that starts with its log knows the identities with numbers in it")
  mutating func knownFromTheLog() throws {
    let store = LogStore()
    bench = HubBench(store: store)
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench = HubBench(store: store, stored: try store.loadAll())
    #expect(bench.live(.ann).welcome(.ann)?.knewIdentity == true)
    #expect(bench.write(.ann, 1, .set("a", "1")) == .committed(1))
    #expect(bench.live(.ben).welcome(.ben)?.knewIdentity == false)
  }

  @Test("an outcome is kept for an identity that left until it is confirmed")
  mutating func outcomeIsKept() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .leave(Leave()))
    let again = Speaker.ann.again(21)
    #expect(bench.live(again).welcome(again)?.knewIdentity == true)
    #expect(bench.write(again, 1, .set("a", "1")) == .committed(1))
  }

  @Test("a confirmed outcome is not reported again")
  mutating func confirmed() {
    bench.live(.ann)
    bench.write(.ann, 1, .set("a", "1"))
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 1, applied: 1)])))
    #expect(bench.write(.ann, 1, .set("a", "1")) == nil)
  }

  @Test("a session that leaves one model goes on in the others")
  mutating func leavesModel() {
    bench.live(.ann)
    bench.join(.ann, Join(request: 2, model: "fan"), topic: HubBench.lamp + 1)
    bench.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    let received = bench.send(
      .ann, .propose([.of(1, [.set("a", "1")]), .of(1, [.set("a", "1")], topic: HubBench.lamp + 1)]))
    #expect(received.errors(.ann).map(\.code) == [.notJoined])
    #expect(received.outcomes(.ann, topic: HubBench.lamp + 1) == [1: .committed(1)])
  }

  @Test("a hub that shuts down sends `closing` to every session")
  mutating func closing() {
    bench.hello(.ann)
    bench.hello(.ben)
    let received = bench.act { machine, _, output in machine.close(into: &output) }
    #expect(received.errors(.ann).map(\.code) == [.closing])
    #expect(received.errors(.ben).map(\.code) == [.closing])
  }

  @Test("the status reports how many versions a session lags, by its last report")
  mutating func lag() {
    bench.live(.ann)
    bench.live(.ben)
    for number in 1...5 { bench.write(.ann, ProposalNumber(number), .set("level", "\(number)")) }
    func lags() -> [String: JSON] {
      let sessions = bench.machine.statusJSON(time: bench.time)["sessions"]?.elements ?? []
      return Dictionary(sessions.map { ($0["name"]?.string ?? "", $0["lag"] ?? nil) }) { $1 }
    }
    bench.send(.ann, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 5, applied: 5)])))
    bench.send(.ben, .alive(Alive(heartbeat: 1, entries: [.init(topic: HubBench.lamp, confirmed: 0, applied: 2)])))
    #expect(lags() == ["ann": 0, "ben": 3])
    bench.send(.ben, .alive(Alive(heartbeat: 2, entries: [.init(topic: HubBench.lamp, confirmed: 0, applied: 5)])))
    #expect(lags() == ["ann": 0, "ben": 0])
  }
}
