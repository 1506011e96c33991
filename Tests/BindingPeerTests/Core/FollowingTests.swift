import BindingPeer
import Testing

@Suite("A session follows commits")
struct FollowingTests {
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]

  func followed() -> PeerBench {
    var bench = PeerBench()
    bench.live(version: 5, lit)
    return bench
  }

  @Test("the fields of one commit show together")
  func atomic() {
    var bench = followed()
    let drain = bench.hub(bench.commits(after: 5, [[0: "0.9", 1: "false"]]))
    #expect(drain.updates.count == 1)
    #expect(drain.changes == ["level 0.3 0.9", "on true false"])
    #expect(drain.updates.first?.version == 6)
  }

  @Test("all frames of a drain make one update, which lists every commit")
  func oneUpdate() {
    var bench = followed()
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2"]]), bench.commits(after: 7, [[0: "3"]]))
    #expect(drain.updates.count == 1)
    #expect(drain.changes == ["level 0.3 3"])
    #expect(drain.updates.first?.commits.map(\.version) == [6, 7, 8])
    #expect(drain.updates.first?.commits.map { $0.changes.first?.value } == [json("1"), json("2"), json("3")])
  }

  @Test("an update lists at most maxListedCommits commits and counts the rest")
  func listsSome() {
    var options = SessionOptions()
    options.maxListedCommits = 2
    var bench = PeerBench(options: options)
    bench.live(version: 5, lit)
    let update = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2"], [0: "3"], [0: "4"]])).updates.first
    #expect(update?.commits.count == 2 && update?.coalesced == 2)
  }

  @Test("a commit without a value deletes the field")
  func deletes() {
    var bench = followed()
    #expect(bench.hub(bench.commits(after: 5, [[1: nil]])).changes == ["on true -"])
    #expect(bench.session.shownValues("lamp").keys.sorted() == ["level"])
  }

  @Test("a new field arrives with its name")
  func newName() {
    var bench = followed()
    let drain = bench.hub(bench.commits(after: 5, [[2: "\"desk\""]], names: NamesRun(first: 2, names: ["name"])))
    #expect(drain.changes == ["name - \"desk\""])
  }

  @Test("a repeated frame changes nothing")
  func repeated() {
    var bench = followed()
    let frame = bench.commits(after: 5, [[0: "1"]])
    bench.hub(frame)
    let again = bench.hub(frame)
    #expect(again.changes.isEmpty && again.joins.isEmpty)
    #expect(bench.session.counters.repeats == 1)
    #expect(bench.session.version(of: "lamp") == (100, 6))
  }

  @Test("only the new part of an overlapping frame applies")
  func overlap() {
    var bench = followed()
    bench.hub(bench.commits(after: 5, [[0: "1"]]))
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"], [0: "2"]]))
    #expect(drain.updates.first?.commits.map(\.version) == [7])
    #expect(bench.shown("level") == "2")
  }

  @Test("a gap is reported, requested once and healed by a delta; buffered commits follow it")
  func gap() {
    var bench = followed()
    let lost = bench.hub(bench.commits(after: 7, [[0: "8"]]))
    #expect(lost.notices == [.gap(model: "lamp", from: 5, to: 8)])
    #expect(lost.changes.isEmpty && bench.shown("level") == "0.3")
    #expect(lost.joins.first?.version == 5 && lost.joins.first?.epoch == 100 && lost.joins.first?.namesKnown == 2)
    let more = bench.hub(bench.commits(after: 8, [[1: "false"]]))
    #expect(more.joins.isEmpty)
    let healed = bench.catchUp(
      lost.request, from: 5, version: 8, [Entry(name: "level", value: "8", version: 8)])
    #expect(healed.updates.count == 1)
    #expect(healed.changes == ["level 0.3 8", "on true false"])
    #expect(healed.updates.first?.cause == .delta(from: 5))
    #expect(healed.notices.contains(.healed(model: "lamp", form: .delta, commits: 3)))
    #expect(bench.session.version(of: "lamp") == (100, 9))
  }

  @Test("a delta deletes fields without a value, and leaves fields that it does not name")
  func deltaDeletes() {
    var bench = followed()
    let request = bench.hub(bench.commits(after: 7, [[0: "8"]])).request
    let drain = bench.catchUp(request, from: 5, version: 8, [Entry(name: "level", value: nil, version: 7)])
    #expect(drain.changes == ["level 0.3 -"])
    #expect(bench.shown("on") == "true")
  }

  @Test("a delta that begins beyond the replica leads to a snapshot")
  func deltaBeyond() {
    var bench = followed()
    let request = bench.hub(bench.commits(after: 7, [[0: "8"]])).request
    let drain = bench.catchUp(request, from: 6, version: 8, [Entry(name: "level", value: "8", version: 8)])
    #expect(drain.changes.isEmpty)
    #expect(drain.joins.first?.version == 0 && drain.joins.first?.epoch == 0)
  }

  @Test("commits past the buffer's limit during a catch-up are dropped and counted")
  func buffersSome() {
    var options = SessionOptions()
    options.maxBufferedBytes = 200
    var bench = PeerBench(options: options)
    bench.live(version: 5, lit)
    let request = bench.hub(bench.commits(after: 6, [[0: "7"]])).request
    for version in 7..<12 { bench.hub(bench.commits(after: Version(version), [[0: "\(version)"]])) }
    #expect(bench.session.counters.unbuffered > 0)
    let healed = bench.catchUp(request, from: 5, version: 6, [Entry(name: "level", value: "6", version: 6)])
    #expect(healed.joins.isEmpty && bench.session.version(of: "lamp").version >= 7)
    #expect(bench.hub(bench.head(12, digest: 0)).joins.count == 1)
  }

  @Test("a head beyond the replica reveals the lost last commit")
  func headBeyond() {
    var bench = followed()
    let drain = bench.hub(bench.head(6, digest: 0))
    #expect(drain.notices == [.gap(model: "lamp", from: 5, to: 6)])
    #expect(drain.joins.first?.version == 5)
  }

  @Test("a head with an equal digest is ignored; a different digest requests a snapshot")
  func digest() {
    var bench = followed()
    let digest =
      fieldDigest(name: "level", version: 4, value: json("0.3"))
      &+ fieldDigest(name: "on", version: 5, value: json("true"))
    let same = bench.hub(bench.head(5, digest: digest))
    #expect(same.joins.isEmpty && same.notices.isEmpty)
    bench.hub(bench.commits(after: 5, [[0: "1", 1: nil]]))
    #expect(bench.hub(bench.head(6, digest: fieldDigest(name: "level", version: 6, value: json("1")))).joins.isEmpty)
    let other = bench.hub(bench.head(6, digest: 1))
    #expect(other.notices == [.diverged(model: "lamp", version: 6)])
    #expect(other.joins.first?.version == 0 && other.joins.first?.epoch == 0)
    let healed = bench.catchUp(other.request, version: 6, [Entry(name: "level", value: "5", version: 6)])
    #expect(healed.changes == ["level 1 5"])
  }

  @Test("a diverged replica keeps its version until its replacement is complete")
  func keepsItsVersion() throws {
    var bench = followed()
    let diverged = bench.hub(bench.head(5, digest: 1))
    #expect(diverged.join.version == 0 && bench.session.version(of: "lamp").version == 5)
    #expect(try bench.write(.set(["n": "1"])).drain.updates.map(\.version) == [5])
    bench.catchUp(diverged.request, version: 5, lit)
    #expect(bench.hub(bench.head(6, digest: 0)).join.version == 5)
  }

  @Test("a delta that ends in a new epoch is requested again as a snapshot, and changes nothing meanwhile")
  func endsInNewEpoch() {
    var bench = followed()
    let request = bench.hub(bench.head(6, digest: 0)).request
    bench.hub(
      bench.joined(request, version: 6, follows: .delta),
      bench.chunk(request, from: 5, version: 6, [lit[0]], isLast: false))
    bench.epoch += 1
    let again = bench.hub(bench.chunk(request, from: 5, version: 6, [], chunk: 1, namesKnown: 2))
    #expect(again.join.version == 0 && again.join.epoch == 0 && again.updates.isEmpty)
    #expect(bench.session.version(of: "lamp") == (100, 5))
    bench.catchUp(again.request, version: 6, lit)
    #expect(bench.session.version(of: "lamp") == (101, 6))
  }

  @Test("commits under a former topic are ignored once the model was recreated under another")
  func formerTopic() {
    var bench = PeerBench()
    bench.join()
    bench.open()
    let request = bench.welcome().request
    bench.hub(bench.assigned(request))
    bench.hub(bench.commits(after: 5, [[2: "1"]], names: NamesRun(first: 2, names: ["old"])))
    bench.hub(
      bench.assigned(request, PeerBench.lamp + 1),
      bench.joined(request, version: 8, follows: .snapshot, topic: PeerBench.lamp + 1),
      bench.chunk(request, version: 8, lit))
    bench.hub(
      bench.commits(after: 8, [[2: "7"]], names: NamesRun(first: 2, names: ["new"])), topic: PeerBench.lamp + 1)
    #expect(bench.shown("new") == "7" && bench.shown("old") == nil)
  }

  @Test("a missed heartbeat requests the heads, which reveal lost commits")
  func missedHeartbeat() {
    var bench = followed()
    bench.hub(bench.heartbeat(1))
    #expect(!bench.hub(bench.heartbeat(2)).asksHeads)
    let drain = bench.hub(bench.heartbeat(4))
    #expect(drain.asksHeads && drain.notices == [.missedHeartbeat(last: 2)])
    let heads = HubMessage.heads(
      HeadsAnswer(
        session: bench.sessionID, epoch: 100, heads: [ModelHead(topic: PeerBench.lamp, version: 9, digest: 0)]))
    #expect(bench.hub(heads).joins.count == 1)
  }

  @Test("every heartbeat is answered with the changed models only")
  func alive() {
    var bench = followed()
    #expect(bench.hub(bench.heartbeat(1)).alives.first?.entries.map(\.applied) == [5])
    #expect(bench.hub(bench.heartbeat(2)).alives == [Alive(heartbeat: 2)])
    bench.hub(bench.commits(after: 5, [[0: "1"]]))
    #expect(bench.hub(bench.heartbeat(3)).alives.first?.entries.map(\.applied) == [6])
    #expect(bench.hub(bench.heartbeat(3)).alives.isEmpty)
  }

  @Test("a commit of another epoch leads to a catch-up and does not show")
  func otherEpoch() {
    var bench = followed()
    let drain = bench.hub(bench.commits(after: 5, [[0: "1"]], epoch: 101))
    #expect(drain.joins.count == 1 && bench.shown("level") == "0.3")
  }

  @Test("frames of another start, of unknown topics and malformed ones are dropped and counted")
  func dropped() {
    var bench = followed()
    let frame = bench.commits(after: 5, [[0: "1"]])
    bench.hub(frame, start: 8)
    bench.hub(frame, topic: PeerBench.lamp + 1)
    bench.deliver([[1, 2, 3], Array(frame.encode(topic: PeerBench.lamp, start: 7).dropLast())])
    #expect(bench.session.counters.otherStart == 1)
    #expect(bench.session.counters.otherTopic == 1)
    #expect(bench.session.counters.badFrames == 2)
    #expect(bench.shown("level") == "0.3")
    #expect(bench.hub(frame).changes == ["level 0.3 1"])
  }

  @Test("a write during the delivery of a commit has one hop more than the commit")
  func hops() {
    var bench = followed()
    #expect(bench.hub(bench.commits(after: 5, [[0: "1"]], hops: 3)).updates.first?.proposalHops == 4)
  }
}
