import BindingPeer
import Testing

@Suite("Unsent writes are coalesced")
struct CoalescingTests {
  /// A session that has never had a hub.
  func alone(_ options: SessionOptions = SessionOptions()) -> PeerBench {
    var bench = PeerBench(options: options)
    bench.join()
    return bench
  }

  @Test("a write before any hub shows, and waits")
  func showsAlone() throws {
    var bench = alone()
    let drain = try bench.write(.set(["level": "0.8"])).drain
    #expect(drain.changes == ["level - 0.8"] && drain.sent.isEmpty)
    #expect(bench.live().numbers == [1])
  }

  @Test("a plain set supersedes an earlier one whose fields it all sets")
  func replaces() throws {
    var bench = alone()
    let first = try bench.set(["level": "1"])
    let second = try bench.write(.set(["level": "2", "on": "true"])).drain
    #expect(second.settled.map(\.id) == [first] && second.outcomes == [.superseded])
    let third = try bench.write(.set(["level": "3"])).drain
    #expect(third.settled.isEmpty)
    #expect(bench.shown("level") == "3" && bench.shown("on") == "true")
    #expect(bench.live().proposals.map { $0.operations.count } == [2, 1])
  }

  @Test("a plain set does not supersede across an add, a default or a delete of its field")
  func notAcross() throws {
    for between in [Proposal.one(.add, "level", "1"), .one(.setIfAbsent, "level", "1"), .one(.delete, "level")] {
      var bench = alone()
      try bench.set(["level": "1"])
      try bench.write(between)
      #expect(try bench.write(.set(["level": "3"])).drain.settled.isEmpty)
      #expect(bench.live().numbers == [1, 2, 3])
    }
  }

  @Test("a plain set of several fields stays while another write overlays one of them")
  func coveredInPart() throws {
    var bench = alone()
    try bench.set(["a": "1", "b": "1"])
    try bench.write(.one(.add, "b", "1"))
    #expect(try bench.write(.set(["a": "2", "b": "2"])).drain.settled.isEmpty)
    #expect(bench.live().numbers == [1, 2, 3])
  }

  @Test("an add and a guarded set supersede nothing")
  func othersReplaceNothing() throws {
    var bench = alone()
    try bench.set(["level": "1"])
    #expect(try bench.write(.one(.add, "level", "1")).drain.settled.isEmpty)
    var guarded = Proposal.set(["level": "2"])
    guarded.conditions = [Condition(field: "level", epoch: 100, version: 3)]
    #expect(try bench.write(guarded).drain.settled.isEmpty)
  }

  /// A set on the condition that a field is unchanged.
  func guarded(_ fields: [String: String], on field: String) -> Proposal {
    var proposal = Proposal.set(fields)
    proposal.conditions = [Condition(field: field, epoch: 100, version: 3)]
    return proposal
  }

  @Test("a plain set does not supersede across a compare-and-set that writes its field or depends on it")
  func notAcrossConditions() throws {
    for between in [guarded(["level": "2"], on: "level"), guarded(["on": "true"], on: "level")] {
      var bench = alone()
      try bench.set(["level": "1"])
      try bench.write(between)
      #expect(try bench.write(.set(["level": "3"])).drain.settled.isEmpty)
      // Writes after the condition coalesce among themselves.
      #expect(try bench.write(.set(["level": "4"])).drain.outcomes == [.superseded])
      #expect(bench.live().numbers == [1, 2, 3])
    }
  }

  @Test("a plain set does not supersede across a merge of its field, and follows it", arguments: Verb.allCases)
  func notAcrossMerges(_ verb: Verb) throws {
    let operands: [Verb: String?] = [
      .add: "1", .max: "1", .min: "1", .union: "[1]", .delete: nil, .setIfAbsent: "1", .clear: nil,
    ]
    guard let operand = operands[verb] else { return }
    var bench = alone()
    try bench.set(["level": "1"])
    try bench.write(.one(verb, verb == .clear ? "" : "level", operand))
    #expect(try bench.write(.set(["level": "3"])).drain.settled.isEmpty)
    let sent = bench.live().proposals
    #expect(sent.map { $0.operations[0].verb } == [.set, verb, .set])
  }

  @Test(
    "a set that covers a part of an earlier one supersedes nothing, nor does one that covers it only with another")
  func partialOverlap() throws {
    var bench = alone()
    try bench.set(["a": "1", "b": "1"])
    #expect(try bench.write(.set(["b": "2", "c": "2"])).drain.settled.isEmpty)
    // The first one's b lies under the second's: the first stays whole, and the second is superseded.
    #expect(try bench.write(.set(["a": "3", "b": "3", "c": "3"])).drain.settled.count == 1)
    let sent = bench.live().proposals
    #expect(sent.map { $0.operations.count } == [2, 3])
  }

  /// Writes by rules; returns the resulting outcomes.
  private func write(
    _ fields: [String: String], _ rules: [String: RuledWrite] = [:], to bench: inout PeerBench
  ) throws -> [Outcome] {
    try bench.act { session, now, output throws(WriteError) in
      _ = try session.write(.set(fields), rules: rules, to: "lamp", now: now, into: &output)
    }.outcomes
  }

  @Test("a plain set and a compared set do not supersede each other; two compared sets do")
  func notAcrossRules() throws {
    var bench = alone()
    let compared = ["level": RuledWrite(.compareAndSet, base: json("1"))]
    #expect(try write(["level": "1"], to: &bench).isEmpty)
    #expect(try write(["level": "2"], compared, to: &bench).isEmpty)
    #expect(try write(["level": "3"], compared, to: &bench) == [.superseded])
    #expect(try write(["level": "4"], to: &bench).isEmpty)
    #expect(bench.session.unconfirmed == 3)
  }

  @Test("a plain set is not merged into a set that another field may end as a conflict")
  func notIntoACondition() throws {
    var bench = alone()
    let compared = ["b": RuledWrite(.compareAndSet, base: nil)]
    #expect(try write(["a": "1"], to: &bench).isEmpty)
    #expect(try write(["a": "2", "b": "2"], compared, to: &bench).isEmpty)
    #expect(bench.session.unconfirmed == 2)
  }

  @Test("of N sets of one field before there is a hub, one is sent, and each has its outcome")
  func manyCoalesce() throws {
    var bench = alone()
    var outcomes: [Outcome] = []
    for number in 1...1_000 { outcomes += try bench.write(.set(["level": "\(number)"])).drain.outcomes }
    #expect(outcomes.count == 999 && outcomes.allSatisfy { $0 == .superseded })
    #expect(bench.live().proposals.map { $0.operations[0].value } == [json("1000")])
  }

  @Test("a numbered write is never superseded, whatever happens to the connection")
  func numberedStays() throws {
    var bench = PeerBench()
    bench.live()
    try bench.set(["level": "1"])
    bench.lose()
    #expect(try bench.write(.set(["level": "2"])).drain.settled.isEmpty)
    let sent = bench.live(knew: true).proposals
    #expect(sent.map(\.number) == [1, 2])
    #expect(sent.map { $0.operations[0].value } == [json("1"), json("2")])
  }

  @Test("a withdrawn unsent write ends as expired and no longer shows")
  func withdrawn() throws {
    var bench = alone()
    let id = try bench.set(["level": "1"])
    let drain = bench.act { session, now, output in
      let first = session.withdraw(id, now: now, into: &output)
      let second = session.withdraw(id, now: now, into: &output)
      #expect(first && !second)
    }
    #expect(drain.outcomes == [.expired] && drain.changes == ["level 1 -"])
    #expect(bench.live().numbers.isEmpty)
  }

  @Test("a write past the outbox's limit of writes or bytes throws and shows nothing")
  func bounded() throws {
    var options = SessionOptions()
    options.maxOutboxWrites = 2
    var bench = alone(options)
    try bench.set(["a": "1"])
    try bench.set(["b": "1"])
    #expect { try bench.set(["c": "1"]) } throws: { error in
      if case .outboxFull(let writes, _) = error as? WriteError { writes == 2 } else { false }
    }
    #expect(bench.shown("c") == nil)
    options.maxOutboxWrites = 10
    options.maxOutboxBytes = 200
    var narrow = alone(options)
    #expect(throws: WriteError.self) { for name in ["a", "b", "c", "d"] { try narrow.set([name: "1"]) } }
  }

  @Test("a write past the hub's limits throws and names the limit")
  func limits() throws {
    var limits = Limits()
    limits.maxValueBytes = 10
    limits.maxProposalFields = 2
    var bench = PeerBench()
    bench.live(limits: limits)
    #expect(throws: WriteError.valueTooLarge(field: "a", bytes: 11, limit: 10)) { try bench.set(["a": "12345678901"]) }
    #expect(throws: WriteError.tooManyFields(count: 3, limit: 2)) { try bench.set(["a": "1", "b": "1", "c": "1"]) }
    #expect {
      try bench.write(Proposal(operations: [FieldOperation(.set, "a", json("1"))], hops: 9))
    } throws: { error in
      if case .loop(hops: 9, limit: 8, _) = error as? WriteError { true } else { false }
    }
    #expect(bench.session.unconfirmed == 0 && bench.shown("a") == nil)
  }

  @Test("a malformed write throws")
  func malformed() throws {
    var bench = alone()
    let twice = Proposal(operations: [FieldOperation(.set, "a", json("1")), FieldOperation(.set, "a", json("2"))])
    #expect(throws: WriteError.empty) { try bench.write(Proposal(operations: [])) }
    #expect(throws: WriteError.duplicateField("a")) { try bench.write(twice) }
    let problem = "not JSON at byte 1: a member begins with its name in quotation marks"
    #expect(throws: WriteError.notJSON(field: "a", problem: problem)) { try bench.set(["a": "{"]) }
    #expect(throws: WriteError.valueMismatch(field: "a", .set)) { try bench.write(.one(.set, "a")) }
    #expect(throws: WriteError.valueMismatch(field: "a", .delete)) { try bench.write(.one(.delete, "a", "1")) }
    #expect(throws: WriteError.notJoined(model: "door")) { try bench.write(.set(["a": "1"]), to: "door") }
    #expect(throws: WriteError.self) { try bench.set(["a b": "1"]) }
  }
}
