import BindingPeer
import BindingProtocol
import Testing

@Suite("A welcome that does not know the peer, in the same log and epoch")
struct ForgottenTests {
  private let lit = [Entry(name: "n", value: "1", version: 5)]

  private func limits(remembering milliseconds: Int) -> Limits {
    var limits = Limits()
    limits.identityMilliseconds = milliseconds
    return limits
  }

  /// A peer whose first write, an addition, was sent and has no outcome when its hub is killed.
  private func cut(_ write: Proposal = .one(.add, "n", "1")) throws -> (bench: PeerBench, id: WriteID) {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    let (id, drain) = try bench.write(write)
    #expect(drain.numbers == [1])
    bench.lose()
    bench.start += 1
    bench.open()
    return (bench, id)
  }

  @Test(
    "a write that no hub decided is resent unchanged under its number",
    arguments: [Proposal.one(.add, "n", "1"), .set(["n": "7"]), .one(.delete, "n")])
  func neverDecided(_ write: Proposal) throws {
    var (bench, id) = try cut(write)
    let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
    #expect(drain.notices.isEmpty && drain.settled.isEmpty && drain.join.unacknowledged == 1)
    let sent = bench.catchUp(drain.request, version: 5, lit).proposals
    #expect(sent.map(\.number) == [1] && sent.first?.conditions.isEmpty == true)
    let end = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(end.settled.map(\.id) == [id])
  }

  @Test("after half of the hub's memory, by either clock, an unacknowledged write ends as unknown")
  func tooLong() throws {
    for (mine, hubs) in [(30_000, 0), (0, 30_000)] as [(UInt64, UInt64)] {
      var (bench, id) = try cut()
      bench.now += mine
      bench.hubClock += hubs
      let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
      #expect(drain.notices == [.unknownIdentity] && drain.settled.map(\.id) == [id])
    }
    var (bench, _) = try cut()
    (bench.now, bench.hubClock) = (bench.now + 29_999, bench.hubClock + 29_999)
    #expect(bench.welcome(knew: false, limits: limits(remembering: 60_000)).settled.isEmpty)
  }

  @Test("a hub's clock that was set back counts as a forgotten identity")
  func setBack() throws {
    var bench = PeerBench()
    bench.hubClock = 1_000_000
    bench.live(version: 5, lit)
    try bench.write(.one(.add, "n", "1"))
    bench.lose()
    bench.open()
    bench.hubClock = 0
    #expect(bench.welcome(knew: false, limits: limits(remembering: 60_000)).settled.count == 1)
  }

  @Test("a hub that does not report its memory is assumed to have forgotten")
  func omitsLimit() throws {
    var (bench, id) = try cut()
    #expect(bench.welcome(knew: false).settled.map(\.id) == [id])
  }

  @Test("a peer with decided writes continues too: those were in removed models, and confirmed")
  func wasDecided() throws {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    try bench.write(.one(.add, "n", "1"))
    bench.hub(bench.outcomes((1, .unchanged)))
    try bench.write(.one(.add, "n", "2"))
    bench.lose()
    bench.open()
    let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
    #expect(drain.notices.isEmpty && drain.settled.isEmpty && drain.join.unacknowledged == 2)
    #expect(bench.catchUp(drain.request, version: 5, lit).proposals.map(\.number) == [2])
  }

  @Test("a withdrawn write is not sent to a hub that may have applied and forgotten it")
  func withdrawn() throws {
    var (bench, id) = try cut(.set(["n": "7"]))
    _ = bench.act { session, now, output in _ = session.withdraw(id, now: now, into: &output) }
    bench.now += 30_000
    let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
    guard drain.settled.map(\.id) == [id], case .unknown? = drain.outcomes.first else {
      Issue.record("\(drain.settled)")
      return
    }
    #expect(bench.catchUp(drain.request, version: 5, lit).proposals.isEmpty)
  }

  @Test("a write resent after it was forgotten never fails: it ends as unknown, as it may have been applied")
  func goesAgain() throws {
    let refusal = Refusal(.ownerSilent, "no answer")
    for failure in [.refused(refusal), .expired] as [WireOutcome.Rest] {
      var (bench, id) = try cut(.set(["n": "7"]))
      bench.now += 30_000
      let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
      let sent = bench.catchUp(drain.request, version: 5, lit).proposals
      #expect(sent.map(\.number) == [2] && sent.first?.conditions.isEmpty == false)
      let end = bench.hub(bench.outcomes((2, failure)))
      guard end.settled.map(\.id) == [id], case .unknown? = end.outcomes.first else {
        Issue.record("\(end.settled)")
        return
      }
    }
  }

  @Test("a write below the last decided number is not resent")
  func reportedAsDecided() throws {
    var (bench, id) = try cut(.set(["n": "7"]))
    let drain = bench.welcome(knew: true, limits: limits(remembering: 60_000))
    bench.catchUp(drain.request, version: 7, lit, lastDecided: 1)
    bench.lose()
    bench.now += 30_000
    bench.open()
    let again = bench.welcome(knew: false, limits: limits(remembering: 60_000))
    #expect(again.settled.map(\.id) == [id])
    #expect(bench.catchUp(again.request, version: 7, lit).proposals.isEmpty)
  }

  @Test("a forgotten peer does not resend under its old numbers in a new epoch of the log")
  func newEpoch() throws {
    var (bench, id) = try cut()
    bench.epoch += 100
    bench.now += 30_000
    let drain = bench.welcome(knew: false, limits: limits(remembering: 60_000))
    #expect(drain.settled.map(\.id) == [id])
  }

  @Test("in a new epoch of a hub that forgets no identity, numbered writes are resent unchanged")
  func newEpochOfOlderHub() throws {
    var (bench, _) = try cut()
    bench.epoch += 100
    bench.now += 30_000
    let drain = bench.welcome(knew: false)
    #expect(drain.settled.isEmpty)
    #expect(bench.catchUp(drain.request, version: 5, lit).proposals.map(\.number) == [1])
  }

  private static let ephemeralLamp = "@ephemeral/lamp"

  /// A peer that connects to join an ephemeral model of its hub's run.
  private func benchInEphemeralModel() -> PeerBench {
    var bench = PeerBench()
    bench.capabilities = [Capability.ephemeral]
    bench.join(Self.ephemeralLamp)
    bench.open()
    bench.epoch = Epoch(bench.start)
    return bench
  }

  private func follow(_ request: UInt32, _ bench: inout PeerBench, _ fields: [Entry] = []) -> Drain {
    bench.hub(
      bench.assigned(request, model: Self.ephemeralLamp),
      bench.joined(request, version: 4, lastDecided: 0, follows: .snapshot, model: Self.ephemeralLamp),
      bench.chunk(request, version: 4, fields))
  }

  @Test(
    "in an ephemeral model that forgot it, a peer does not resend writes older than what it sees there"
  )
  func ephemeralModel() throws {
    var bench = benchInEphemeralModel()
    _ = follow(bench.welcome().request, &bench)
    let set = try bench.write(.set(["x": "1"]), to: Self.ephemeralLamp)
    _ = try bench.write(.one(.delete, "x"), to: Self.ephemeralLamp)
    bench.lose()
    bench.now += 30_000
    bench.open()
    let gone = Entry(name: "x", value: nil, version: 4, origin: PeerBench.me, number: 2)
    let drain = follow(bench.welcome().request, &bench, [gone])
    #expect(drain.proposals.isEmpty && bench.session.unconfirmed == 0)
    guard case .unknown? = drain.settled.first(where: { $0.id == set.id })?.outcome else {
      Issue.record("\(drain.settled)")
      return
    }
  }

  @Test("in an ephemeral model that forgot its peer, a withdrawn write ends as unknown, not as expired")
  func withdrawnInEphemeralModel() throws {
    var bench = benchInEphemeralModel()
    _ = follow(bench.welcome().request, &bench)
    let clear = try bench.write(.one(.delete, "x"), to: Self.ephemeralLamp)
    _ = bench.act { session, now, output in _ = session.withdraw(clear.id, now: now, into: &output) }
    bench.lose()
    bench.now += 30_000
    bench.open()
    let settled = bench.welcome(knew: false).settled + follow(2, &bench).settled
    guard case .unknown? = settled.first(where: { $0.id == clear.id })?.outcome else {
      Issue.record("\(settled)")
      return
    }
  }

  @Test(
    "in an ephemeral model that forgot its peer, a resent write is claimed, though a later one was withdrawn")
  func sentAgainInEphemeralModel() throws {
    var bench = benchInEphemeralModel()
    _ = follow(bench.welcome().request, &bench)
    _ = try bench.write(.set(["x": "7"]), to: Self.ephemeralLamp)
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 4))))
    _ = try bench.write(.set(["x": "8"]), to: Self.ephemeralLamp)
    let gone = try bench.write(.one(.delete, "x"), to: Self.ephemeralLamp).id
    _ = bench.act { session, now, output in _ = session.withdraw(gone, now: now, into: &output) }
    bench.lose()
    bench.open()
    let seen = Entry(name: "x", value: "7", version: 4, origin: PeerBench.me, number: 1)
    let again = follow(bench.welcome(knew: false).request, &bench, [seen])
    #expect(again.proposals.map(\.number) == [2])
    bench.hub(bench.outcomes((2, .committed(count: 1, version: 5))))
    bench.hub(bench.commits(after: 4, [[0: "8"]], own: [0: 2], names: NamesRun(first: 1)))
    // The hub restarts without any of it.
    bench.lose()
    bench.open()
    bench.start += 1
    bench.welcome()
    #expect(bench.session.shown(Self.ephemeralLamp, "x") == json("8") && bench.session.unconfirmed == 1)
  }

  @Test("a peer that has sent nothing is not reported as forgotten, and goes on")
  func nothingSent() throws {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    bench.lose()
    bench.open()
    #expect(bench.welcome(knew: false, limits: limits(remembering: 60_000)).notices.isEmpty)
  }
}

@Suite("A peer stopped by its hub")
struct StoppedTests {
  @Test(
    "every pending write of a stopped peer ends: sent, unsent, or waiting for a merge",
    arguments: [ErrorCode.notYours, .fenced, .otherProtocol])
  func ends(_ code: ErrorCode) throws {
    var bench = PeerBench()
    bench.live(version: 5, [Entry(name: "n", value: "1", version: 5)])
    var ids = [try bench.write(.one(.add, "n", "1")).id]
    bench.lose()
    ids.append(try bench.write(.set(["level": "0.8"])).id)
    ids.append(try bench.write(.one(.add, "n", "2")).id)
    bench.open()
    let drain = bench.hub(bench.error(code))
    #expect(drain.settled.map(\.id).sorted() == ids && bench.session.unconfirmed == 0)
    for outcome in drain.outcomes {
      guard case .unknown = outcome else {
        Issue.record("\(outcome)")
        return
      }
    }
    #expect(bench.shown("level") == nil && bench.shown("n") == "1")
    #expect(throws: WriteError.self) { try bench.set(["level": "1"]) }
  }
}
