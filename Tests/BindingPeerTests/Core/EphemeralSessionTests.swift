import BindingPeer
import BindingProtocol
import Testing

@Suite("A session's ephemeral models")
struct EphemeralSessionTests {
  private static let ephemeralLamp = "@ephemeral/lamp"

  /// Joined and current, in the epoch of this start, with the snapshot's fields.
  private func present(keepsOutbox: Bool = false, _ fields: [Entry] = []) -> PeerBench {
    var bench = opened(keepsOutbox: keepsOutbox)
    catchUp(&bench, bench.welcome().request, fields)
    return bench
  }

  /// Before the welcome.
  private func opened(maxOutboxWrites: Int = 100, keepsOutbox: Bool = false) -> PeerBench {
    var options = SessionOptions()
    options.maxOutboxWrites = maxOutboxWrites
    var bench = PeerBench(options: options, keepsOutbox: keepsOutbox)
    bench.capabilities = [Capability.ephemeral]
    bench.join(Self.ephemeralLamp)
    bench.open()
    return bench
  }

  @discardableResult
  private func catchUp(
    _ bench: inout PeerBench, _ request: UInt32, _ fields: [Entry] = [], lastDecided: ProposalNumber = 0
  ) -> Drain {
    let (version, epoch) = (fields.map(\.version).max() ?? 0, bench.epoch)
    bench.epoch = Epoch(bench.start)
    defer { bench.epoch = epoch }
    return bench.hub(
      bench.assigned(request, model: Self.ephemeralLamp),
      bench.joined(request, version: version, lastDecided: lastDecided, follows: .snapshot, model: Self.ephemeralLamp),
      bench.chunk(request, version: version, fields, lastDecided: lastDecided))
  }

  private func write(_ bench: inout PeerBench, _ field: String, _ value: String) throws -> Drain {
    try bench.write(.set([field: value]), to: Self.ephemeralLamp).drain
  }

  /// Restarts the hub and expects one write in flight, which makes the field show this value.
  private func expectClaim(of cursor: String, _ bench: inout PeerBench) {
    bench.lose()
    bench.open()
    bench.start += 1
    bench.welcome()
    #expect(bench.session.shown(Self.ephemeralLamp, "cursor") == json(cursor))
    #expect(bench.session.unconfirmed == 1)
  }

  @Test("a hub without ephemeral models is not asked for one")
  func oldHub() {
    var bench = PeerBench()
    bench.join(Self.ephemeralLamp)
    bench.join()
    bench.open()
    #expect(bench.welcome().joins.map(\.name) == ["lamp"])
  }

  @Test("the epoch of an ephemeral model is not that of the log")
  func ownEpoch() {
    let bench = present()
    #expect(bench.session.isCurrent(Self.ephemeralLamp))
    #expect(bench.session.epoch == bench.epoch)
    #expect(bench.session.version(of: Self.ephemeralLamp).epoch == Epoch(bench.start))
  }

  @Test("heads that name the log's epoch do not make an ephemeral model join again")
  func heads() {
    var bench = present()
    let head = ModelHead(topic: PeerBench.lamp, version: 0, digest: 0)
    let drain = bench.hub(.heads(HeadsAnswer(session: bench.sessionID, epoch: bench.epoch, heads: [head])))
    #expect(drain.joins.isEmpty)
  }

  @Test("an outcome that names the log's epoch acknowledges an ephemeral write")
  func outcomes() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    let drain = bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    #expect(drain.settled.map(\.1) == [.committed(epoch: Epoch(bench.start), version: 1)])
  }

  @Test("after a new welcome a session claims its ephemeral fields again, and shows them throughout")
  func claims() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    bench.lose()
    bench.open()
    bench.start += 1
    let request = bench.welcome().request
    #expect(bench.session.shown(Self.ephemeralLamp, "cursor") == json("7"))
    let epoch = bench.epoch
    bench.epoch = Epoch(bench.start)
    let drain = bench.hub(
      bench.assigned(request, model: Self.ephemeralLamp),
      bench.joined(request, version: 0, lastDecided: 0, follows: .snapshot, model: Self.ephemeralLamp),
      bench.chunk(request, version: 0, [], lastDecided: 0))
    bench.epoch = epoch
    #expect(drain.proposals.flatMap(\.operations).compactMap { $0.value?.description } == ["7"])
    #expect(bench.session.shown(Self.ephemeralLamp, "cursor") == json("7"))
  }

  /// Its write is committed and applied.
  private func withCursor() throws -> PeerBench {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    let names = NamesRun(first: 0, names: ["cursor"])
    bench.hub(bench.commits(after: 0, [[0: "7"]], own: [0: 1], names: names, epoch: Epoch(bench.start)))
    return bench
  }

  private func removeCursor(_ bench: inout PeerBench) {
    bench.hub(bench.commits(after: 1, [[0: nil]], names: NamesRun(first: 1), epoch: Epoch(bench.start)))
  }

  @Test("an own field that the hub has lost is claimed with the next heartbeat")
  func claimsLost() throws {
    var bench = try withCursor()
    #expect(bench.hub(bench.heartbeat(1)).proposals.isEmpty)
    removeCursor(&bench)
    #expect(bench.hub(bench.heartbeat(2)).proposals.count == 1)
  }

  @Test("a refused claim is not repeated")
  func fitsNoMore() throws {
    var bench = try withCursor()
    removeCursor(&bench)
    #expect(bench.hub(bench.heartbeat(1)).proposals.count == 1)
    bench.hub(bench.outcomes((2, .refused(Refusal(.doesNotFit, "7 is not in 0...1")))))
    let claimed = bench.hub(bench.heartbeat(2)).proposals
    #expect(claimed.isEmpty && bench.session.unconfirmed == 0)
  }

  @Test(
    "the value before a failed write is claimed as before",
    arguments: [.expired, .refused(Refusal(.doesNotFit, "too much"))] as [WireOutcome.Rest])
  func claimsBelow(end: WireOutcome.Rest) throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    _ = try write(&bench, "cursor", "8")
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1)), (2, end)))
    expectClaim(of: "7", &bench)
  }

  @Test("a field removed during a pending write is claimed when that write fails")
  func claimsRemoved() throws {
    var bench = try withCursor()
    _ = try bench.write(.one(.delete, "cursor"), to: Self.ephemeralLamp)
    removeCursor(&bench)
    bench.hub(bench.outcomes((2, .expired)))
    let claimed = bench.hub(bench.heartbeat(1)).proposals
    #expect(claimed.flatMap(\.operations).compactMap { $0.value?.description } == ["7"])
  }

  @Test("the later of two writes is claimed, whichever outcome arrives first")
  func claimsLater() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    _ = try write(&bench, "cursor", "8")
    bench.hub(bench.outcomes((2, .committed(count: 1, version: 2)), (1, .committed(count: 1, version: 1))))
    expectClaim(of: "8", &bench)
  }

  /// It has written two fields, left the ephemeral model without the hub noticing, and joined it again, with room
  /// for N writes.
  private func returned(maxOutboxWrites: Int = 100) throws -> (bench: PeerBench, given: [Verb]) {
    var bench = opened(maxOutboxWrites: maxOutboxWrites)
    catchUp(&bench, bench.welcome().request)
    try bench.write(.set(["cursor": "7", "pen": "7"]), to: Self.ephemeralLamp)
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    bench.lose()
    _ = bench.act { session, now, output in session.leave(Self.ephemeralLamp, now: now, into: &output) }
    bench.join(Self.ephemeralLamp)
    bench.open()
    let fields = [
      Entry(name: "cursor", value: "7", version: 1, origin: PeerBench.me, number: 1),
      Entry(name: "pen", value: "7", version: 1, origin: PeerBench.me, number: 1),
      Entry(name: "ben", value: "1", version: 2),
    ]
    let given = catchUp(&bench, bench.welcome().request, fields, lastDecided: 1).proposals
    return (bench, given.flatMap(\.operations).map(\.verb))
  }

  /// The commit of this peer's write of that number.
  private func change(
    _ bench: inout PeerBench, after version: Version, _ fields: [FieldID: String?], number: ProposalNumber
  ) {
    let names = NamesRun(first: 3)
    bench.hub(bench.commits(after: version, [fields], own: [0: number], names: names, epoch: Epoch(bench.start)))
  }

  @Test("a session that joins again gives up the fields it had before it left; others' fields stay")
  func givesUpEarlier() throws {
    let (bench, given) = try returned()
    #expect(given == [.delete, .delete])
    #expect(["cursor", "pen", "ben"].map { bench.session.shown(Self.ephemeralLamp, $0) } == [nil, nil, json("1")])
  }

  @Test("a field that a full outbox cannot give up yet is given up with a later heartbeat")
  func givesUpLater() throws {
    var (bench, given) = try returned(maxOutboxWrites: 1)
    #expect(given == [.delete] && bench.session.shown(Self.ephemeralLamp, "pen") == json("7"))
    change(&bench, after: 2, [0: nil], number: 2)
    given = bench.hub(bench.heartbeat(1)).proposals.flatMap(\.operations).map(\.verb)
    #expect(given == [.delete] && bench.session.shown(Self.ephemeralLamp, "pen") == nil)
  }

  @Test("a field written again before it could be given up stays")
  func writesMeanwhile() throws {
    var (bench, _) = try returned(maxOutboxWrites: 1)
    change(&bench, after: 2, [0: nil], number: 2)
    _ = try write(&bench, "pen", "8")
    change(&bench, after: 3, [1: "8"], number: 3)
    let given = bench.hub(bench.heartbeat(1)).proposals
    #expect(given.isEmpty && bench.session.shown(Self.ephemeralLamp, "pen") == json("8"))
  }

  @Test("a released field is not claimed again")
  func released() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    _ = try bench.write(.one(.delete, "cursor"), to: Self.ephemeralLamp)
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1)), (2, .committed(count: 1, version: 2))))
    bench.lose()
    bench.open()
    bench.welcome()
    #expect(bench.session.unconfirmed == 0)
  }

  @Test("a field that belongs to another peer is not claimed again")
  func refused() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    bench.hub(bench.outcomes((1, .refused(Refusal(.notOwner, "it is ben's")))))
    bench.lose()
    bench.open()
    bench.welcome()
    #expect(bench.session.unconfirmed == 0)
  }

  @Test("ephemeral writes are not kept in an outbox")
  func notKept() throws {
    var bench = present(keepsOutbox: true)
    let drain = try write(&bench, "cursor", "7")
    let end = bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    #expect((drain.entries + end.entries).isEmpty)
  }

  @Test("after a change to another log a session claims its ephemeral fields again")
  func otherLog() throws {
    var bench = present()
    _ = try write(&bench, "cursor", "7")
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 1))))
    bench.lose()
    bench.open()
    bench.log += 1
    bench.epoch += 1
    bench.start += 1
    let drain = bench.welcome()
    #expect(drain.settled.isEmpty)
    #expect(bench.session.shown(Self.ephemeralLamp, "cursor") == json("7"))
  }

  @Test("an approval request reaches the owner's application, and its answer is sent")
  func approvalRequests() throws {
    var bench = PeerBench()
    bench.live()
    let request = ApprovalRequest(
      session: bench.sessionID, topic: PeerBench.lamp, token: 5, origin: PeerBench.other,
      fields: [ApprovalField(name: "on", value: json("true"))])
    #expect(bench.hub(.approve(request)).approvalRequests == [request])
    let answer = bench.act { session, now, output in
      session.answer(request, refusing: String(repeating: "é", count: 600), now: now, into: &output)
    }
    guard case .approval(let approval)? = answer.sent.first else {
      Issue.record("nothing was said")
      return
    }
    #expect(approval.token == 5 && !approval.isAccepted && approval.text.utf8.count == 1_000)
  }
}
