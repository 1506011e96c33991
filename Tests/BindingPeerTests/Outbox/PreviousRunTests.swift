import BindingProtocol
import Testing

@testable import BindingPeer

@Suite("A session records its writes, and another session sends those of an earlier run")
struct PreviousRunTests {
  private let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "n", value: "1", version: 5)]

  private func keeping() -> PeerBench {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 5, lit)
    return bench
  }

  /// A run that had been welcomed, sent an `add` as number 1 and left a set unsent.
  private func sentAndUnsent() throws -> PreviousRun {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 5, lit)
    var entries = try bench.write(.one(.add, "n", "1")).drain.entries
    bench.lose()
    entries += try bench.write(.set(["level": "0.8"])).drain.entries
    return try #require(PreviousRun.left(by: entries))
  }

  private func resumed(_ run: PreviousRun, wall: UInt64 = 0) -> PeerBench {
    PeerBench(Session(resuming: run, seed: 3, now: 1_000, wall: wall))
  }

  @Test("the hub's log and epoch are recorded at the first welcome and when they change")
  func recordsHub() {
    var bench = PeerBench(keepsOutbox: true)
    bench.open()
    #expect(bench.welcome().entries == [.welcomed(log: 1, epoch: 100)])
    bench.lose()
    bench.open()
    #expect(bench.welcome(knew: true).entries.isEmpty)
    bench.epoch = 101
    bench.lose()
    bench.open()
    #expect(bench.welcome().entries == [.welcomed(log: 1, epoch: 101)])
  }

  @Test("a write is recorded when made, its number when sent, its outcome when confirmed")
  func recordsWrites() throws {
    var bench = keeping()
    let drain = try bench.write(.set(["level": "0.8"])).drain
    guard case .written(let kept)? = drain.entries.first, case .numbered(let id, 1, [])? = drain.entries.last else {
      Issue.record("\(drain.entries)")
      return
    }
    #expect(drain.entries.count == 2 && kept.id == id && drain.numbers == [1])
    #expect(kept.seen.map(\.version) == [4] && kept.seen.first?.digest != nil)
    let end = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))), bench.heartbeat(1))
    #expect(end.entries == [.decided(id, .committed)] && end.alives.first?.entries.first?.confirmed == 1)
  }

  @Test("a session without an outbox records nothing")
  func withoutOutbox() throws {
    var bench = PeerBench()
    #expect(bench.live(version: 5, lit).entries.isEmpty)
    #expect(try bench.write(.set(["level": "0.8"])).drain.entries.isEmpty)
  }

  @Test(
    "the end of the program, and fencing, leave pending writes to the next run; no leave is sent")
  func staysOpen() throws {
    var closed = keeping()
    try closed.set(["level": "0.8"])
    let drain = closed.act { session, now, output in session.bye(now: now, into: &output) }
    #expect(drain.settled.count == 1 && drain.entries.isEmpty && drain.sent.isEmpty && drain.isClosed)
    #expect(closed.shown("level") == "0.8")
    var fenced = keeping()
    try fenced.set(["level": "0.8"])
    #expect(fenced.hub(fenced.error(.fenced)).entries.isEmpty)
  }

  @Test(
    "with nothing pending the last outcomes are confirmed before the leave, so that the hub forgets the identity"
  )
  func leavesSettled() throws {
    var bench = keeping()
    try bench.set(["level": "0.8"])
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    let drain = bench.act { session, now, output in session.bye(now: now, into: &output) }
    #expect(drain.alives.first?.entries.first?.confirmed == 1 && drain.sent.last == .leave(Leave()))
  }

  @Test("sent writes are resent under their number, and unsent ones follow under the next")
  func resumes() throws {
    var bench = resumed(try sentAndUnsent())
    let hello = try #require(bench.open().hellos.first)
    #expect(hello.identity.tag == PeerBench.own && hello.identity.secret == Secret(high: 1, low: 2))
    #expect(hello.isResuming)
    let join = bench.welcome(knew: true).join
    #expect(join.unacknowledged == 1 && join.version == 0)
    let sent = bench.catchUp(join.request, version: 5, lit)
    #expect(sent.numbers == [1, 2] && sent.proposals.map { $0.operations.map(\.verb) } == [[.add], [.set]])
    #expect(sent.entries.count == 1)
    let end = bench.hub(bench.outcomes((1, .committed(count: 2, version: 6))))
    #expect(end.outcomes.count == 2 && bench.session.unconfirmed == 0)
    #expect(end.entries.count == 2)
  }

  @Test("a session of a former owner approves what others write")
  func ownsNoLonger() throws {
    var bench = resumed(try sentAndUnsent())
    bench.open()
    let request = bench.welcome(knew: true).join.request
    bench.catchUp(request, version: 5, lit)
    let question = ApprovalRequest(
      session: bench.sessionID, topic: PeerBench.lamp, token: 5, origin: PeerBench.other,
      fields: [ApprovalField(name: "on", value: json("true"))])
    let drain = bench.hub(.approve(question))
    #expect(drain.approvalRequests.isEmpty)
    guard case .approval(let approval)? = drain.sent.first else {
      Issue.record("nothing was said")
      return
    }
    #expect(approval.token == 5 && approval.isAccepted)
  }

  @Test("numbers continue above those of ended writes")
  func numbersGoOn() throws {
    var run = try sentAndUnsent()
    run.lastNumbers["lamp"] = 9
    run.writes.removeFirst()
    var bench = resumed(run)
    bench.open()
    let join = bench.welcome(knew: true).join
    #expect(join.unacknowledged == 10)
    #expect(bench.catchUp(join.request, version: 5, lit, lastDecided: 9).numbers == [10])
  }

  @Test("an old unsent set is compared where others wrote meanwhile; in a new epoch equal values are no change")
  func oldYields() throws {
    var run = try sentAndUnsent()
    var changed = resumed(run)
    let theirs = [Entry(name: "level", value: "0.1", version: 6), lit[1]]
    changed.open()
    let condition = changed.catchUp(changed.welcome(knew: true).request, version: 6, theirs).proposals.last?.conditions
    #expect(condition?.map(\.version) == [4] && condition?.map(\.epoch) == [100])
    // What a run before that one wrote is no other's.
    run.earlier = [PeerBench.other.tag]
    var own = resumed(run)
    own.open()
    #expect(own.catchUp(own.welcome(knew: true).request, version: 6, theirs).proposals.last?.conditions == [])
    var restarted = resumed(run)
    restarted.epoch = 101
    restarted.open()
    let same = [Entry(name: "level", value: "0.3", version: 1), lit[1]]
    let proposals = restarted.catchUp(restarted.welcome().request, version: 5, same).proposals
    #expect(proposals.map(\.number) == [1, 2] && proposals.last?.conditions.isEmpty == true)
  }

  @Test("a hub that forgot the identity gets sets as compare-and-set; other writes end as unknown")
  func forgotten() throws {
    var bench = PeerBench(keepsOutbox: true)
    bench.live(version: 5, lit)
    var entries = try bench.write(.set(["level": "0.8"])).drain.entries
    entries += try bench.write(.one(.add, "n", "1")).drain.entries
    var again = resumed(try #require(PreviousRun.left(by: entries)))
    again.open()
    let welcomed = again.welcome(knew: false)
    #expect(welcomed.join.unacknowledged == 3)
    #expect(welcomed.entries.count == 2)
    let sent = again.catchUp(welcomed.request, version: 5, lit, lastDecided: 2)
    #expect(sent.numbers == [3] && sent.proposals.first?.conditions.map(\.version) == [4])
    let after = try #require(PreviousRun.left(by: entries + welcomed.entries + sent.entries))
    #expect(after.writes.map(\.number) == [3] && after.writes[0].proposal.conditions.count == 1)
  }

  @Test("a lagging copy ends writes that the hub no longer answers, after repetitions without an answer")
  func lagging() throws {
    var bench = resumed(try sentAndUnsent())
    bench.open()
    bench.catchUp(bench.welcome(knew: true).request, version: 7, lit, lastDecided: 2)
    var outcomes: [Outcome] = []
    for number in 1...7 as ClosedRange<UInt64> {
      #expect(outcomes.isEmpty || number == 7)
      bench.now += 1_000
      outcomes += bench.hub(bench.heartbeat(number)).outcomes
    }
    // The write without a number got one that was decided before.
    #expect(outcomes.count == 2)
    for outcome in outcomes {
      guard case .unknown = outcome else {
        Issue.record("\(outcomes)")
        return
      }
    }
  }

  // MARK: In the session of the new run

  private func carrying() throws -> (PeerBench, [WriteID]) {
    let identity = Identity(secret: Secret(high: 5, low: 6), name: "me")
    var session = Session(identity: identity, seed: 1, now: 1_000, keepsOutbox: true)
    let ids = session.carry(try sentAndUnsent(), wall: 0)
    return (PeerBench(session), ids)
  }

  @Test("writes of an earlier run show from the first join on, below those of this run")
  func shows() throws {
    var (bench, _) = try carrying()
    #expect(bench.join().changes.sorted() == ["level - 0.8", "n - 1"])
    try bench.set(["level": "0.9"])
    #expect(bench.shown("level") == "0.9")
    bench.live(version: 5, lit)
    #expect(bench.shown("level") == "0.9" && bench.shown("n") == "2")
  }

  @Test("a model's earlier writes end before this run's are sent; other models are not delayed")
  func waits() throws {
    var (bench, ids) = try carrying()
    bench.live(version: 5, lit)
    #expect(try bench.write(.set(["level": "0.9"])).drain.numbers.isEmpty)
    for (id, version) in zip(ids, [6, 7] as [Version]) {
      #expect(bench.session.unconfirmed == 1)
      let drain = bench.act { session, _, _ in
        session.carriedEnded(id, of: "lamp", as: .committed(epoch: 100, version: version))
      }
      #expect(drain.numbers == (version == 6 ? [] : [1]))
    }
    #expect(bench.shown("level") == "0.9")
  }

  @Test("a commit of an earlier run is applied once, whichever session receives it first")
  func notTwice() throws {
    let earlier = Origin(tag: PeerBench.own, name: "me")
    var (first, ids) = try carrying()
    first.live(version: 5, lit)
    _ = first.act { session, _, _ in session.carriedSent(ids[0], of: "lamp", as: 1) }
    #expect(first.shown("n") == "2")
    first.hub(first.commits(after: 5, [[1: "2"]], own: [0: 1]))
    #expect(first.shown("n") == "2" && earlier == PeerBench.me)
    var (second, others) = try carrying()
    second.live(version: 5, lit)
    let end = Outcome.committed(epoch: 100, version: 6)
    _ = second.act { session, _, _ in session.carriedEnded(others[0], of: "lamp", as: end) }
    #expect(second.shown("n") == "2")
    second.hub(second.commits(after: 5, [[1: "2"]], own: [0: 1]))
    #expect(second.shown("n") == "2")
  }

  @Test("a write committed in an ended epoch no longer shows once it has ended")
  func endsInFormerEpoch() throws {
    var (bench, ids) = try carrying()
    bench.live(version: 5, lit)
    #expect(bench.shown("level") == "0.8")
    // That epoch had higher versions than the present one: its version means nothing here.
    let end = Outcome.committed(epoch: bench.epoch - 1, version: 900)
    _ = bench.act { session, _, _ in session.carriedEnded(ids[1], of: "lamp", as: end) }
    #expect(bench.shown("level") == "0.3")
  }

  @Test("a write of an earlier run that was committed shows no longer once the model may not be read")
  func rightEnds() throws {
    var (bench, ids) = try carrying()
    bench.live(version: 5, lit)
    // Its version has not arrived, and never will.
    let end = Outcome.committed(epoch: bench.epoch, version: 7)
    _ = bench.act { session, _, _ in session.carriedEnded(ids[1], of: "lamp", as: end) }
    #expect(bench.shown("level") == "0.8")
    bench.lose()
    bench.open()
    bench.welcome()
    bench.hub(
      .error(
        ErrorMessage(
          session: bench.sessionID, code: .notPermitted, isFatal: false, text: "lamp: ben lacks the right read")))
    #expect(bench.shown("level") == nil)
  }

  @Test("a plain set does not supersede one of an earlier run")
  func notCoalesced() throws {
    var (bench, ids) = try carrying()
    bench.join()
    #expect(try bench.write(.set(["level": "0.9"])).drain.settled.isEmpty)
    let refusal = Outcome.refused(Refusal(.notPermitted, "no"))
    _ = bench.act { session, _, _ in session.carriedEnded(ids[1], of: "lamp", as: refusal) }
    #expect(bench.shown("level") == "0.9")
  }

  @Test("while entries cannot be stored nothing is confirmed")
  func laggingJournal() throws {
    var bench = keeping()
    try bench.set(["level": "0.8"])
    bench.session.isJournalLagging = true
    let drain = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))), bench.heartbeat(1))
    #expect(drain.alives.map(\.entries.count) == [0])
    bench.lose()
    bench.open()
    #expect(bench.welcome(knew: true).join.unacknowledged == 1)
  }
}
