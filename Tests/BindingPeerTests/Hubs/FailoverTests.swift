import BindingProtocol
import Testing

@testable import BindingPeer

/// Sessions of peers with several hubs.
@Suite("A session with several hubs")
struct FailoverTests {
  static let hubs = (0..<3).map { HubPoolTests.hub($0) }
  /// Hubs remember who wrote.
  static let limits: Limits = {
    var limits = Limits()
    limits.identityMilliseconds = 604_800_000
    return limits
  }()
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  /// A session that is live at one of the hubs, which has sent a heartbeat.
  func followed(_ hubs: [HubAddress] = hubs, seed: UInt64 = 1) -> PeerBench {
    var bench = PeerBench(seed: seed)
    bench.session.hubs = HubPool(hubs)
    bench.wait(0)
    bench.live(version: 5, lit, limits: FailoverTests.limits)
    bench.hub(bench.heartbeat(1))
    return bench
  }

  @Test("a lost hub is replaced by another one at once, where the session goes on from its version and its writes")
  func moves() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    let first = try #require(bench.session.hubs.current)
    #expect(bench.lose().pauses == [0])
    #expect(bench.session.hubs.current != first)
    // Another hub has another start, and has not seen this peer.
    bench.start = 8
    bench.open()
    let welcomed = bench.welcome(limits: FailoverTests.limits)
    #expect(welcomed.join.epoch == 100 && welcomed.join.version == 5 && welcomed.join.unacknowledged == 1)
    // It has decided the write before the first hub was lost.
    let drain = bench.catchUp(
      welcomed.request, from: 5, version: 6,
      [Entry(name: "level", value: "0.8", version: 6, origin: PeerBench.me, number: 1)], lastDecided: 1)
    #expect(drain.settled.map(\.id) == [id] && drain.numbers.isEmpty)
    #expect(bench.shown("level") == "0.8")
  }

  @Test("a write that the other hub has not seen is sent there again, under its number")
  func sendsAgain() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    bench.lose()
    bench.start = 8
    bench.open()
    let welcomed = bench.welcome(limits: FailoverTests.limits)
    let drain = bench.hub(
      bench.assigned(welcomed.request), bench.joined(welcomed.request, version: 5, follows: .nothing))
    #expect(drain.numbers == [1])
  }

  @Test("a hub that closes is left at once for those that it names")
  func closes() throws {
    var bench = followed([HubPoolTests.hub(0)])
    bench.hub(.hubs(OtherHubs(session: bench.sessionID, addresses: [HubPoolTests.hub(5)])))
    #expect(bench.hub(bench.error(.closing)).pauses == [0])
    #expect(bench.session.hubs.current == HubPoolTests.hub(5))
  }

  @Test("a draining hub that refuses the hello of a peer with one address names another one, which is tried at once")
  func refusesHello() {
    var bench = PeerBench()
    bench.session.hubs = HubPool([HubPoolTests.hub(0)])
    bench.wait(0)
    bench.open()
    bench.hub(.hubs(OtherHubs(session: bench.sessionID, addresses: [HubPoolTests.hub(5)])))
    #expect(bench.hub(bench.error(.closing)).pauses == [0])
    #expect(bench.session.hubs.current == HubPoolTests.hub(5))
  }

  @Test("the names that another session was told are not taken")
  func otherSession() {
    var bench = followed([HubPoolTests.hub(0)])
    bench.hub(.hubs(OtherHubs(session: bench.sessionID ^ 1, addresses: [HubPoolTests.hub(5)])))
    #expect(bench.session.hubs.addresses == [HubPoolTests.hub(0)])
  }

  @Test("a frame with too many or impossible addresses is dropped and counted, and nothing of it is learned")
  func liar() {
    var bench = followed([HubPoolTests.hub(0)])
    var frame = HubMessage.hubs(OtherHubs(session: bench.sessionID, addresses: [])).encode(start: bench.start)
    frame[17] = 33
    bench.deliver([frame + (0..<33).flatMap { [11] + Array("tcp://a:1\($0 % 10)".utf8) }])
    #expect(bench.session.counters.badFrames == 1)
    #expect(bench.session.hubs.addresses == [HubPoolTests.hub(0)])
  }

  @Test(
    "hubs that welcome and close at once, each naming the other, are asked at most 100 times in 30 s",
    arguments: [1, 2])
  func ring(configured: Int) {
    let hubs = FailoverTests.hubs.prefix(2)
    var bench = PeerBench()
    bench.session.hubs = HubPool(Array(hubs.prefix(configured)))
    bench.wait(0)
    let end = bench.now + 30_000
    var hellos = 0
    while bench.now < end {
      bench.open()
      hellos += 1
      bench.welcome(limits: FailoverTests.limits)
      let others = hubs.filter { $0 != bench.session.hubs.current }
      bench.hub(.hubs(OtherHubs(session: bench.sessionID, addresses: others)))
      let pause = bench.hub(bench.error(.closing)).pauses
      #expect(pause.count == 1)
      bench.now += max(pause.first ?? 0, 1)
    }
    #expect((30...100).contains(hellos))
  }

  @Test("a lapsed session says hello to the same hub again", arguments: [ErrorCode.unknownSession, .staleStart])
  func stays(_ code: ErrorCode) {
    var bench = followed()
    let hub = bench.session.hubs.current
    #expect(bench.hub(bench.error(code)).pauses.allSatisfy { $0 > 0 })
    #expect(bench.session.hubs.current == hub)
  }

  @Test("a full hub is left for another one at once")
  func full() {
    var bench = PeerBench()
    bench.session.hubs = HubPool(FailoverTests.hubs)
    bench.wait(0)
    bench.open()
    #expect(bench.hub(bench.error(.tooManySessions)).pauses == [0])
  }

  // MARK: Another log

  @Test("a hub of another log is left at once; nothing is joined, sent or offered there, and no write is lost")
  func foreign() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    bench.lose()
    let stranger = try #require(bench.session.hubs.current)
    (bench.log, bench.start) = (2, 8)
    bench.open()
    let met = bench.welcome(limits: FailoverTests.limits)
    #expect(met.sent.isEmpty && met.pauses == [0] && met.settled.isEmpty && met.listens.isEmpty)
    #expect(bench.session.counters.otherLogs == 1 && bench.session.logID == 1)
    guard case .misfit(let words)? = met.notices.first else { return #expect(Bool(false), "\(met.notices)") }
    #expect(words.contains("\(stranger)") && words.contains("log 2") && words.contains("Leave out its address"))
    #expect(bench.session.refusal == words)
    let asked = bench.hub(.askOffer(AskOffer(session: bench.sessionID, request: 1, topic: PeerBench.lamp)))
    #expect(asked.offers.isEmpty)
    (bench.log, bench.start) = (1, 9)
    bench.open()
    let back = bench.welcome(limits: FailoverTests.limits)
    #expect(back.join.version == 5 && bench.session.refusal == nil)
    let drain = bench.hub(bench.assigned(back.request), bench.joined(back.request, version: 5, follows: .nothing))
    #expect(drain.numbers == [1] && drain.settled.isEmpty)
    #expect(bench.hub(bench.outcomes((1, .committed(count: 1, version: 6)))).settled.map(\.id) == [id])
  }

  @Test("the same stranger is news once")
  func news() {
    var bench = followed(Array(FailoverTests.hubs.prefix(2)))
    bench.lose()
    var notices: [Notice] = []
    for _ in 0..<6 {
      (bench.log, bench.start) = (2, 8)
      bench.open()
      if bench.session.hubs.current == FailoverTests.hubs[0] {
        bench.lose()
      } else {
        notices += bench.welcome(limits: FailoverTests.limits).notices
      }
    }
    #expect(notices.count <= 1)
  }

  @Test("once every hub has the other log, the peer goes over to it as with one hub")
  func allForeign() throws {
    var bench = followed(Array(FailoverTests.hubs.prefix(2)))
    let id = try bench.set(["level": "0.8"])
    bench.lose()
    (bench.log, bench.start) = (2, 8)
    bench.open()
    // The other hub alone decides nothing.
    #expect(bench.welcome(limits: FailoverTests.limits).settled.isEmpty && bench.session.logID == 1)
    for _ in 0..<20 where bench.session.phase != .live {
      bench.open()
      let drain = bench.welcome(limits: FailoverTests.limits)
      guard bench.session.phase == .live else { continue }
      #expect(drain.settled.map(\.id) == [id] && drain.notices.contains(.otherLog(old: 1, new: 2)))
    }
    #expect(bench.session.logID == 2)
  }
}
