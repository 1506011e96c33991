import BindingProtocol
import Testing

@testable import BindingPeer

/// Fields that expire, at a peer (protocol.md §8.1): late writes, and a reader that does not hear the hub.
@Suite("Fields that expire, at a peer")
struct ExpirySessionTests {
  static let drive = """
    {"fields":{"speed":{"default":0,"expires":500},"lift":{"default":0,"expires":5000},"pulse":{"expires":500}}}
    """
  static let driving = [
    Entry(name: "@description", value: drive, version: 1), Entry(name: "speed", value: "0.4", version: 2),
    Entry(name: "lift", value: "7", version: 3), Entry(name: "pulse", value: "1", version: 4),
    Entry(name: "name", value: "2", version: 5),
  ]
  private var bench = PeerBench()

  init() { bench.live(version: 5, Self.driving) }

  // MARK: Readers

  /// Ticks whenever a tick is due, and nothing else, until a time has passed.
  private mutating func pass(_ milliseconds: UInt64) -> [String] {
    let end = bench.now + milliseconds
    var changes: [String] = []
    while bench.session.nextDeadline <= end {
      let next = max(bench.session.nextDeadline, bench.now)
      changes += bench.wait(next - bench.now).changes
    }
    changes += bench.wait(end - bench.now).changes
    return changes
  }

  @Test("a reader that hears nothing shows the default after its limit, and at least 2.5 heartbeats, by its own timer")
  mutating func cutOff() {
    #expect(pass(2_499).isEmpty)
    #expect(pass(1).sorted() == ["pulse 1 -", "speed 0.4 0"])
    #expect(bench.shown("lift") == "7" && bench.shown("name") == "2")
    #expect(bench.session.fieldRecord("lamp", "speed")?.isExpired == true)
    #expect(bench.session.fieldRecord("lamp", "speed")?.committed == json("0.4"))
    #expect(bench.session.fieldRecord("lamp", "lift")?.isExpired == false)
    #expect(pass(2_499).isEmpty, "the link was found dead meanwhile, and a limit counts from the last heartbeat")
    #expect(pass(1) == ["lift 7 0"])
  }

  @Test("heartbeats keep a value for ever; other frames do not: only heartbeats prove that commits arrive")
  mutating func heartbeats() {
    for number in 1...20 as ClosedRange<UInt64> {
      bench.now += 1_000
      #expect(bench.hub(bench.heartbeat(number)).changes.isEmpty)
    }
    bench.now += 2_400
    #expect(bench.hub(.pong(Pong(session: bench.sessionID, token: 1))).changes.isEmpty)
    #expect(pass(100).sorted() == ["pulse 1 -", "speed 0.4 0"])
  }

  @Test("the committed value shows again when the hub is heard, and observers are told once more")
  mutating func back() {
    _ = pass(2_500)
    let drain = bench.hub(bench.heartbeat(1))
    #expect(drain.changes.sorted() == ["pulse - 1", "speed 0 0.4"])
    #expect(drain.updates.map(\.cause) == [.expired])
    #expect(bench.session.fieldRecord("lamp", "speed")?.isExpired == false)
  }

  @Test("after a new welcome the value shows only once the model is current again")
  mutating func backAfterWelcome() {
    bench.lose()
    _ = pass(3_000)
    #expect(bench.shown("speed") == "0")
    bench.open()
    let request = bench.welcome(knew: true).request
    #expect(bench.shown("speed") == "0", "the replica may be old")
    bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .nothing))
    #expect(bench.shown("speed") == "0.4")
  }

  @Test("a fallback of the hub that was missed shows at once with the catch-up")
  mutating func backToFallback() {
    bench.lose()
    _ = pass(3_000)
    bench.open()
    let request = bench.welcome(knew: true).request
    var fields = Self.driving
    fields[1] = Entry(
      name: "speed", value: "0", version: 6, origin: Origin(tag: .none, name: "expiry"), number: 0)
    #expect(!bench.catchUp(request, version: 6, fields).changes.contains("speed 0 0.4"))
    #expect(bench.shown("speed") == "0")
    #expect(bench.session.fieldRecord("lamp", "speed")?.isExpired == false)
    #expect(pass(3_000).filter { $0.hasPrefix("speed") }.isEmpty, "the default has no term")
  }

  @Test("an own write shows over the default, as it does over a value")
  mutating func ownWrite() throws {
    bench.lose()
    _ = pass(3_000)
    try bench.set(["speed": "0.9"])
    #expect(bench.shown("speed") == "0.9")
    #expect(pass(500).filter { $0.hasPrefix("speed") } == ["speed 0.9 0"])
  }

  @Test("without a limit in the description nothing expires any more")
  mutating func redescribed() {
    bench.hub(bench.commits(after: 5, [[0: "{}"]], names: NamesRun(first: 5)))
    #expect(bench.session.nextDeadline > bench.now + 2_500)
    #expect(pass(2_900).isEmpty)
  }

  @Test("what a program declares holds before any description; of two limits the shorter counts")
  mutating func declared() throws {
    bench = PeerBench()
    bench.join()
    _ = bench.act { session, now, effects in
      session.declare(
        ["speed": FieldExpiry(milliseconds: 300, fallback: json("0"))], in: "lamp", now: now, into: &effects)
    }
    let write = try bench.set(["speed": "1"])
    #expect(bench.wait(299).settled.isEmpty)
    #expect(bench.wait(1).settled.map(\.id) == [write])
    bench.live(version: 5, Self.driving)
    bench.lose()
    try bench.set(["speed": "1"])
    #expect(bench.wait(300).outcomes == [.expired])
  }

  // MARK: Writers

  @Test("a write that was not sent in time ends as expired, whatever its offline rule", arguments: [false, true])
  mutating func lateUnsent(wins: Bool) throws {
    bench.lose()
    _ = try bench.act { session, now, effects throws(WriteError) in
      _ = try session.write(
        .set(["speed": "0.9"]), offline: wins ? ["speed": .wins] : [:], to: "lamp", now: now, into: &effects)
    }
    #expect(pass(499).isEmpty && bench.shown("speed") == "0.9")
    #expect(pass(1) == ["speed 0.9 0.4"])
    bench.open()
    let request = bench.welcome(knew: true).request
    let drain = bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .nothing))
    #expect(drain.proposals.isEmpty)
  }

  @Test("a write that is late when the process wakes up is not sent, even before a tick")
  mutating func lateAtWaking() throws {
    bench.lose()
    let write = try bench.set(["speed": "0.9"])
    bench.open()
    let request = bench.welcome(knew: true).request
    bench.now += 60_000
    let drain = bench.hub(bench.assigned(request), bench.joined(request, version: 5, follows: .nothing))
    #expect(drain.proposals.isEmpty && drain.settled.map(\.id) == [write] && drain.outcomes == [.expired])
  }

  @Test("a write in flight is sent again as void when it is late, shows no longer, and ends as the hub says")
  mutating func lateInFlight() throws {
    let (write, sent) = try bench.write(.set(["speed": "0.9"]))
    #expect(sent.numbers == [1])
    let drain = bench.wait(500)
    #expect(drain.proposals.map(\.isVoid) == [true] && drain.numbers == [1])
    #expect(drain.changes == ["speed 0.9 0.4"] && drain.settled.isEmpty)
    let end = bench.hub(bench.outcomes((1, .expired)))
    #expect(end.settled.map(\.id) == [write] && end.outcomes == [.expired])
  }

  @Test("a late write that had been committed in time ends as committed")
  mutating func lateButCommitted() throws {
    let (write, _) = try bench.write(.set(["speed": "0.9"]))
    bench.wait(500)
    let commit = bench.commits(after: 5, [[1: "0.9"]], own: [0: 1], names: NamesRun(first: 5))
    let end = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))), commit)
    #expect(end.settled.map(\.id) == [write])
    guard case .committed? = end.outcomes.first else { return #expect(Bool(false), "\(end.outcomes)") }
    #expect(bench.shown("speed") == "0.9")
  }

  @Test("a late write stays hidden and void through a new epoch")
  mutating func lateThroughEpoch() throws {
    try bench.set(["speed": "0.9"])
    bench.lose()
    bench.wait(600)
    bench.epoch += 1 << 32
    let drain = bench.live(version: 5, Self.driving, knew: true)
    #expect(drain.proposals.map(\.isVoid) == [true] && bench.shown("speed") == "0.4")
  }

  @Test("a proposal with one field that expires ends as a whole")
  mutating func whole() throws {
    bench.lose()
    try bench.set(["speed": "0.9", "name": "3", "lift": "8"])
    #expect(pass(499).isEmpty)
    #expect(pass(1).sorted() == ["lift 8 7", "name 3 2", "speed 0.9 0.4"])
  }

  @Test("a default that is proposed with the description is no such write")
  mutating func weakDefault() throws {
    bench.lose()
    try bench.write(
      Proposal(operations: [
        FieldOperation(.setIfAbsent, "speed", json("0.0")), FieldOperation(.setIfAbsent, "other", json("1")),
      ]))
    #expect(bench.wait(10_000).settled.isEmpty)
    try bench.write(.one(.setIfAbsent, "speed", "1"))
    #expect(bench.wait(500).outcomes == [.expired])
  }

  @Test("such a write is not kept in the outbox, but the number that it used is")
  mutating func unkept() throws {
    bench = PeerBench(keepsOutbox: true)
    bench.live(version: 5, Self.driving)
    let (_, first) = try bench.write(.set(["speed": "0.9"]))
    // A reader of the file ignores the number of a write that it does not know.
    #expect(
      first.entries == [.counted(model: "lamp", last: 1), .numbered(WriteID(rawValue: 1), 1, conditions: [])])
    let (_, second) = try bench.write(.set(["name": "3"]))
    #expect(second.entries.count == 2)
    let late = bench.wait(500)
    #expect(late.proposals.map(\.isVoid) == [true] && late.entries == [.withdrawn(WriteID(rawValue: 1))])
  }

  @Test("what an older version kept of such a write is given up by the run that finds it", arguments: [true, false])
  mutating func earlierRun(wasSent: Bool) throws {
    let kept = KeptWrite(
      id: WriteID(rawValue: 1), model: "lamp", proposal: .set(["speed": "0.9"]), time: 1, seen: [],
      number: wasSent ? 1 : nil)
    let run = PreviousRun(
      number: 1, identity: PeerBench.identity, log: 1, epoch: 100, lastNumbers: wasSent ? ["lamp": 1] : [:],
      writes: [kept])
    bench = PeerBench(Session(resuming: run, seed: 1, now: 1_000, wall: 1))
    let drain = bench.live(version: 5, Self.driving, knew: true)
    #expect(drain.proposals.map(\.isVoid) == (wasSent ? [true] : []))
    #expect(drain.outcomes == (wasSent ? [] : [.expired]))
  }
}
