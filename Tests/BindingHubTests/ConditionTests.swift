import BindingHub
import BindingProtocol
import Testing

/// Compare-and-set: a proposal with conditions.
@Suite struct ConditionTests {
  var bench = HubBench()

  init() {
    bench.live(.ann)
    bench.live(.ben)
    bench.write(.ann, 1, .set("a", "1"), .set("b", "1"))
  }

  private mutating func compare(
    _ number: ProposalNumber, _ conditions: WireCondition..., set: WireOperation = .set("a", "9")
  ) -> WireOutcome.Rest? {
    bench.propose(.ben, .of(number, [set], conditions: conditions))[number]
  }

  @Test("a condition holds while the field is unchanged")
  mutating func accepted() {
    #expect(compare(1, .unchanged("a", since: 1)) == .committed(2))
  }

  @Test(
    "a condition on an invalid field name is refused, also if it was never written", arguments: ["ä", "a.b", "@x", ""])
  mutating func badName(_ name: String) {
    #expect(compare(1, .unchanged(name, since: 0))?.refusal == .badName)
    #expect(compare(2, .unchanged("unheard-of", since: 0)) == .committed(2))
  }

  @Test("a condition holds although other fields have changed")
  mutating func otherFields() {
    bench.write(.ann, 2, .set("b", "2"))
    #expect(compare(1, .unchanged("a", since: 1)) == .committed(3))
  }

  @Test("a changed field is a conflict that reports the value, its writer and its age")
  mutating func conflict() {
    bench.write(.ann, 2, .set("a", "2"))
    bench.now += 250
    let expected = Conflict(
      field: "a", version: 2, origin: Speaker.ann.origin, ageMilliseconds: 250, value: json("2"))
    #expect(compare(1, .unchanged("a", since: 1)) == .conflict(expected))
    #expect(bench.read().values == ["a": "2", "b": "1"])
    #expect(bench.counters.conflicts == 1)
  }

  @Test("a deleted field is a conflict that reports the deletion")
  mutating func conflictWithDeletion() {
    bench.write(.ann, 2, .delete("a"))
    let conflict = compare(1, .unchanged("a", since: 1))?.conflict
    #expect(conflict?.version == 2)
    #expect(conflict?.value == nil)
  }

  @Test("a conflict raises the last decided number")
  mutating func conflictRaisesLastDecided() {
    bench.write(.ann, 2, .set("a", "2"))
    #expect(compare(1, .unchanged("a", since: 1))?.conflict != nil)
    #expect(compare(2, .unchanged("a", since: 2)) == .committed(3))
  }

  @Test("one failed condition of several is a conflict")
  mutating func oneOfSeveral() {
    bench.write(.ann, 2, .set("b", "2"))
    #expect(compare(1, .unchanged("a", since: 1), .unchanged("b", since: 1))?.conflict?.field == "b")
  }

  @Test("a condition on a field that the proposal does not write counts too")
  mutating func onAnother() {
    bench.write(.ann, 2, .set("b", "2"))
    #expect(compare(1, .unchanged("b", since: 1), set: .set("c", "1"))?.conflict?.field == "b")
    #expect(bench.read().values["c"] == nil)
  }

  @Test("a conflict with an earlier proposal of the same batch reports its value")
  mutating func inOneBatch() {
    let received = bench.together([
      (.ann, .propose([.of(2, [.set("a", "2")])])),
      (.ben, .propose([.of(1, [.set("a", "9")], conditions: [.unchanged("a", since: 1)])])),
    ])
    let conflict = received.outcomes(.ben)[1]?.conflict
    #expect(conflict?.version == 2)
    #expect(conflict?.value == json("2"))
    #expect(conflict?.origin == Speaker.ann.origin)
  }

  @Test("a repeat gets the same conflict, also one with an earlier proposal of the same batch")
  mutating func repeated() {
    let lost = NumberedProposal.of(1, [.set("a", "9")], conditions: [.unchanged("a", since: 1)])
    let received = bench.together([(.ann, .propose([.of(2, [.set("a", "2")])])), (.ben, .propose([lost]))])
    #expect(bench.propose(.ben, lost)[1]?.conflict == received.outcomes(.ben)[1]?.conflict)
  }

  // MARK: Versions that cannot be

  @Test("a condition on a version beyond the head is refused", arguments: ["a", "new"])
  mutating func beyondHead(_ field: String) {
    #expect(compare(1, .unchanged(field, since: 2))?.refusal == .versionBeyondHead)
    #expect(bench.read().version == 1)
  }

  @Test("a condition on a version of another epoch is a conflict, whatever its number", arguments: [Version(1), 50])
  mutating func otherEpoch(_ version: Version) {
    #expect(compare(1, .unchanged("a", since: version, epoch: HubBench.oldEpoch))?.conflict?.value == json("1"))
  }

  @Test("a condition on a version of another epoch is a conflict also for a field not written since")
  mutating func otherEpochUnwritten() {
    let conflict = compare(1, .unchanged("new", since: 4, epoch: HubBench.oldEpoch))?.conflict
    #expect(conflict == Conflict(field: "new", version: 0, origin: .none, ageMilliseconds: 0, value: nil))
  }

  // MARK: Never written

  @Test("a condition on version 0 holds for a field that was never written")
  mutating func neverWritten() {
    #expect(compare(1, .unchanged("new", since: 0), set: .set("new", "1")) == .committed(2))
  }

  @Test("a condition on version 0 conflicts once the field was written or deleted", arguments: [false, true])
  mutating func wasWritten(_ isDeleted: Bool) {
    if isDeleted { bench.write(.ann, 2, .delete("a")) }
    #expect(compare(1, .unchanged("a", since: 0))?.conflict?.field == "a")
  }

  @Test("a condition on an unknown field id is refused")
  mutating func unknownID() {
    let condition = WireCondition(epoch: HubBench.epoch, version: 1, field: .id(40))
    #expect(compare(1, condition)?.refusal == .unknownField)
  }
}
