import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("A session that keeps its replicas")
struct KeepingTests {
  private let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "n", value: "1", version: 5)]
  private let wall: UInt64 = 1_700_000_000_000

  private func keeping(_ stored: KeptReplicas = KeptReplicas(), defers: Bool = false, prefixes: [String] = [""])
    -> PeerBench
  {
    PeerBench(
      Session(
        identity: PeerBench.identity, seed: 1, now: 1_000, keepsOutbox: true,
        keeping: KeepChoice(prefixes: prefixes, defersOutcomes: defers), stored: stored, wall: wall))
  }

  private func take(_ bench: inout PeerBench) -> KeepBatch {
    bench.session.takeKeeping(wall: wall + bench.now - 1_000, now: bench.now)
  }

  private func kept(_ bench: inout PeerBench) -> KeptReplicas {
    var kept = KeptReplicas()
    for record in take(&bench).records { kept.apply(record) }
    return kept
  }

  @Test("what changed is one record: first the whole replica, then the changed fields, then nothing")
  func records() throws {
    var bench = keeping()
    bench.live(version: 5, lit)
    let whole = try #require(take(&bench).records.first)
    #expect(whole.isWhole && whole.version == 5 && whole.fields.map(\.name) == ["level", "n"] && whole.isComplete)
    #expect(take(&bench).isEmpty)
    bench.hub(bench.commits(after: 5, [[0: "0.4"], [0: nil]]))
    let change = try #require(take(&bench).records.first)
    #expect(!change.isWhole && change.base == 5 && change.version == 7 && change.fields.map(\.name) == ["level"])
    #expect(change.fields.first?.value == nil && change.fields.first?.version == 7)
    #expect(take(&bench).isEmpty)
  }

  @Test("a pending write is not in the record, and names below no prefix and ephemeral models are not kept")
  func committedOnly() throws {
    var bench = keeping(prefixes: ["shop/", "lamp"])
    bench.live(version: 5, lit)
    try bench.set(["level": "0.9"])
    bench.join("lamps")
    bench.join(Names.ephemeral("lamp"))
    let records = take(&bench).records
    #expect(records.map(\.model) == ["lamp"] && records[0].fields.first?.value == json("0.3"))
    let choice = KeepChoice(prefixes: ["shop/", "lamp"])
    #expect(choice.keeps("shop/a") && !choice.keeps("shop") && !choice.keeps("lamp/a") && KeepChoice().keeps("x"))
  }

  @Test("a start shows the kept values, stale since the file's time, and asks for what was committed since")
  func restores() throws {
    var first = keeping()
    first.live(version: 5, lit)
    var bench = keeping(kept(&first))
    bench.now = 1_500
    let update = try #require(bench.join().updates.first)
    #expect(update.cause == .snapshot && update.version == 5 && bench.shown("level") == "0.3")
    #expect(bench.session.syncState(of: "lamp").staleSince == 1_000 && bench.session.isFromFile("lamp"))
    bench.open()
    let join = bench.welcome().join
    #expect(join.epoch == 100 && join.version == 5 && join.namesKnown == 0)
    let end = bench.catchUp(join.request, from: 5, version: 6, [Entry(name: "level", value: "0.4", version: 6)])
    #expect(bench.shown("level") == "0.4" && bench.shown("n") == "1" && end.updates.first?.cause == .delta(from: 5))
    #expect(!bench.session.isFromFile("lamp") && take(&bench).records.first?.base == 5)
  }

  @Test("values that are older than the clock began keep their age")
  func older() {
    var kept = KeptReplicas()
    kept.apply(record(5, time: wall - 7_200_000, ["level": "0.3"]))
    var bench = keeping(kept)
    bench.join()
    #expect(bench.session.syncState(of: "lamp").staleSince == 1_000 - 7_200_000)
  }

  @Test("a write that the replica contains shows once after a start, one that it lacks shows over it")
  func overlaysOnce() throws {
    var first = keeping()
    first.live(version: 5, lit)
    var entries = try first.write(.one(.add, "n", "1")).drain.entries
    entries += try first.write(.one(.add, "n", "1")).drain.entries
    // The first one is in the replica; the outcome has not arrived.
    first.hub(first.commits(after: 5, [[1: "2"]], own: [0: 1]))
    #expect(first.shown("n") == "3")
    let replicas = kept(&first)
    #expect(replicas[1, "lamp"]?.marks == [PeerBench.own: 1])
    var content = OutboxContent()
    content.apply(OutboxRecord(run: 1, content: .began(PeerBench.identity)), bytes: 1)
    for entry in entries { content.apply(OutboxRecord(run: 1, content: .entry(entry)), bytes: 1) }
    let run = try #require(content.unfinished.first)
    #expect(run.writes.count == 2)
    let next = Identity(secret: Secret(high: 8, low: 9), name: "next")
    var session = Session(
      identity: next, seed: 1, now: 1_000, keepsOutbox: true, keeping: KeepChoice(), stored: replicas, wall: wall)
    _ = session.carry(run, wall: wall)
    var bench = PeerBench(session)
    bench.join()
    #expect(bench.shown("n") == "3")
    // The marks of earlier runs stay in the file as long as they have writes.
    bench.live(version: 6, [Entry(name: "level", value: "0.3", version: 4), Entry(name: "n", value: "2", version: 6)])
    #expect(take(&bench).records.first?.marks.map(\.number) == [1])
  }

  @Test(
    "a replica from disk is told to a hub of its epoch or the next one; to a later one only if that recovers",
    arguments: [(100 as Epoch, false, true), (101, false, true), (102, false, false), (102, true, true)])
  func witness(epoch: Epoch, recovers: Bool, isTold: Bool) {
    var stored = KeptReplicas()
    stored.apply(record(5, epoch: 100 << 32 | 7, ["level": "0.3"]))
    var bench = keeping(stored)
    bench.epoch = epoch == 100 ? 100 << 32 | 7 : epoch << 32 | 9
    if recovers { bench.capabilities = [Capability.recovering] }
    bench.join()
    bench.open()
    let join = bench.welcome().join
    #expect((join.version == 5) == isTold && (join.epoch != 0) == isTold && bench.shown("level") == "0.3")
    let asked = bench.hub(
      bench.assigned(join.request),
      .askOffer(AskOffer(session: bench.sessionID, request: join.request, topic: PeerBench.lamp)))
    #expect(asked.offers.isEmpty == !isTold)
    // Whatever the hub has replaces it.
    bench.catchUp(join.request, version: 2, [Entry(name: "on", value: "true", version: 2)])
    #expect(bench.shown("level") == nil && bench.shown("on") == "true")
  }

  @Test("at a hub of another log nothing of the replica shows or is sent, and it is there when its hub returns")
  func otherLog() {
    var stored = KeptReplicas()
    stored.apply(record(5, log: 7, ["level": "0.3"]))
    var bench = keeping(stored)
    bench.join()
    bench.open()
    let drain = bench.welcome()
    #expect(drain.notices.contains(.otherLog(old: 7, new: 1)) && drain.join.version == 0)
    #expect(bench.shown("level") == nil)
    bench.catchUp(drain.request, version: 2, [Entry(name: "on", value: "true", version: 2)])
    var kept = stored
    for record in take(&bench).records { kept.apply(record) }
    #expect(kept[7, "lamp"]?.version == 5 && kept[1, "lamp"]?.version == 2)
    bench.lose()
    bench.log = 7
    bench.open()
    #expect(bench.welcome().join.version == 5 && bench.shown("level") == "0.3")
  }

  @Test("the values of a model that may not be read any more are dropped, from the file too")
  func dropped() throws {
    var first = keeping()
    first.live(version: 5, lit)
    let stored = kept(&first)
    var bench = keeping(stored)
    bench.join()
    bench.open()
    bench.welcome()
    let text = "lamp: anna lacks the right read"
    bench.hub(.error(ErrorMessage(session: bench.sessionID, code: .notPermitted, isFatal: false, text: text)))
    #expect(bench.shown("level") == nil)
    let batch = take(&bench)
    #expect(batch.dropped.map(\.model) == ["lamp"] && batch.records.isEmpty && take(&bench).isEmpty)
  }

  @Test("with .disk an outcome shows at once, is recorded after the replica, and confirmed after that is stored")
  func defers() throws {
    var bench = keeping(defers: true)
    bench.live(version: 5, lit)
    let id = try bench.set(["level": "0.8"])
    let end = bench.hub(
      bench.outcomes((1, .committed(count: 1, version: 6))), bench.commits(after: 5, [[0: "0.8"]], own: [0: 1]))
    #expect(end.settled.count == 1 && end.entries.isEmpty)
    func confirmed(_ number: UInt64) -> ProposalNumber? {
      bench.hub(bench.heartbeat(number)).alives.first?.entries.first?.confirmed
    }
    #expect(confirmed(1) == 0)
    let first = take(&bench)
    #expect(first.records.map(\.version) == [6] && first.entries.isEmpty)
    bench.session.finishKeeping(first, isStored: true)
    #expect(bench.session.isKeepingDue && bench.session.hasDeferredOutcomes)
    let second = take(&bench)
    #expect(second.entries == [.decided(id, .committed)])
    try bench.set(["on": "true"])
    #expect(bench.session.hasDeferredOutcomes)
    bench.session.finishKeeping(second, isStored: true)
    #expect(!bench.session.hasDeferredOutcomes)
    bench.hub(bench.commits(after: 6, [[1: "7"]]))
    #expect(confirmed(2) == 1)
  }

  @Test("with .disk what ends because the hub has forgotten this peer is recorded before the join of its number")
  func forgotten() throws {
    var bench = keeping(defers: true)
    bench.live(version: 5, lit)
    let add = try bench.write(.one(.add, "count", "1")).id
    bench.lose()
    bench.open()
    let drain = bench.welcome(knew: false)
    let end = try #require(drain.settled.first)
    #expect(end.id == add && drain.join.unacknowledged == 2)
    #expect(drain.entries.contains(.decided(add, JournalEntry.Decided(end.outcome))))
    #expect(!bench.session.hasDeferredOutcomes)
  }

  @Test("an outcome whose commit has not arrived waits for it, and what could not be stored is taken again whole")
  func waits() throws {
    var bench = keeping(defers: true)
    bench.live(version: 5, lit)
    bench.session.finishKeeping(take(&bench), isStored: true)
    let id = try bench.set(["level": "0.8"])
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    for _ in 0..<3 {
      let batch = take(&bench)
      #expect(batch.entries.isEmpty)
      bench.session.finishKeeping(batch, isStored: true)
    }
    bench.hub(bench.commits(after: 5, [[0: "0.8"]], own: [0: 1]))
    let failed = take(&bench)
    #expect(failed.records.first?.isWhole == false)
    bench.session.finishKeeping(failed, isStored: false)
    let again = take(&bench)
    #expect(again.records.first?.isWhole == true && again.records.first?.version == 6 && again.entries.isEmpty)
    bench.session.finishKeeping(again, isStored: true)
    #expect(take(&bench).entries == [.decided(id, .committed)])
  }

  @Test("an outcome of a model that the hub refuses to let this peer join waits for no replica")
  func refused() {
    var bench = keeping(defers: true)
    bench.join()
    bench.open()
    bench.welcome()
    let outcome = Outcome.committed(epoch: 100, version: 6)
    #expect(!bench.session.contains("lamp", outcome) && bench.session.follows("lamp"))
    #expect(bench.session.contains("desk", outcome) && !bench.session.follows("desk"))
    bench.hub(.error(ErrorMessage(session: bench.sessionID, code: .notPermitted, isFatal: false, text: "lamp: no")))
    #expect(bench.session.contains("lamp", outcome) && !bench.session.follows("lamp"))
  }

  @Test("a model that is left is stored once more, and begins anew when it is joined again")
  func left() {
    var bench = keeping()
    bench.live(version: 5, lit)
    _ = take(&bench)
    bench.hub(bench.commits(after: 5, [[0: "0.4"]]))
    _ = bench.act { session, now, output in session.leave("lamp", now: now, into: &output) }
    #expect(take(&bench).records.map(\.version) == [6])
    bench.join()
    #expect(bench.shown("level") == nil && take(&bench).records.isEmpty)
  }

  @Test("the loss of the link is recorded, and every minute that the values are still complete")
  func completeness() throws {
    var bench = keeping()
    bench.live(version: 5, lit)
    _ = take(&bench)
    #expect(take(&bench).isEmpty)
    bench.now += 61_000
    let still = try #require(take(&bench).records.first)
    #expect(still.isComplete && still.fields.isEmpty && still.time == wall + 61_000)
    bench.lose()
    #expect(bench.session.isKeepingDue)
    let lost = try #require(take(&bench).records.first)
    #expect(!lost.isComplete && lost.fields.isEmpty && lost.version == 5)
  }
}
