import BindingProtocol
import Testing

/// The stored form of lists, and the operands of their verbs.
@Suite struct ListElementsTests {
  private func value(_ text: String) -> FieldValue { FieldValue(bytes: Array(text.utf8)) }

  @Test(
    "an element is read however it is spelled, and keeps its bytes",
    arguments: ["1", "{\"a\": [1.50, null]}", "\"}\""])
  func stored(_ element: String) {
    let written = ListElements.value(at: 77, value(element))
    #expect(written.description == "{\"at\":77,\"is\":\(element)}")
    for text in [written.description, " { \"x\":1, \"is\" : \(element), \"at\": 77 } "] {
      #expect(ListElements.stored(value(text)) == .init(rank: 77, element: value(element)))
      #expect(value(text).bytes.withUnsafeBytes { ListElements.rank($0) } == 77)
    }
  }

  @Test(
    "what is not of that form is no element",
    arguments: [
      "1", "[]", "{}", "{\"at\":1}", "{\"is\":1}", "{\"at\":0,\"is\":1}", "{\"at\":-1,\"is\":1}",
      "{\"at\":9007199254740992,\"is\":1}", "{\"at\":99999999999999999999,\"is\":1}", "{\"at\":1.5,\"is\":1}",
      "{\"at\":\"1\",\"is\":1}", "{\"at\":1,\"at\":0,\"is\":1}",
    ])
  func none(_ text: String) { #expect(ListElements.stored(value(text)) == nil) }

  @Test("of two members with one name the later counts, also behind the usual spelling")
  func later() {
    #expect(ListElements.stored(value("{\"at\":1,\"is\":2,\"is\":3}"))?.element == value("3"))
    #expect(ListElements.stored(value("{\"at\":1,\"is\":2,\"at\":5}"))?.rank == 5)
  }

  @Test("elements are assembled in the order of rank, then of the bytes of their ids")
  func assembled() {
    let fields = [
      ("cues@b", ListElements.value(at: 5, value("1"))), ("cues@B", ListElements.value(at: 5, value("2"))),
      ("cues@a", ListElements.value(at: 9, value("3"))), ("cues@z", ListElements.value(at: 1, value("4"))),
      ("cue@z", ListElements.value(at: 1, value("5"))), ("cues@x", value("7")), ("cues", ListElements.head(4)),
    ].map { (name: $0.0, value: $0.1) }
    let ordered = ListElements.ordered("cues", in: fields)
    #expect(ordered.map(\.id) == ["z", "B", "b", "a"])
    #expect(ListElements.array(of: ordered.map(\.element)).description == "[4,2,1,3]")
    #expect(ListElements.array(of: []).description == "[]")
  }

  @Test("a head tells the number of elements, and nothing else passes for one")
  func heads() {
    #expect(ListElements.count(ofHead: ListElements.head(12)) == 12)
    for text in ["{\"$list\":-1}", "{\"$list\":1.5}", "{\"$list\":1,\"a\":2}", "[1]", "{}", "{\"list\":1}"] {
      #expect(ListElements.count(ofHead: value(text)) == nil, "\(text)")
    }
  }

  @Test("operands survive writing and reading")
  func operands() throws {
    for operand in [
      ListOperand(after: "a", before: "b", element: value("1.50")), ListOperand(element: value("null")),
      ListOperand(before: "b", element: value("{}")),
    ] {
      #expect(try operand.value.bytes.withUnsafeBytes { try ListOperand(.insert, reading: $0) } == operand)
    }
    #expect(ListOperand(after: "a", element: value("1")).value.description == #"{"after":"a","is":1}"#)
    let move = ListOperand(before: "x")
    #expect(try move.value.bytes.withUnsafeBytes { try ListOperand(.move, reading: $0) } == move)
  }

  @Test(
    "a malformed operand is refused with what to write",
    arguments: [
      (Verb.insert, "{}", "has no member is"), (.insert, "7", "7 is not {"), (.move, #"{"is":1}"#, "has a member is"),
      (.move, #"{"after":null}"#, "has null as after"), (.insert, #"{"is":1,"x":2}"#, "has a member x"),
      (.insert, #"{"is":1,"before":"a b"}"#, "has \"a b\" as before"), (.insert, "{", "not JSON"),
    ])
  func malformed(_ verb: Verb, _ text: String, _ words: String) {
    let error = #expect(throws: ListOperandFault.self) {
      _ = try value(text).bytes.withUnsafeBytes { try ListOperand(verb, reading: $0) }
    }
    #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
  }
}
