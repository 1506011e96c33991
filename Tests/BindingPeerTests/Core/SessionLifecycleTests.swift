import BindingPeer
import Testing

@Suite("A session survives losses")
struct SessionLifecycleTests {
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  func followed(options: SessionOptions = SessionOptions()) -> PeerBench {
    var bench = PeerBench(options: options)
    bench.live(version: 5, lit)
    return bench
  }

  @Test("a session requests its first connection immediately")
  func first() {
    var bench = PeerBench()
    #expect(bench.wait(0).pauses == [0])
    #expect(bench.session.phase == .connecting)
    #expect(bench.wait(100).pauses.isEmpty)
  }

  @Test("a hello without a welcome is given up after two seconds, with pauses that grow up to a second")
  func helloAgain() {
    var bench = PeerBench()
    var pauses: [UInt64] = []
    for _ in 0..<8 {
      bench.open()
      #expect(bench.wait(1_999).pauses.isEmpty)
      pauses += bench.wait(1).pauses
    }
    #expect(pauses.count == 8)
    for (turn, pause) in pauses.enumerated() {
      let whole = min(1_000, 50 << turn)
      #expect((whole / 2...whole).contains(Int(pause)))
    }
  }

  @Test("every hello has its own session number, and those after the first welcome resume")
  func hellos() {
    var bench = followed()
    let first = bench.sessionID
    bench.lose()
    let hello = bench.open().hellos.first
    #expect(hello?.isResuming == true && bench.sessionID != first)
    #expect(hello?.identity.tag == PeerBench.own)
  }

  @Test("a welcome to another session is ignored")
  func otherWelcome() {
    var bench = PeerBench()
    bench.open()
    let right = bench.sessionID
    bench.sessionID = right ^ 1
    #expect(bench.welcome().phases.isEmpty)
    bench.sessionID = right
    #expect(bench.welcome().phases == [.live])
  }

  @Test("silence for more than three heartbeats leads to a new connection")
  func silence() {
    var bench = followed()
    #expect(bench.wait(3_000).pauses.isEmpty)
    let drain = bench.wait(1_000)
    #expect(drain.pauses.count == 1 && drain.notices == [.reopening(.silence)])
  }

  @Test("the lease is renewed at least at every third of it, without any heartbeat")
  func lease() {
    var bench = followed()
    #expect(bench.session.nextDeadline <= bench.now + 3_000)
    #expect(bench.wait(3_000).alives.count == 1)
  }

  @Test("shown values survive a lost connection, and writes go on")
  func offline() throws {
    var bench = followed()
    bench.lose()
    #expect(bench.shown("level") == "0.3")
    #expect(try bench.write(.set(["level": "0.9"])).drain.changes == ["level 0.3 0.9"])
  }

  @Test("after a new welcome the join names the replica's version, and unacknowledged writes are resent in order")
  func resumes() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    try bench.set(["on": "false"])
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    bench.lose()
    try bench.set(["name": "1"])
    bench.open()
    let welcomed = bench.welcome(knew: true)
    #expect(welcomed.numbers.isEmpty)
    let join = welcomed.join
    #expect(join.version == 5 && join.epoch == 100 && join.unacknowledged == 2 && join.namesKnown == 0)
    let drain = bench.hub(
      bench.assigned(join.request), bench.joined(join.request, version: 5, lastDecided: 1, follows: .nothing))
    #expect(drain.numbers == [2, 3])
  }

  @Test("a fenced session stops: no new connection, writes throw, pending writes end as unknown")
  func fenced() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    let drain = bench.hub(bench.error(.fenced))
    #expect(drain.phases == [.stopped(.fenced)] && drain.isClosed && drain.pauses.isEmpty)
    #expect(drain.settled.map(\.id) == [id])
    #expect(drain.changes == ["level 0.8 0.3"])
    #expect(throws: WriteError.stopped(.fenced)) { try bench.set(["level": "1"]) }
    #expect(bench.open().hellos.isEmpty && bench.lose().pauses.isEmpty && bench.session.nextDeadline == .max)
  }

  @Test("another protocol and a wrong secret stop the session as well")
  func otherEnds() {
    var first = followed()
    #expect(first.hub(first.error(.otherProtocol)).phases == [.stopped(.otherProtocol("because"))])
    var second = followed()
    #expect(second.hub(second.error(.notYours)).phases == [.stopped(.notYours)])
  }

  @Test("another fatal error leads to a new connection, a non-fatal error to nothing")
  func errors() {
    for code in [ErrorCode.staleStart, .unknownSession, .closing] {
      var bench = followed()
      #expect(bench.hub(bench.error(code)).pauses.count == 1)
    }
    var bench = followed()
    let drain = bench.hub(bench.error(.overLimit, fatal: false))
    #expect(drain.pauses.isEmpty && drain.phases.isEmpty)
    #expect(drain.notices == [.hubError(code: .overLimit, fatal: false, text: "because")])
  }

  @Test("a closing session sends a leave, and its pending writes end as unknown")
  func bye() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let drain = bench.act { session, now, output in session.bye(now: now, into: &output) }
    #expect(drain.sent == [.leave(Leave())] && drain.phases == [.stopped(.closed)] && drain.isClosed)
    #expect(drain.settled.count == 1)
  }

  @Test("a model is left once its pending writes have outcomes")
  func leaves() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let asked = bench.act { session, now, output in session.leave("lamp", now: now, into: &output) }
    #expect(asked.unsubscribed.isEmpty)
    let left = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(left.unsubscribed == [PeerBench.lamp] && left.sent.last == .leave(Leave(topics: [PeerBench.lamp])))
    // The confirmation lets the hub forget the outcome.
    guard case .alive(let alive)? = left.sent.first else { return #expect(Bool(false), "it left without an alive") }
    #expect(alive.entries.map(\.confirmed) == [1])
    #expect(left.outcomes.count == 1)
  }

  @Test("a model that was left and joined again continues its numbers")
  func numbersGoOn() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    _ = bench.act { session, now, output in session.leave("lamp", now: now, into: &output) }
    let join = bench.join().join
    #expect(join.unacknowledged == 2)
    bench.catchUp(join.request, version: 6, lit, lastDecided: 1)
    #expect(try bench.write(.set(["level": "0.9"])).drain.numbers == [2])
  }

  @Test(
    "in a new epoch the replica stays until its snapshot arrives; then numbered writes are resent unchanged")
  func newEpoch() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    bench.lose()
    bench.epoch = 101
    bench.start = 8
    bench.open()
    let welcomed = bench.welcome()
    #expect(welcomed.notices == [.newEpoch(old: 100, new: 101)] && bench.shown("on") == "true")
    #expect(welcomed.join.epoch == 100 && welcomed.join.version == 5)
    let drain = bench.catchUp(
      welcomed.request, version: 1, [Entry(name: "level", value: "0.3", version: 1)])
    #expect(drain.numbers == [1] && drain.changes == ["on true -"])
    #expect(bench.session.version(of: "lamp") == (101, 1) && bench.shown("level") == "0.8")
  }

  @Test("an offer contains the committed values of the old epoch, without pending writes")
  func offer() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    bench.lose()
    bench.epoch = 101
    bench.start = 8
    bench.open()
    let request = bench.welcome().request
    let drain = bench.hub(
      bench.assigned(request),
      .askOffer(AskOffer(session: bench.sessionID, request: 77, topic: PeerBench.lamp)))
    let offer = try #require(drain.offers.first)
    #expect(offer.request == 77 && offer.epoch == 100 && offer.version == 5 && offer.isLast)
    #expect(offer.fields.map(\.name).sorted() == ["level", "on"])
    let level = offer.fields.first { $0.name == "level" }
    #expect(level?.value == json("0.3") && level?.version == 4 && level?.origin == PeerBench.other)
  }

  @Test("a large offer is sent in chunks, of which only the last is marked")
  func largeOffer() {
    var limits = Limits()
    limits.chunkBytes = 1_000
    var bench = PeerBench()
    bench.live(version: 1, (0..<40).map { Entry(name: "f\($0)", value: "\"\($0)\"", version: 1) }, limits: limits)
    let drain = bench.hub(.askOffer(AskOffer(session: bench.sessionID, request: 1, topic: PeerBench.lamp)))
    #expect(drain.offers.count > 1)
    #expect(drain.offers.map(\.chunk) == (0..<UInt32(drain.offers.count)).map { $0 })
    #expect(drain.offers.map(\.isLast) == drain.offers.indices.map { $0 == drain.offers.count - 1 })
    #expect(Set(drain.offers.flatMap(\.fields).map(\.name)).count == 40)
  }

  @Test("in another log pending writes end as unknown, and the replica is neither offered nor sent")
  func otherLog() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    bench.lose()
    bench.log = 2
    bench.start = 8
    bench.open()
    let drain = bench.welcome()
    #expect(drain.notices.first == .otherLog(old: 1, new: 2))
    #expect(drain.settled.map(\.id) == [id])
    #expect(drain.join.epoch == 0 && drain.join.version == 0 && drain.join.unacknowledged == 2)
    let asked = bench.hub(
      bench.assigned(drain.request),
      .askOffer(AskOffer(session: bench.sessionID, request: 1, topic: PeerBench.lamp)))
    #expect(asked.offers.flatMap(\.fields).isEmpty)
    #expect(bench.catchUp(drain.request, version: 1, []).numbers.isEmpty)
  }

  @Test("back at the first log, the replica that was set aside shows again and continues from its version")
  func backAtTheFirstLog() {
    var bench = followed()
    for (log, start) in [(2, 8), (1, 9)] as [(LogID, StartNumber)] {
      bench.lose()
      bench.log = log
      bench.start = start
      bench.open()
      let drain = bench.welcome()
      #expect(drain.join.version == (log == 1 ? 5 : 0))
      if log == 2 { bench.catchUp(drain.request, version: 1, []) }
    }
    #expect(bench.session.fieldRecord("lamp", "level")?.committed == json("0.3"))
  }

  @Test(
    "forgotten by the hub, a plain set is resent as compare-and-set; other writes end as unknown")
  func unknownIdentity() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let add = try bench.write(.one(.add, "count", "1")).id
    bench.lose()
    bench.open()
    let drain = bench.welcome(knew: false)
    #expect(drain.notices == [.unknownIdentity] && drain.settled.map(\.id) == [add])
    #expect(drain.join.unacknowledged == 3)
    let sent = bench.catchUp(drain.request, version: 5, lit, lastDecided: 2).proposals
    #expect(sent.map(\.number) == [3])
    #expect(sent.first?.conditions.map(\.version) == [4] && sent.first?.conditions.map(\.epoch) == [100])
  }

  /// A plain set that waits unsent while another peer's snapshot arrives.
  func waited(_ milliseconds: UInt64, _ now: [Entry]) throws -> [NumberedProposal] {
    var bench = followed()
    bench.lose()
    try bench.set(["level": "0.8"])
    bench.now += milliseconds
    return bench.live(version: 6, now, knew: true).proposals
  }

  @Test(
    "a plain set that waited ten seconds is sent as compare-and-set where others changed the field")
  func oldYields() throws {
    let changed = try waited(10_000, [Entry(name: "level", value: "0.1", version: 6), lit[1]])
    #expect(changed.first?.conditions.map(\.version) == [4] && changed.first?.conditions.map(\.epoch) == [100])
  }

  @Test("a plain set that waited less, or whose field is untouched, is sent unchanged")
  func youngWins() throws {
    let young = try waited(9_999, [Entry(name: "level", value: "0.1", version: 6), lit[1]])
    #expect(young.first?.conditions.isEmpty == true)
    let untouched = try waited(60_000, [lit[0], Entry(name: "on", value: "false", version: 6)])
    #expect(untouched.first?.conditions.isEmpty == true)
  }

  @Test("a ping is answered with its token")
  func ping() {
    var bench = followed()
    let drain = bench.act { session, now, output in session.ping(42, now: now, into: &output) }
    #expect(drain.sent == [.ping(Ping(token: 42))])
    #expect(bench.hub(.pong(Pong(session: bench.sessionID, token: 42))).pongs == [42])
  }
}
