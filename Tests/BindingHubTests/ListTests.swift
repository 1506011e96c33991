import BindingHub
import BindingProtocol
import Testing

/// The verbs of lists (protocol.md §6.5): places, conflicts, refusals, conditions.
@Suite struct ListTests {
  private var bench = ListBench()

  init() { for id in ["a", "b", "c"] { bench.write(.insert(id)) } }

  // MARK: Places

  @Test("elements are added at the end, and the head counts them")
  mutating func ends() {
    #expect(bench.ids() == ["a", "b", "c"])
    #expect(bench.hub.read().values["cues"] == #"{"$list":3}"#)
    #expect(bench.array() == "[1,1,1]")
  }

  @Test(
    "an element is put after one, else before the other, else at the end",
    arguments: [
      ("a", nil, ["a", "x", "b", "c"]), ("a", "c", ["a", "x", "b", "c"]), ("c", nil, ["a", "b", "c", "x"]),
      (nil, "a", ["x", "a", "b", "c"]), (nil, "c", ["a", "b", "x", "c"]), ("gone", "b", ["a", "x", "b", "c"]),
      ("gone", "gone", ["a", "b", "c", "x"]), ("gone", nil, ["a", "b", "c", "x"]), (nil, nil, ["a", "b", "c", "x"]),
    ] as [(String?, String?, [String])])
  mutating func places(_ after: String?, _ before: String?, _ order: [String]) {
    #expect(bench.write(.insert("x", after: after, before: before)) == .committed(5))
    #expect(bench.ids() == order)
  }

  @Test(
    "an element is moved by the same rules",
    arguments: [
      ("a", "c", nil, ["b", "c", "a"]), ("c", nil, "a", ["c", "a", "b"]), ("a", "gone", "c", ["b", "a", "c"]),
      ("a", nil, nil, ["b", "c", "a"]),
    ] as [(String, String?, String?, [String])])
  mutating func moves(_ id: String, _ after: String?, _ before: String?, _ order: [String]) {
    #expect(bench.write(.move(id, after: after, before: before)) == .committed(5))
    #expect(bench.ids() == order)
    #expect(bench.hub.read().fields["cues"]?.version == 5, "the head changes with the order")
  }

  @Test("a move to where the element stands is unchanged", arguments: [("b", "a"), ("c", nil), ("a", nil)])
  mutating func stands(_ id: String, _ after: String?) {
    let before = id == "a" ? "b" : nil
    #expect(bench.write(.move(id, after: after, before: before)) == .unchanged)
    #expect(bench.ids() == ["a", "b", "c"])
  }

  @Test("of two moves of one element the later decides")
  mutating func later() {
    bench.write(.move("a", after: "c"))
    #expect(bench.write(.move("a", after: "b"), by: .ben) == .committed(6))
    #expect(bench.ids() == ["b", "a", "c"])
  }

  @Test("operations of one proposal see what those before them did, and make one commit with each field once")
  mutating func several() throws {
    let operations: [WireOperation] = [
      .insert("x", "5", after: "a"), .insert("y", "6", after: "x"), .move("x", after: "c"), .replace("x", "7"),
      .remove("b"),
    ]
    let received = bench.hub.send(.ben, .propose([.of(1, operations)]))
    #expect(received.outcomes(.ben) == [1: .committed(5)])
    let commit = try #require(received.commits().first?.commits.first)
    #expect(Set(commit.changes.map(\.field)).count == commit.changes.count)
    #expect(commit.changes.count == 4, "x, y, b and the head")
    #expect(bench.ids() == ["a", "y", "c", "x"])
    #expect(bench.array() == "[1,6,1,7]")
  }

  @Test("an element that a proposal removes can be inserted again by the same proposal")
  mutating func again() {
    #expect(bench.write(.remove("a"), .insert("a", "9", after: "c")) == .committed(5))
    #expect(bench.array() == "[1,1,9]")
    #expect(bench.write(.delete("cues"), .insert("a", "3")) == .committed(6))
    #expect(bench.array() == "[3]")
  }

  // MARK: Conflicts

  @Test("an insert of a present id is a conflict on it and changes nothing")
  mutating func present() {
    guard case .conflict(let conflict)? = bench.write(.insert("a", "9"), by: .ben) else {
      Issue.record("no conflict")
      return
    }
    #expect(conflict.field == "cues@a" && conflict.origin == Speaker.ann.origin)
    #expect(bench.array() == "[1,1,1]")
  }

  @Test(
    "a move or replace of an absent id is a conflict, never an insert",
    arguments: [WireOperation.move("x"), .replace("x", "2"), .move("gone"), .replace("gone", "2")])
  mutating func absent(_ operation: WireOperation) {
    bench.write(.insert("gone"))
    bench.write(.remove("gone"))
    guard case .conflict(let conflict)? = bench.write(operation) else {
      Issue.record("no conflict")
      return
    }
    #expect(conflict.value == nil)
    #expect(bench.ids() == ["a", "b", "c"])
    #expect(bench.write(.insert("d")) == .committed(7), "nothing of it stays")
  }

  @Test("removing an absent element is unchanged")
  mutating func removedTwice() {
    #expect(bench.write(.remove("a")) == .committed(5))
    #expect(bench.write(.remove("a")) == .unchanged)
    #expect(bench.write(.remove("never")) == .unchanged)
    #expect(bench.ids() == ["b", "c"])
  }

  @Test("the head holds for order and members, an element for itself")
  mutating func conditions() {
    #expect(bench.write(.replace("a", "2")) == .committed(5))
    let unchanged = WireCondition.unchanged("cues", since: 4)
    #expect(bench.write(.insert("d"), if: [unchanged]) == .committed(6), "a replace leaves order and members")
    #expect(bench.write(.remove("d"), if: [unchanged])?.isConflict == true)
    #expect(bench.write(.remove("a"), if: [.unchanged("cues@a", since: 4)])?.isConflict == true)
    #expect(bench.write(.remove("b"), if: [.unchanged("cues@b", since: 4)]) == .committed(7))
  }

  // MARK: Whole lists

  @Test("deleting the head deletes all elements in one commit")
  mutating func deleteList() {
    bench.write(.set("level", "1"))
    #expect(bench.write(.delete("cues")) == .committed(6))
    #expect(bench.hub.read().values.keys.sorted() == ["@description", "level"])
    #expect(bench.write(.delete("cues")) == .unchanged)
    #expect(bench.write(.insert("a", "4")) == .committed(7))
    #expect(bench.array() == "[4]")
  }

  @Test("clear deletes lists too, and what comes after begins anew")
  mutating func clear() {
    #expect(bench.write(WireOperation(verb: .clear, field: .id(0), value: nil)) == .committed(5))
    #expect(bench.hub.read().values.isEmpty)
    #expect(bench.write(.insert("a"))?.refusal == .doesNotFit, "the description is gone too")
    bench.write(.set("@description", ListBench.description))
    #expect(bench.write(.insert("a")) == .committed(7))
    #expect(bench.ids() == ["a"])
  }

  @Test("a proposal that inserts and clears is refused as a whole")
  mutating func insertAndClear() {
    let clear = WireOperation(verb: .clear, field: .id(0), value: nil)
    #expect(bench.write(.insert("x"), clear)?.refusal == .duplicateField)
    #expect(bench.write(clear, .insert("x"))?.refusal != nil)
    #expect(bench.ids() == ["a", "b", "c"])
    #expect(bench.write(.insert("x", after: "a")) == .committed(5))
    #expect(bench.ids() == ["a", "x", "b", "c"])
  }

  // MARK: Refusals

  @Test(
    "nothing but the verbs of lists writes into a list",
    arguments: [Verb.set, .add, .max, .min, .union], ["cues", "cues@a", "cues@new"])
  mutating func plainly(_ verb: Verb, _ field: String) {
    let value = verb == .union ? "[1]" : "1"
    let outcome = bench.write(.of(verb, field, value))
    #expect(outcome?.refusal == .doesNotFit)
    #expect(ListBench.text(outcome)?.contains("insert, move, replace or delete") == true)
    #expect(bench.ids() == ["a", "b", "c"])
  }

  @Test("an element must fit the rule of its list", arguments: [WireOperation.insert("x", "-1"), .replace("a", "-1")])
  mutating func rule(_ operation: WireOperation) {
    let outcome = bench.write(operation)
    #expect(outcome?.refusal == .doesNotFit)
    #expect(ListBench.text(outcome)?.hasSuffix(": -1 is not in 0...") == true)
    #expect(ListBench.text(outcome)?.hasPrefix("lamp.cues@") == true)
  }

  @Test("a field that is not described as a list has no elements, and the text names the cure")
  mutating func undescribed() {
    let outcome = bench.write(.insert("x", in: "level"))
    #expect(outcome?.refusal == .doesNotFit)
    #expect(ListBench.text(outcome)?.contains(#"describe it with "policy":"list""#) == true)
  }

  @Test(
    "a malformed operation is refused",
    arguments: [
      (WireOperation.of(.insert, "cues", "{\"is\":1}"), .malformedValue),
      (.of(.insert, "cues@x", "1"), .malformedValue),
      (.of(.insert, "cues@x", "{\"after\":\"a\"}"), .malformedValue),
      (.of(.insert, "cues@x", "{\"is\":1,\"afer\":\"a\"}"), .malformedValue),
      (.of(.move, "cues@a", "{\"is\":1}"), .malformedValue), (.of(.move, "cues@a", "{\"after\":7}"), .malformedValue),
      (.of(.move, "cues@a", "{\"after\":\"é\"}"), .malformedValue), (.move("a", after: "a"), .malformedValue),
      (.of(.replace, "cues@a", "{"), .malformedValue), (.of(.insert, "cues@", "{\"is\":1}"), .badName),
      (.of(.insert, "cues@a@b", "{\"is\":1}"), .badName),
      (.of(.insert, "cues@" + String(repeating: "x", count: 41), "{\"is\":1}"), .badName),
      (.of(.move, "cues@a.b", "{}"), .badName), (.of(.insert, "@peer-1@x", "{\"is\":1}"), .badName),
    ] as [(WireOperation, RefusalCode)])
  mutating func malformed(_ operation: WireOperation, _ code: RefusalCode) {
    #expect(bench.write(operation)?.refusal == code)
    #expect(bench.ids() == ["a", "b", "c"])
  }

  @Test("an element may have as many bytes as leave room for its rank, and be as deep as a value")
  mutating func limits() {
    bench = ListBench { $0.limits.maxValueBytes = 100 }
    bench.write(.set("@description", #"{"fields":{"cues":{"policy":"list"}}}"#))
    func text(_ count: Int) -> String { "\"\(String(repeating: "x", count: count - 2))\"" }
    #expect(bench.write(.insert("a", text(68))) == .committed(3))
    #expect(bench.write(.replace("a", text(69)))?.refusal == .valueTooLarge)
    func deep(_ count: Int) -> String { String(repeating: "[", count: count) + String(repeating: "]", count: count) }
    bench = ListBench()
    bench.write(.set("@description", #"{"fields":{"cues":{"policy":"list"}}}"#))
    #expect(bench.write(.insert("a", deep(127))) == .committed(3))
    #expect(bench.write(.replace("a", deep(128)))?.refusal == .malformedValue)
  }

  @Test("an ephemeral model has no lists")
  mutating func ephemeral() {
    bench.hub.send(.ann, .join([Join(request: 2, model: "@ephemeral/lamp")]))
    let topic = bench.hub.machine.topic(of: "@ephemeral/lamp") ?? 0
    bench.hub.subscribe(.ann, Topics.bytes(topic))
    let outcomes = bench.hub.send(
      .ann, .propose([.of(1, [.insert("x")], topic: topic), .of(2, [.set("cues", "[]")], topic: topic)])
    ).outcomes(.ann, topic: topic)
    #expect(outcomes[1]?.refusal == .doesNotFit && outcomes[2]?.refusal == .doesNotFit)
  }

  // MARK: Undone proposals

  @Test("a proposal that fails midway leaves order, members and ranks as they were")
  mutating func rollback() {
    let before = bench.hub.read().values
    let outcome = bench.write(
      .insert("x", after: "a"), .move("c", before: "a"), .remove("b"), .replace("a", "5"), .set("level", "{"))
    #expect(outcome?.refusal == .malformedValue)
    #expect(bench.hub.read().values == before)
    bench.write(.insert("x", after: "a"))
    #expect(bench.ids() == ["a", "x", "b", "c"])
  }

  @Test("operations on a batch that the store did not take never happened")
  mutating func dropped() {
    bench.hub.settling = .later
    bench.write(.insert("x", after: "a"), .remove("b"))
    bench.hub.settle(.full)
    bench.hub.settling = .atOnce
    bench.hub.wait(2_000)
    #expect(bench.ids() == ["a", "b", "c"])
    let outcomes = bench.hub.propose(.ben, .of(1, [.insert("y", before: "b")]))
    #expect(outcomes[1] == .committed(5))
    #expect(bench.ids() == ["a", "y", "b", "c"])
  }
}

extension WireOutcome.Rest {
  fileprivate var isConflict: Bool { if case .conflict = self { true } else { false } }
}
