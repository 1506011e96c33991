import BindingPeer
import Testing

@Suite("A session writes")
struct WritingTests {
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  func followed(limits: Limits = Limits()) -> PeerBench {
    var bench = PeerBench()
    bench.live(version: 5, lit, limits: limits)
    return bench
  }

  @Test("the first write after a rest shows and is sent in the same drain")
  func leavesAtOnce() throws {
    var bench = followed()
    let drain = try bench.write(.set(["level": "0.8"])).drain
    #expect(drain.changes == ["level 0.3 0.8"])
    #expect(drain.updates.first?.cause == .local)
    #expect(drain.numbers == [1])
    #expect(drain.proposals.first?.operations == [WireOperation(verb: .set, field: .id(0), value: json("0.8"))])
  }

  @Test("the writes of one drain are sent in one frame, numbered in order")
  func oneFrame() throws {
    var bench = followed()
    let drain = try bench.act { session, now, output throws(WriteError) in
      for field in ["a", "b", "c"] {
        _ = try session.write(.set([field: "1"]), to: "lamp", now: now, into: &output)
      }
    }
    #expect(drain.numbers == [1, 2, 3] && drain.proposeFrames == 1)
    #expect(drain.updates.count == 1)
  }

  @Test("an own commit is the outcome, reported once, and notifies no observer again")
  func ownCommit() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    let drain = bench.hub(bench.commits(after: 5, [[0: "0.8"]], own: [0: 1]))
    #expect(drain.settled.map(\.id) == [id] && drain.outcomes == [.committed(epoch: 100, version: 6)])
    #expect(drain.changes.isEmpty)
    #expect(drain.updates.first?.confirmed == ["level"] && drain.updates.first?.commits.first?.own == true)
    let late = bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(late.settled.isEmpty && late.changes.isEmpty)
    #expect(bench.session.unconfirmed == 0)
  }

  @Test(
    "a merge that the hub left unchanged shows until the replica has the value that the hub saw",
    arguments: [(Verb.max, "0.8", "0.9"), (.add, "0.5", "0.8"), (.union, "[1]", "[2,1]")])
  func keptMerge(_ verb: Verb, _ operand: String, _ committed: String) throws {
    var bench = PeerBench()
    bench.live(version: 4, [Entry(name: "level", value: verb == .union ? "[]" : "0.3", version: 4)])
    let write = try bench.write(.one(verb, "level", operand))
    let overlaid = bench.shown("level")
    let kept = bench.hub(bench.outcomes((1, .unchanged)))
    #expect(kept.settled.map(\.id) == [write.id] && kept.outcomes == [.unchanged])
    #expect(kept.changes.isEmpty && bench.shown("level") == overlaid)
    bench.hub(bench.commits(after: 4, [[0: committed]], names: NamesRun(first: 1)))
    #expect(bench.shown("level") == committed)
    #expect(bench.session.fieldRecord("lamp", "level")?.isPending == false && bench.session.unconfirmed == 0)
  }

  @Test("a merge without effect on either side ends with its outcome")
  func idleMerge() throws {
    var bench = followed()
    try bench.write(.one(.max, "level", "0.1"))
    let kept = bench.hub(bench.outcomes((1, .unchanged)))
    #expect(kept.outcomes == [.unchanged] && kept.changes.isEmpty)
    #expect(bench.session.fieldRecord("lamp", "level")?.isPending == false)
  }

  @Test("a write acknowledged before its commit shows until the commit arrives")
  func acknowledgedFirst() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let acknowledged = bench.hub(bench.outcomes((1, .committed(count: 1, version: 7))))
    #expect(acknowledged.outcomes == [.committed(epoch: 100, version: 7)])
    #expect(acknowledged.changes.isEmpty && bench.shown("level") == "0.8")
    let between = bench.hub(bench.commits(after: 5, [[0: "0.5"]]))
    #expect(between.changes.isEmpty && bench.shown("level") == "0.8")
    let arrived = bench.hub(bench.commits(after: 6, [[0: "0.8"]], own: [0: 1]))
    #expect(arrived.changes.isEmpty && arrived.settled.isEmpty)
    #expect(bench.session.fieldRecord("lamp", "level")?.isPending == false)
    #expect(bench.hub(bench.commits(after: 7, [[0: "0.1"]])).changes == ["level 0.8 0.1"])
  }

  @Test("one outcome can cover a run of numbers")
  func run() throws {
    var bench = followed()
    for field in ["a", "b", "c"] { try bench.set([field: "1"]) }
    let drain = bench.hub(bench.outcomes((1, .committed(count: 3, version: 6))))
    #expect(drain.outcomes == (6...8).map { .committed(epoch: 100, version: $0) })
  }

  @Test("commits of others do not change a field with a pending set")
  func remoteBelow() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let drain = bench.hub(bench.commits(after: 5, [[0: "0.5", 1: "false"]]))
    #expect(drain.changes == ["on true false"])
    #expect(bench.shown("level") == "0.8")
    #expect(bench.session.fieldRecord("lamp", "level")?.committed == json("0.5"))
  }

  @Test("an add, max or min overlays what others write")
  func mergesAbove() throws {
    var bench = PeerBench()
    bench.live(version: 1, ["a", "b", "c"].map { Entry(name: $0, value: "10", version: 1) })
    try bench.write(
      Proposal(operations: [
        FieldOperation(.add, "a", json("5")), FieldOperation(.max, "b", json("15")),
        FieldOperation(.min, "c", json("7")),
      ]))
    #expect([bench.shown("a"), bench.shown("b"), bench.shown("c")] == ["15", "15", "7"])
    let drain = bench.hub(bench.commits(after: 1, [[0: "20", 1: "20", 2: "20"]], names: NamesRun(first: 3)))
    #expect(drain.changes == ["a 15 25", "b 15 20"])
    #expect(bench.shown("c") == "7")
  }

  @Test("a refused write is reverted in one update, with which its outcome is reported")
  func refused() throws {
    var bench = followed()
    let id = try bench.set(["level": "7", "on": "false"])
    let refusal = Refusal(.notPermitted, "no")
    let drain = bench.hub(bench.outcomes((1, .refused(refusal))))
    #expect(drain.updates.count == 1 && drain.unreadableFrames == 0)
    #expect(drain.changes == ["level 7 0.3", "on false true"])
    #expect(drain.updates.first?.cause == .outcome)
    #expect(drain.settled.map(\.id) == [id] && drain.outcomes == [.refused(refusal)])
  }

  @Test("after a refusal a later pending write of the field still shows")
  func refusedBelow() throws {
    var bench = followed()
    try bench.set(["level": "7"])
    try bench.set(["level": "0.9"])
    #expect(bench.hub(bench.outcomes((1, .refused(Refusal(.notPermitted, "no"))))).changes.isEmpty)
    #expect(bench.shown("level") == "0.9")
  }

  @Test("unchanged, conflict, expired and unknown each end a write once")
  func otherEnds() throws {
    var bench = followed()
    for field in ["a", "b", "c"] { try bench.set([field: "1"]) }
    // A plain set would be resent.
    try bench.write(.one(.add, "d", "1"))
    let conflict = Conflict(field: "b", version: 5, origin: PeerBench.other, ageMilliseconds: 9, value: json("2"))
    let frame = bench.outcomes((1, .unchanged), (2, .conflict(conflict)), (3, .expired), (4, .unknown))
    let drain = bench.hub(frame)
    try #require(drain.outcomes.count == 4)
    #expect(drain.outcomes[0...2] == [.unchanged, .conflict(conflict), .expired])
    if case .unknown = drain.outcomes[3] {} else { Issue.record("the fourth is unknown") }
    #expect(drain.changes == ["a 1 -", "b 1 -", "c 1 -", "d 1 -"])
    #expect(bench.hub(frame).settled.isEmpty)
  }

  @Test("an own commit hides all own lower writes that still await their outcome")
  func lowerHidden() throws {
    var bench = followed()
    try bench.set(["level": "7"])
    try bench.set(["on": "false"])
    let drain = bench.hub(bench.commits(after: 5, [[1: "false"]], own: [0: 2]))
    #expect(drain.changes == ["level 7 0.3"] && drain.settled.count == 1)
    #expect(bench.hub(bench.outcomes((1, .refused(Refusal(.notPermitted, "no"))))).settled.count == 1)
  }

  @Test("a default shows where there is no value, and not over a value")
  func defaults() throws {
    var bench = followed()
    try bench.write(.one(.setIfAbsent, "level", "1"))
    try bench.write(.one(.setIfAbsent, "name", "\"desk\""))
    #expect(bench.shown("level") == "0.3" && bench.shown("name") == "\"desk\"")
  }

  @Test("delete and clear show immediately")
  func deletes() throws {
    var bench = followed()
    #expect(try bench.write(.one(.delete, "on")).drain.changes == ["on true -"])
    #expect(try bench.write(.one(.clear, "")).drain.changes == ["level 0.3 -"])
  }

  @Test("at most maxUnacknowledged proposals are in flight; the rest is sent as outcomes arrive")
  func window() throws {
    var limits = Limits()
    limits.maxUnacknowledged = 2
    var bench = followed(limits: limits)
    let sent = try (1...4).map { try bench.write(.one(.add, "level", "\($0)")).drain.numbers }
    #expect(sent == [[1], [2], [], []])
    #expect(bench.hub(bench.outcomes((1, .committed(count: 1, version: 6)))).numbers == [3])
    #expect(bench.hub(bench.outcomes((2, .committed(count: 2, version: 7)))).numbers == [4])
  }

  @Test("retryLater is no outcome: it is reported, and the same number is resent after its pause")
  func hold() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    let held = bench.hub(bench.outcomes((1, .retryLater(.storeFull, pauseMilliseconds: 400))))
    #expect(held.retries.map(\.id) == [id] && held.retries.map(\.code) == [.storeFull])
    #expect(held.settled.isEmpty && held.numbers.isEmpty && bench.shown("level") == "0.8")
    #expect(try bench.write(.set(["on": "false"])).drain.numbers.isEmpty)
    #expect(bench.wait(399).numbers.isEmpty)
    #expect(bench.session.nextDeadline <= bench.now + 1)
    #expect(bench.wait(1).numbers == [1, 2])
  }

  @Test("after `expected` the session sends everything from that number on")
  func expected() throws {
    var bench = followed()
    for field in ["a", "b", "c"] { try bench.set([field: "1"]) }
    let drain = bench.hub(bench.outcomes((3, .expected(next: 2))))
    #expect(drain.numbers == [2, 3] && drain.settled.isEmpty)
  }

  @Test("after `expected` below all unacknowledged numbers the session joins with its lowest one")
  func expectedBelow() throws {
    var bench = followed()
    for field in ["a", "b"] { try bench.set([field: "1"]) }
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    let drain = bench.hub(bench.outcomes((2, .expected(next: 1))))
    #expect(drain.joins.first?.unacknowledged == 2)
  }

  @Test("a proposal without an outcome is resent unchanged with the second heartbeat")
  func twoHeartbeats() throws {
    var bench = followed()
    bench.hub(bench.heartbeat(1))
    let first = try bench.write(.set(["level": "0.8"])).drain.proposals
    #expect(bench.hub(bench.heartbeat(2)).numbers.isEmpty)
    #expect(bench.hub(bench.heartbeat(3)).proposals == first)
    #expect(bench.session.counters.resent == 1)
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(bench.hub(bench.heartbeat(4)).numbers.isEmpty && bench.hub(bench.heartbeat(5)).numbers.isEmpty)
  }

  @Test(
    "a proposal without an outcome is resent after a gap, and hidden once its number is decided")
  func afterGap() throws {
    var bench = followed()
    try bench.set(["level": "7"])
    let request = bench.hub(bench.commits(after: 7, [[1: "false"]])).request
    let healed = bench.catchUp(
      request, from: 5, version: 8, [Entry(name: "level", value: "0.4", version: 7)], lastDecided: 1)
    #expect(healed.numbers == [1] && healed.settled.isEmpty)
    #expect(healed.changes.first == "level 7 0.4")
    #expect(bench.hub(bench.outcomes((1, .committed(count: 1, version: 6)))).outcomes.count == 1)
    #expect(bench.shown("level") == "0.4")
  }

  @Test("an own commit in a catch-up is its write's outcome")
  func inCatchup() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let request = bench.hub(bench.commits(after: 7, [[1: "false"]])).request
    let drain = bench.catchUp(
      request, from: 5, version: 8, [Entry(name: "level", value: "0.8", version: 6, origin: PeerBench.me)],
      lastDecided: 1)
    #expect(drain.outcomes == [.committed(epoch: 100, version: 6)] && drain.numbers.isEmpty)
  }

  @Test("proposals carry the number up to which all outcomes have been seen")
  func confirmed() throws {
    var bench = followed()
    for field in ["a", "b"] { try bench.set([field: "1"]) }
    bench.hub(bench.outcomes((2, .committed(count: 1, version: 7))))
    #expect(try bench.write(.set(["c": "1"])).drain.proposals.first?.confirmed == 0)
    bench.hub(bench.outcomes((1, .committed(count: 1, version: 6))))
    #expect(try bench.write(.set(["d": "1"])).drain.proposals.first?.confirmed == 2)
  }

  @Test("a withdrawn sent write is resent as void, under its number")
  func void() throws {
    var bench = followed()
    let id = try bench.set(["level": "0.8"])
    let drain = bench.act { session, now, output in _ = session.withdraw(id, now: now, into: &output) }
    #expect(drain.numbers == [1] && drain.proposals.first?.isVoid == true && drain.settled.isEmpty)
    let ended = bench.hub(bench.outcomes((1, .expired)))
    #expect(ended.outcomes == [.expired] && ended.changes == ["level 0.8 0.3"])
  }

  @Test("the hops of a proposal are sent with it")
  func hops() throws {
    var bench = followed()
    let proposal = Proposal(operations: [FieldOperation(.set, "on", json("false"))], hops: 4)
    #expect(try bench.write(proposal).drain.proposals.first?.hops == 4)
  }
}
