import BindingHub
import BindingProtocol
import Testing

/// The hub merges what programs declare.
@Suite("The verb describe") struct DescribeTests {
  private var bench = HubBench()
  private var numbers: [String: ProposalNumber] = [:]

  init() {
    bench.live(.ann)
    bench.live(.ben)
  }

  @discardableResult
  private mutating func write(_ operations: WireOperation..., by peer: Speaker = .ann) -> WireOutcome.Rest? {
    let number = (numbers[peer.identity.name] ?? 0) + 1
    numbers[peer.identity.name] = number
    return bench.propose(peer, .of(number, operations))[number]
  }

  private mutating func describe(_ description: String, by peer: Speaker = .ann) -> WireOutcome.Rest? {
    write(.of(.describe, "@description", description), by: peer)
  }

  private func refusal(_ outcome: WireOutcome.Rest?) -> Refusal? {
    if case .refused(let refusal)? = outcome { refusal } else { nil }
  }

  private var description: String? { mutating get { bench.read().values["@description"] } }

  private static let narrow = #"{"fields":{"level":{"type":"number","max":1}},"release":1}"#
  private static let wide = #"{"fields":{"level":{"type":"number","max":9},"on":{}},"release":2}"#

  @Test("each release makes one commit, in any order and however often it is shared")
  mutating func oneCommitEach() {
    #expect(describe(Self.narrow) == .committed(1))
    #expect(describe(Self.narrow, by: .ben) == .unchanged)
    #expect(describe(Self.wide, by: .ben) == .committed(2))
    #expect(describe(Self.narrow) == .unchanged && describe(Self.wide) == .unchanged)
    #expect(
      description == #"{"fields":{"level":{"type":"number","max":9},"on":{}},"release":2}"#)
  }

  @Test("the merged description applies at once, also to the values of the same proposal")
  mutating func applies() {
    #expect(describe(Self.narrow) == .committed(1))
    #expect(refusal(write(.set("level", "7")))?.text == "lamp.level: 7 is not in ...1")
    #expect(write(.set("level", "7"), .of(.describe, "@description", Self.wide)) == .committed(2))
    let both = write(.of(.describe, "@description", Self.narrow), .set("level", "10"))
    #expect(refusal(both)?.text == "lamp.level: 10 is not in ...9")
    #expect(write(.set("level", "9")) == .committed(3))
  }

  @Test("a refused proposal leaves the rules as they were")
  mutating func rolledBack() {
    #expect(describe(Self.narrow) == .committed(1))
    let both = write(.of(.describe, "@description", Self.wide), .set("level", "\"x\""))
    #expect(refusal(both)?.code == .doesNotFit)
    #expect(refusal(write(.set("level", "7")))?.code == .doesNotFit && description == Self.narrow)
  }

  @Test("what is no description, or another field, is refused with the place of the fault")
  mutating func malformed() {
    #expect(refusal(describe("1"))?.text == "lamp.@description: is a number, not an object")
    #expect(
      refusal(describe(#"{"release":-1}"#))?.text
        == "lamp.@description: release is -1, not a whole number of at least 0")
    #expect(
      refusal(describe(#"{"fields":{"a":{"releases":{"title":"x"}}}}"#))?.text
        == "lamp.@description: fields.a.releases.title is \"x\", not a whole number of at least 0")
    #expect(refusal(describe(#"{"alias":{"a":1}}"#))?.code == .malformedValue)
    #expect(refusal(write(.of(.describe, "level", Self.narrow)))?.code == .badName)
    #expect(refusal(write(.of(.describe, "@owner", Self.narrow)))?.code == .badName)
    let empty = WireOperation(verb: .describe, field: .name("@description"), value: nil)
    #expect(refusal(write(empty))?.code == .malformedValue)
    #expect(description == nil)
  }

  @Test("a deleted description is described again")
  mutating func deleted() {
    #expect(describe(Self.narrow) == .committed(1))
    #expect(write(WireOperation(verb: .delete, field: .name("@description"), value: nil)) == .committed(2))
    #expect(describe(Self.narrow) == .committed(3) && description == Self.narrow)
  }

  // MARK: Size

  /// A description of exactly this many bytes.
  private static func padded(to count: Int, named name: String = "help") -> String {
    let empty = "{\"fields\":{\"level\":{\"\(name)\":\"\"}}}"
    return "{\"fields\":{\"level\":{\"\(name)\":\"\(String(repeating: "x", count: count - empty.utf8.count))\"}}}"
  }

  @Test("a description may have maxDescriptionBytes, whichever verb writes it, and no other value may")
  mutating func limit() {
    let most = Limits().maxDescriptionBytes
    #expect(most == 196_608)
    for (index, verb) in [Verb.describe, .set].enumerated() {
      #expect(write(.of(verb, "@description", Self.padded(to: most))) == .committed(Version(2 * index + 1)))
      let beyond = refusal(write(.of(verb, "@description", Self.padded(to: most + 1))))
      #expect(beyond?.code == .valueTooLarge)
      #expect(
        beyond?.text == "@description has 196609 bytes; it may have 196608 (maxDescriptionBytes)", "\(verb)")
      write(WireOperation(verb: .delete, field: .name("@description"), value: nil))
    }
    #expect(refusal(write(.set("level", Self.padded(to: Limits().maxValueBytes + 1))))?.code == .valueTooLarge)
  }

  @Test("a merge that would exceed the limit is refused")
  mutating func limitOfTheMerge() {
    #expect(describe(Self.padded(to: 150_000)) == .committed(1))
    let more = describe(Self.padded(to: 100_000, named: "title"))
    #expect(refusal(more)?.text.hasSuffix("(maxDescriptionBytes)") == true)
  }

  // MARK: Aliases

  @Test("a write to an alias's name is refused, naming the stored field, by every verb")
  mutating func aliasIsRefused() {
    #expect(describe(#"{"fields":{"brightness":{}},"alias":{"level":"brightness"}}"#) == .committed(1))
    let words = "lamp.level is another name of lamp.brightness, under which the value is stored; write that field"
    for verb in [Verb.set, .setIfAbsent, .add, .max, .min] {
      #expect(refusal(write(.of(verb, "level", "1"))) == Refusal(.doesNotFit, words), "\(verb)")
    }
    #expect(refusal(write(.of(.union, "level", "[1]")))?.code == .doesNotFit)
    #expect(write(.set("brightness", "1")) == .committed(2))
  }

  @Test(
    "an alias onto a stored, described or aliased name, and a swap, are refused",
    arguments: [
      (#"{"alias":{"hue":"brightness"}}"#, "hue has a value, and cannot be another name of brightness"),
      (#"{"alias":{"mode":"brightness"}}"#, "mode is the name of a described field"),
      (#"{"alias":{"gleam":"level"}}"#, "gleam names level, which is itself another name, of brightness"),
      (#"{"alias":{"a":"b","b":"a"}}"#, "a names b, which is itself another name, of a"),
      (#"{"alias":{"a":"a"}}"#, "a names a, which is itself another name, of a"),
      (#"{"alias":{"level":"mode"}}"#, "level is another name of brightness, and cannot be one of mode"),
      (#"{"fields":{"level":{}}}"#, "level is the name of a described field"),
    ])
  mutating func badAlias(_ declared: String, _ words: String) {
    #expect(describe(#"{"fields":{"mode":{}},"alias":{"level":"brightness"}}"#) == .committed(1))
    #expect(write(.set("hue", "1")) == .committed(2))
    let refusal = refusal(describe(declared))
    #expect(refusal?.code == .doesNotFit && refusal?.text.contains(words) == true, "\(refusal?.text ?? "none")")
    #expect(write(.set("hue", "2")) == .committed(3))
  }

  @Test("a description of an older hub with members of today's names stays in force")
  mutating func olderMembers() {
    let rules = try? Array(#"{"fields":{"a":{"type":"number","releases":1}},"alias":7,"release":"x"}"#.utf8)
      .withUnsafeBytes { try ModelRules(describedBy: $0, isNew: false) }
    #expect(rules?.index(of: "a") != nil && rules?.aliases.isEmpty == true && rules?.aliasFault == nil)
  }
}
