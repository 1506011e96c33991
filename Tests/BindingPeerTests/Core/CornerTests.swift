import BindingPeer
import Testing

@Suite("Corner cases of a session")
struct CornerTests {
  let lit = [Entry(name: "level", value: "0.3", version: 4), Entry(name: "on", value: "true", version: 5)]
  func followed(options: SessionOptions = SessionOptions()) -> PeerBench {
    var bench = PeerBench(options: options)
    bench.live(version: 5, lit)
    return bench
  }

  @Test("an own earlier commit does not make an old plain set conflict")
  func ownEarlier() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    bench.lose()
    try bench.set(["level": "0.9"])
    bench.now += 15_000
    let drain = bench.live(
      version: 6, [Entry(name: "level", value: "0.8", version: 6, origin: PeerBench.me), lit[1]], lastDecided: 1,
      knew: true)
    #expect(drain.proposals.first { $0.number == 2 }?.conditions.isEmpty == true)
  }

  @Test("a write has one outcome although the frame could not be applied")
  func oneOutcome() throws {
    var bench = followed()
    try bench.set(["level": "0.8"])
    let first = bench.hub(bench.commits(after: 5, [[0: "0.8"], [9: "1"]], own: [0: 1]))
    let request = first.request
    let second = bench.catchUp(
      request, version: 7, [Entry(name: "level", value: "0.8", version: 6, origin: PeerBench.me), lit[1]],
      lastDecided: 1)
    #expect(first.settled.count + second.settled.count == 1)
  }

  @Test("a plain set does not supersede across a guard on its field")
  func acrossGuard() throws {
    var bench = PeerBench()
    bench.join()
    try bench.set(["a": "1"])
    var guarded = Proposal.set(["b": "1"])
    guarded.conditions = [Condition(field: "a", epoch: 100, version: 3)]
    try bench.write(guarded)
    #expect(try bench.write(.set(["a": "2"])).drain.settled.isEmpty)
  }

  @Test("a full outbox still accepts a write that supersedes another")
  func fullOutboxCoalesces() throws {
    var options = SessionOptions()
    options.maxOutboxWrites = 1
    var bench = PeerBench(options: options)
    bench.join()
    try bench.set(["a": "1"])
    #expect(throws: Never.self) { try bench.set(["a": "2"]) }
  }

  @Test("a condition on a field absent from a snapshot names the snapshot's version")
  func absent() throws {
    var bench = followed()
    bench.lose()
    bench.live(version: 8, [lit[0]], knew: true)
    #expect(bench.session.fieldRecord("lamp", "on")?.version == 8)
  }

  @Test("a local update keeps the hops of its proposal")
  func localHops() throws {
    var bench = followed()
    let proposal = Proposal(operations: [FieldOperation(.set, "on", json("false"))], hops: 4)
    #expect(try bench.write(proposal).drain.updates.first?.proposalHops == 4)
  }

  @Test("offer chunks stay within chunkBytes")
  func chunkBytes() {
    var limits = Limits()
    limits.chunkBytes = 1_000
    var bench = PeerBench()
    let origin = Origin(tag: PeerBench.other.tag, name: String(repeating: "n", count: 64))
    bench.join()
    bench.open()
    let request = bench.welcome(limits: limits).request
    let names = (0..<40).map { "field-\($0)" }
    let entries = names.indices.map {
      CatchupEntry(field: FieldID($0), version: 1, origin: 0, number: 1, time: 0, value: json("1"))
    }
    bench.hub(
      bench.assigned(request), bench.joined(request, version: 1, follows: .snapshot),
      .catchup(
        CatchupChunk(
          session: bench.sessionID, request: request, epoch: 100, previous: 0, version: 1, form: .snapshot, chunk: 0,
          isLast: true, lastDecided: 0, origins: [origin], names: NamesRun(first: 0, names: names), entries: entries)))
    let drain = bench.hub(.askOffer(AskOffer(session: bench.sessionID, request: 1, topic: PeerBench.lamp)))
    let sizes = drain.offers.map { PeerMessage.offer($0).encode(session: 1, start: 1).count }
    #expect(sizes.allSatisfy { $0 <= 1_000 })
  }

  @Test("an add of a non-number throws")
  func notANumber() throws {
    var bench = followed()
    #expect(throws: WriteError.notANumber(field: "level", problem: #""x" is not a finite number, which add needs"#)) {
      try bench.write(.one(.add, "level", "\"x\""))
    }
  }

  @Test("300 conditions do not crash")
  func manyConditions() async {
    await #expect(processExitsWith: .success) {
      var bench = PeerBench()
      bench.live()
      var proposal = Proposal.set(["a": "1"])
      proposal.conditions = (0..<300).map { Condition(field: "f\($0)", epoch: 100, version: 0) }
      _ = try? bench.write(proposal)
    }
  }

  @Test("an old plain set of 300 fields does not crash")
  func manyFields() async {
    await #expect(processExitsWith: .success) {
      var bench = PeerBench()
      bench.live(version: 1, [Entry(name: "f0", value: "1", version: 1)])
      bench.lose()
      var fields: [String: String] = [:]
      for number in 0..<300 { fields["f\(number)"] = "2" }
      _ = try? bench.set(fields)
      bench.now += 20_000
      bench.live(version: 2, [Entry(name: "f0", value: "3", version: 2)], knew: true)
    }
  }
}
