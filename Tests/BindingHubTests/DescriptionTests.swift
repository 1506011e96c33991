import BindingHub
import BindingProtocol
import Testing

/// The hub refuses what the model's decided description does not allow, and nothing else.
@Suite struct DescriptionTests {
  static let lamp = """
    {"fields":{"level":{"type":"number","min":0,"max":1},"count":{"type":"integer","min":-5,"max":100},\
    "on":{"type":"boolean"},"name":{"type":"string","maxLength":5},\
    "mode":{"type":"string","choices":["red","blue"]},"gear":{"choices":[1,2.5]},\
    "big":{"type":"integer","max":{"$int":"9007199254740993"}}}}
    """
  var bench = HubBench()
  private var numbers: [String: ProposalNumber] = [:]

  init() {
    bench.live(.ann)
    bench.live(.ben)
    write(.set("@description", Self.lamp))
  }

  @discardableResult
  private mutating func write(_ operations: WireOperation..., by peer: Speaker = .ann) -> WireOutcome.Rest? {
    let number = (numbers[peer.identity.name] ?? 0) + 1
    numbers[peer.identity.name] = number
    return bench.propose(peer, .of(number, operations))[number]
  }

  private func words(_ outcome: WireOutcome.Rest?) -> String? {
    guard case .refused(let refusal) = outcome, refusal.code == .doesNotFit else { return nil }
    return refusal.text
  }

  // MARK: Differing declarations

  private var disagreements: [JSON] { bench.machine.statusJSON(time: bench.time)["disagreements"]?.elements ?? [] }

  private mutating func declare(_ description: String, by peer: Speaker) -> Received {
    let number = (numbers[peer.identity.name] ?? 0) + 1
    numbers[peer.identity.name] = number
    return bench.send(peer, .propose([.of(number, [.of(.setIfAbsent, "@description", description)])]))
  }

  @Test("a peer whose default description differs is reported once, and listed in the status while it is connected")
  mutating func declaredOtherwise() {
    let other = """
      {"fields":{"level":{"type":"number","min":0,"max":10},"on":{},"count":{"max":1e2,"min":-5,"type":"integer"},\
      "new":{"type":"string"}}}
      """
    let received = declare(other, by: .ben)
    #expect(received.outcomes(.ben).values.map { $0 } == [.unchanged] && received.commits().isEmpty)
    let differences = [
      RuleDifference(field: "level", declared: "number, 0...10", described: "number, 0...1"),
      RuleDifference(field: "on", declared: "any", described: "boolean"),
    ]
    let notice = HubNotice.declaredOtherwise(peer: Speaker.ben.origin.fullName, model: "lamp", differences: differences)
    #expect(received.notices == [notice])
    #expect(
      differences.words == "level is declared as number, 0...10 and described as number, 0...1; "
        + "on is declared as any and described as boolean")
    #expect(declare(other, by: .ben).notices.isEmpty)
    #expect(disagreements.count == 1 && disagreements.first?["model"] == "lamp")
    #expect(disagreements.first?["peer"] == .string(Speaker.ben.origin.fullName))
    #expect(disagreements.first?["fields"]?["on"] == ["declared": "any", "described": "boolean"])
    bench.send(.ben, .leave(Leave(topics: [])))
    #expect(disagreements.isEmpty)
  }

  @Test("an equivalent declaration is not reported, and an invalid one neither")
  mutating func declaredTheSame() {
    let same = """
      {"fields":{"level":{"type":"number","min":0.0,"max":1.0,"default":5,"unit":"%"},"gear":{"choices":[2.50,1e0]}}}
      """
    for text in [same, "{}", "7", "{", #"{"fields":{"level":{"type":"colour"}}}"#] {
      #expect(declare(text, by: .ben).notices.isEmpty)
    }
    #expect(disagreements.isEmpty)
  }

  @Test("a new description clears the reported disagreements")
  mutating func redescribed() {
    #expect(declare(#"{"fields":{"level":{"type":"string"}}}"#, by: .ben).notices.count == 1)
    #expect(disagreements.count == 1)
    write(.set("@description", #"{"fields":{"level":{"type":"string"}}}"#))
    #expect(disagreements.isEmpty)
    #expect(declare(#"{"fields":{"level":{"type":"number"}}}"#, by: .ben).notices.count == 1)
    write(.delete("@description"))
    #expect(disagreements.isEmpty && declare("{}", by: .ben).notices.isEmpty)
  }

  // MARK: Each rule

  @Test(
    "a value at the limit is accepted",
    arguments: [
      ("level", "0"), ("level", "1"), ("level", "1.0"), ("level", " 1e0 "), ("level", "-0.0"), ("level", "1e-400"),
      ("level", "0.99999999999999999999"), ("count", "-5"), ("count", "100"), ("count", "1e2"), ("count", "7.0"),
      ("on", "true"), ("on", "false"), ("name", "\"abcde\""), ("name", "\"\""), ("name", "\"\\u0061bcde\""),
      ("name", "\"äöüße\""), ("name", "\"👨‍👩‍👧‍👦🇩🇪e\u{301}45\""), ("mode", "\"red\""), ("mode", "\"bl\\u0075e\""),
      ("gear", "1"), ("gear", "1.0"), ("gear", "2.5"), ("big", "9007199254740993"),
      ("big", "{\"$int\":\"9007199254740993\"}"), ("big", "-9223372036854775808"), ("free", "[1,{\"a\":null}]"),
    ])
  mutating func fits(_ field: String, _ value: String) {
    #expect(write(.set(field, value)) == .committed(2))
    #expect(bench.read().values[field] == value)
  }

  @Test("a refused write does not leave its field's rule to another field")
  mutating func ruleOfATakenBackName() {
    #expect(words(write(.set("count", "\"many\""))) != nil)
    #expect(write(.set("free", "\"many\"")) == .committed(2))
    #expect(words(write(.set("count", "\"many\""))) != nil)
  }

  @Test(
    "a value past the limit is refused, and the text names field, value and limit",
    arguments: [
      ("level", "7", "lamp.level: 7 is not in 0...1"),
      ("level", "-0.001", "lamp.level: -0.001 is not in 0...1"),
      ("level", "1.0000000000000002", "lamp.level: 1.0000000000000002 is not in 0...1"),
      ("level", "1e400", nil),
      ("level", "{\"$float\":\"NaN\"}", "lamp.level: NaN is not in 0...1"),
      ("level", "{\"$float\":\"Infinity\"}", "lamp.level: Infinity is not in 0...1"),
      ("level", "\"1\"", "lamp.level: \"1\" is not a number"),
      ("level", "null", "lamp.level: null is not a number"),
      ("count", "101", "lamp.count: 101 is not in -5...100"), ("count", "-6", "lamp.count: -6 is not in -5...100"),
      ("count", "0.5", "lamp.count: 0.5 is not an integer"), ("on", "1", "lamp.on: 1 is not a boolean"),
      ("name", "\"abcdef\"", "lamp.name: \"abcdef\" has 6 characters, at most 5 are allowed"),
      ("name", "5", "lamp.name: 5 is not a string"), ("name", "[\"a\"]", "lamp.name: [\"a\"] is not a string"),
      ("mode", "\"green\"", "lamp.mode: \"green\" is not one of \"red\", \"blue\""),
      ("gear", "2", "lamp.gear: 2 is not one of 1, 2.5"),
      ("big", "9007199254740994", "lamp.big: 9007199254740994 is not in ...9007199254740993"),
      ("big", "{\"$int\":\"9007199254740994\"}", "lamp.big: 9007199254740994 is not in ...9007199254740993"),
    ] as [(String, String, String?)])
  mutating func violates(_ field: String, _ value: String, _ expected: String?) {
    let outcome = write(.set(field, value))
    #expect(words(outcome) != nil)
    if let expected { #expect(words(outcome) == expected) }
    #expect(bench.read().values.count == 1)
  }

  @Test("one value that does not fit refuses the whole proposal and uses its number")
  mutating func whole() {
    #expect(words(write(.set("free", "1"), .set("level", "2"), .set("on", "true"))) != nil)
    #expect(bench.read().values.count == 1)
    #expect(write(.set("level", "1")) == .committed(2))
    #expect(bench.counters.refusals[.doesNotFit] == 1)
  }

  @Test("a default is refused like a set where it would be written, and unchanged where a value exists")
  mutating func defaults() {
    #expect(words(write(.of(.setIfAbsent, "level", "2"))) == "lamp.level: 2 is not in 0...1")
    write(.set("level", "0.5"))
    #expect(write(.of(.setIfAbsent, "level", "2")) == .unchanged)
  }

  // MARK: Merges

  @Test(
    "the result of a merge must fit the description; nothing is clamped",
    arguments: [
      (Verb.add, "2", "100", nil), (.add, "3", "98", "lamp.count: 101 is not in -5...100 (add of 3 to 98)"),
      (.add, "-104", "98", "lamp.count: -6 is not in -5...100 (add of -104 to 98)"), (.max, "100", "100", nil),
      (.max, "101", "98", "lamp.count: 101 is not in -5...100 (max of 101 to 98)"), (.min, "-5", "-5", nil),
      (.min, "-6", "98", "lamp.count: -6 is not in -5...100 (min of -6 to 98)"), (.max, "-6", "98", nil),
      (.add, "0.5", "98", "lamp.count: 98.5 is not an integer (add of 0.5 to 98)"),
    ] as [(Verb, String, String, String?)])
  mutating func merges(_ verb: Verb, _ operand: String, _ result: String, _ expected: String?) {
    write(.set("count", "98"))
    #expect(words(write(.of(verb, "count", operand), by: .ben)) == expected)
    #expect(bench.read().values["count"] == result)
  }

  @Test("a merge into an absent field must fit the description")
  mutating func mergeIntoNothing() {
    #expect(words(write(.of(.add, "count", "101"))) == "lamp.count: 101 is not in -5...100 (add of 101 to nothing)")
    #expect(write(.of(.add, "count", "100")) == .committed(2))
  }

  @Test("of two merges in one batch, the one that leaves the range is refused")
  mutating func mergesInOneBatch() {
    write(.set("count", "98"))
    let outcomes = bench.propose(
      .ann, .of(3, [.of(.add, "count", "2")]), .of(4, [.of(.add, "count", "1")]), .of(5, [.of(.add, "count", "-1")]))
    #expect(outcomes[3] == .committed(3))
    #expect(words(outcomes[4]) == "lamp.count: 101 is not in -5...100 (add of 1 to 100)")
    #expect(outcomes[5] == .committed(4))
    #expect(bench.read().values["count"] == "99")
  }

  // MARK: The description itself

  @Test(
    "a malformed description is refused, and the text names the position",
    arguments: [
      ("[]", "is an array, not an object"), ("{\"fields\":1}", "fields is a number, not an object"),
      ("{\"fields\":{\"a\":true}}", "fields.a is a boolean, not an object"),
      ("{\"fields\":{\"a.b\":{}}}", "fields.a.b is not the name of a field that can be described"),
      ("{\"fields\":{\"@description\":{}}}", "fields.@description is not the name of a field that can be described"),
      ("{\"fields\":{\"a\":{\"type\":7}}}", "fields.a.type is a number, not a string"),
      (
        "{\"fields\":{\"a\":{\"type\":\"nummer\"}}}",
        "fields.a.type is \"nummer\", not one of boolean, integer, number, string, array, object, any"
      ),
      ("{\"fields\":{\"a\":{\"min\":\"0\"}}}", "fields.a.min is \"0\", not a number"),
      ("{\"fields\":{\"a\":{\"max\":null}}}", "fields.a.max is null, not a number"),
      ("{\"fields\":{\"a\":{\"min\":2,\"max\":1}}}", "fields.a.min is above max: 2 and 1"),
      ("{\"fields\":{\"a\":{\"step\":0}}}", "fields.a.step is 0, not a number above 0"),
      ("{\"fields\":{\"a\":{\"maxLength\":-1}}}", "fields.a.maxLength is -1, not a whole number of at least 0"),
      ("{\"fields\":{\"a\":{\"maxLength\":1.5}}}", "fields.a.maxLength is 1.5, not a whole number of at least 0"),
      ("{\"fields\":{\"a\":{\"choices\":\"x\"}}}", "fields.a.choices is a string, not an array"),
      ("{\"fields\":{\"a\":{\"unit\":1}}}", "fields.a.unit is a number, not a string"),
    ])
  mutating func malformed(_ description: String, _ problem: String) {
    guard case .refused(let refusal) = write(.set("@description", description)) else {
      Issue.record("it was not refused")
      return
    }
    #expect(refusal.code == .malformedValue)
    #expect(refusal.text == "lamp.@description: \(problem)")
    #expect(words(write(.set("level", "7"))) != nil, "the one before is in force")
  }

  @Test(
    "additions of a later protocol, and bounds on texts, are no faults",
    arguments: [
      "{}", "{\"fields\":{}}", "{\"shape\":1,\"fields\":{\"a\":{\"shade\":1}}}",
      "{\"fields\":{\"a\":{\"type\":\"string\",\"min\":\"a\",\"max\":\"m\",\"default\":7,\"pattern\":\"(\"}}}",
      "{\"fields\":{\"a\":{\"min\":0,\"max\":{\"$float\":\"Infinity\"},\"choices\":[]}}}",
    ])
  mutating func wellFormed(_ description: String) {
    #expect(write(.set("@description", description)) == .committed(2))
    #expect(write(.set("level", "7")) == .committed(3))
  }

  @Test("values that a new description does not allow stay; later writes must fit it")
  mutating func changed() {
    write(.set("level", "1"))
    #expect(write(.set("@description", "{\"fields\":{\"level\":{\"max\":0.5}}}"), by: .ben) == .committed(3))
    #expect(bench.read().values["level"] == "1")
    #expect(words(write(.set("level", "1"))) == "lamp.level: 1 is not in ...0.5")
    #expect(write(.set("level", "0.5"), .set("count", "\"free now\"")) == .committed(4))
  }

  @Test("without a description every field accepts any value", arguments: [Verb.delete, .clear])
  mutating func deleted(_ verb: Verb) {
    let field = verb == .clear ? FieldReference.id(0) : .name("@description")
    #expect(write(WireOperation(verb: verb, field: field, value: nil)) == .committed(2))
    #expect(write(.set("level", "\"high\"")) == .committed(3))
  }
}
