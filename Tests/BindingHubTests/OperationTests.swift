import BindingHub
import BindingProtocol
import Testing

/// What each verb does, and that a proposal is applied whole or not at all.
@Suite struct OperationTests {
  var bench = HubBench()

  init() {
    bench.live(.ann)
    bench.live(.ben)
  }

  // MARK: Several fields

  @Test("several fields of one proposal are one commit and one version")
  mutating func several() throws {
    let received = bench.send(.ann, .propose([.of(1, [.set("a", "1"), .set("b", "2"), .set("c", "3")])]))
    let group = try #require(received.commits().first)
    #expect(group.commits.map(\.changes.count) == [3])
    #expect(bench.read().fields.mapValues(\.version) == ["a": 1, "b": 1, "c": 1])
  }

  @Test("a proposal that names a field twice is refused")
  mutating func twice() {
    #expect(bench.write(.ann, 1, .set("a", "1"), .set("a", "2"))?.refusal == .duplicateField)
    #expect(bench.read().values.isEmpty)
  }

  @Test(
    "a proposal that names a field twice is refused also when the first operation changes nothing",
    arguments: [WireOperation.delete("gone"), .of(.setIfAbsent, "here", "2")])
  mutating func twiceQuietly(_ first: WireOperation) {
    bench.write(.ann, 1, .set("here", "1"), .set("gone", "1"))
    bench.write(.ann, 2, .delete("gone"))
    guard case .name(let name) = first.field else { return }
    #expect(bench.write(.ann, 3, first, .set(name, "3"))?.refusal == .duplicateField)
  }

  @Test("a proposal without operations is unchanged")
  mutating func empty() {
    #expect(bench.write(.ann, 1) == .unchanged)
  }

  // MARK: Verbs

  @Test("delete removes the field, and a second delete is unchanged")
  mutating func delete() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ann, 2, .delete("a")) == .committed(2))
    #expect(bench.write(.ann, 3, .delete("a")) == .unchanged)
    #expect(bench.read().values.isEmpty)
    #expect(bench.counters.unchanged == 1)
  }

  @Test("setIfAbsent sets a field that never had a value")
  mutating func defaults() {
    #expect(bench.write(.ann, 1, .of(.setIfAbsent, "a", "1")) == .committed(1))
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("setIfAbsent is unchanged where a value exists")
  mutating func defaultYields() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ben, 1, .of(.setIfAbsent, "a", "2")) == .unchanged)
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("setIfAbsent does not restore a deleted field")
  mutating func defaultAfterDelete() {
    bench.write(.ann, 1, .set("a", "1"))
    bench.write(.ann, 2, .delete("a"))
    #expect(bench.write(.ben, 1, .of(.setIfAbsent, "a", "2")) == .unchanged)
    #expect(bench.read().values.isEmpty)
  }

  @Test("of several setIfAbsent operations those on absent fields are committed")
  mutating func someDefaults() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ben, 1, .of(.setIfAbsent, "a", "2"), .of(.setIfAbsent, "b", "3")) == .committed(2))
    #expect(bench.read().values == ["a": "1", "b": "3"])
  }

  @Test("clear deletes every field, and is unchanged on an empty model")
  mutating func clear() {
    bench.write(.ann, 1, .set("a", "1"), .set("b", "2"))
    let all = WireOperation(verb: .clear, field: .id(0), value: nil)
    #expect(bench.write(.ann, 2, all) == .committed(2))
    #expect(bench.read().values.isEmpty)
    #expect(bench.write(.ann, 3, all) == .unchanged)
  }

  @Test(
    "merges apply to the stored value",
    arguments: [
      (Verb.add, "5", "12"), (.add, "-0.5", "6.5"), (.max, "9", "9"), (.min, "3", "3"),
    ])
  mutating func merges(_ verb: Verb, _ operand: String, _ result: String) {
    bench.write(.ann, 1, .set("n", "7"))
    #expect(bench.write(.ben, 1, .of(verb, "n", operand)) == .committed(2))
    #expect(bench.read().values == ["n": result])
  }

  @Test(
    "a merge that changes nothing is unchanged: no commit, no version, the same bytes",
    arguments: [
      (Verb.add, "7.50", "0"), (.add, "7.50", "-0.0"), (.max, "7.50", "3"), (.max, "7.50", "7.5"), (.min, "7.50", "9"),
      (.union, "[ 1e400]", "[10e399]"), (.union, "[]", "[]"),
    ])
  mutating func idleMerges(_ verb: Verb, _ present: String, _ operand: String) {
    bench.write(.ann, 1, .set("n", present))
    #expect(bench.write(.ben, 1, .of(verb, "n", operand)) == .unchanged)
    #expect(bench.read().values == ["n": present] && bench.read().version == 1)
    #expect(bench.write(.ben, 2, .of(verb, "n", operand), .set("a", "1")) == .committed(2))
    #expect(bench.read().fields.mapValues(\.version) == ["n": 1, "a": 2])
  }

  @Test("a union keeps the bytes of the elements that it does not touch")
  mutating func unionBytes() {
    bench.write(.ann, 1, .set("tags", "[1e400, 123456789012345678901234567890,\"e\\u0301\"]"))
    bench.write(.ben, 1, .of(.union, "tags", "[\"\\u00e9\", 2e400]"))
    let all = "[1e400, 123456789012345678901234567890,\"e\\u0301\",\"\\u00e9\",2e400]"
    #expect(bench.read().values == ["tags": all])
  }

  @Test("two merges in one batch both count", arguments: [(Verb.add, "9"), (.max, "5"), (.min, "4")])
  mutating func mergesInOneBatch(_ verb: Verb, _ result: String) {
    let (start, first, second) =
      verb == .max ? ("1", "4", "5") : verb == .min ? ("8", "5", "4") : ("0", "4", "5")
    bench.write(.ann, 1, .set("n", start))
    let received = bench.together([
      (.ann, .propose([.of(2, [.of(verb, "n", first)])])), (.ben, .propose([.of(1, [.of(verb, "n", second)])])),
    ])
    #expect(received.commits().map(\.commits.count) == [2])
    #expect(bench.read().values == ["n": result])
  }

  @Test("a merge after a deletion in the same batch starts afresh")
  mutating func mergeAfterDelete() {
    bench.write(.ann, 1, .set("n", "7"))
    bench.propose(.ann, .of(2, [.delete("n")]), .of(3, [.of(.add, "n", "2")]))
    #expect(bench.read().values == ["n": "2"])
  }

  @Test(
    "a merge of something that is no number is refused",
    arguments: [("\"x\"", "1"), ("1", "\"x\""), ("true", "1"), ("1e308", "1e308")])
  mutating func notANumber(_ present: String, _ operand: String) {
    bench.write(.ann, 1, .set("n", present))
    #expect(bench.write(.ann, 2, .of(.add, "n", operand == "1e308" ? "1.7e308" : operand))?.refusal == .notANumber)
    #expect(bench.read().values == ["n": present])
  }

  @Test("lists are united, also across a batch; a union with a non-list or one that grows too long is refused")
  mutating func unions() {
    bench.write(.ann, 1, .set("tags", "[1]"))
    bench.together([
      (.ann, .propose([.of(2, [.of(.union, "tags", "[2,1]")])])),
      (.ben, .propose([.of(1, [.of(.union, "tags", "[3,2]")])])),
    ])
    #expect(bench.read().values == ["tags": "[1,2,3]"])
    #expect(bench.write(.ann, 3, .of(.union, "tags", "4"))?.refusal == .malformedValue)
    let long = "[\"" + String(repeating: "x", count: 40_000) + "\"]"
    #expect(bench.write(.ann, 4, .of(.union, "other", long)) == .committed(4))
    let longer = "[\"" + String(repeating: "y", count: 40_000) + "\"]"
    #expect(bench.write(.ann, 5, .of(.union, "other", longer))?.refusal == .valueTooLarge)
  }

  @Test("an unknown verb refuses only its own proposal", arguments: [UInt8(100), 200])
  mutating func unknownVerb(_ verb: UInt8) {
    var frame = Speaker.ann.frame(
      .propose([.of(1, [.set("a", "1")]), .of(2, [.set("b", "2")])]))
    // Header 13, count 2, and of the proposal 15 before its conditions' count and 2 for that of its operations.
    frame[13 + 2 + 15 + 1 + 2] = verb
    let outcomes = bench.deliver([frame], on: Speaker.ann.connection).outcomes(.ann)
    #expect(outcomes[1]?.refusal == .unknownVerb)
    #expect(outcomes[2] == .committed(1))
  }

  // MARK: Values and names

  @Test("a refusal names the position in the value, and the remedy")
  mutating func refusalsNamePosition() {
    func words(_ outcome: WireOutcome.Rest?) -> String? {
      if case .refused(let refusal)? = outcome { refusal.text } else { nil }
    }
    #expect(
      words(bench.write(.ann, 1, .set("f", "[1,NaN]"))) == #"f: not JSON at byte 3: NaN; write {"$float":"NaN"}"#)
    #expect(
      words(bench.write(.ann, 2, .of(.add, "n", "1e400"))) == "n: 1e400 is not a finite double, which add needs")
    #expect(
      words(bench.write(.ann, 3, .set("f", text(ofBytes: 65_537))))
        == "f has 65537 bytes; a value may have 65536 (maxValueBytes)")
  }

  @Test("a value that is not JSON is refused", arguments: ["{", "01", "\"\\ud800\"", "nul", ""])
  mutating func malformed(_ value: String) {
    #expect(bench.write(.ann, 1, .set("a", value))?.refusal == .malformedValue)
  }

  @Test(
    "an operation without its required value is refused",
    arguments: [Verb.set, .setIfAbsent, .add, .max, .min], ["new", "here"])
  mutating func missingValue(_ verb: Verb, _ field: String) {
    bench.write(.ann, 1, .set("here", "1"))
    #expect(bench.write(.ann, 2, .of(verb, field))?.refusal == .malformedValue)
  }

  @Test("an operation with a value that it does not take is refused", arguments: [Verb.delete, .clear])
  mutating func needlessValue(_ verb: Verb) {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ann, 2, .of(verb, "a", "1"))?.refusal == .malformedValue)
    #expect(bench.read().values == ["a": "1"])
  }

  @Test("a field name outside the grammar refuses its proposal", arguments: ["a/b", "ä", "a.b", "@other"])
  mutating func badName(_ name: String) {
    #expect(bench.write(.ann, 1, .set(name, "1"))?.refusal == .badName)
    #expect(bench.write(.ann, 2, .set("a", "1")) == .committed(1))
  }

  @Test("the description is a writable field")
  mutating func description() {
    #expect(bench.write(.ann, 1, .set("@description", "{}")) == .committed(1))
  }

  @Test("a field can be named by its id, and an unknown id is refused")
  mutating func byID() {
    bench.write(.ann, 1, .set("a", "1"))
    #expect(bench.write(.ben, 1, WireOperation(verb: .set, field: .id(0), value: json("2"))) == .committed(2))
    #expect(bench.write(.ben, 2, WireOperation(verb: .set, field: .id(1), value: json("2")))?.refusal == .unknownField)
    #expect(bench.read().values == ["a": "2"])
  }
}
