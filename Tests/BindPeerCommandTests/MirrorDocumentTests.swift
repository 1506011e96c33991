import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("The file of `mirror`")
struct MirrorDocumentTests {
  private func json(_ text: String) throws -> FieldValue { try FieldValue(text: text) }

  private func values(_ document: any MirrorDocument, as types: [String: FieldType] = [:]) throws -> [String: String] {
    let pairs = try document.fields.map { entry in
      let declared = types[entry.name].map { FieldDescription(type: $0) }
      return (entry.name, String(decoding: try entry.value(as: declared).bytes, as: UTF8.self))
    }
    return Dictionary(pairs) { first, _ in first }
  }

  private static let yaml = """
    # The hall.
    ---
    on: true          # since noon
    level:   0.50

    name: Rain, and more
    quoted: "a # b"   # not in it
    single: 'it''s'
    tags: [1, "x # y"] # two
    object: {"a": 1}
    nothing: ~
    "-odd": 7

    """

  @Test("YAML of one level is read, comments and quotes included")
  func yaml() throws {
    let document = try YAMLDocument(Self.yaml)
    #expect(
      try values(document) == [
        "on": "true", "level": "0.50", "name": #""Rain, and more""#, "quoted": #""a # b""#, "single": #""it's""#,
        "tags": #"[1, "x # y"]"#, "object": #"{"a": 1}"#, "nothing": "null", "-odd": "7",
      ])
    #expect(document.text == Self.yaml)
    #expect(try YAMLDocument("a: 1\r\nb: 2").text == "a: 1\nb: 2\n")
    #expect(try YAMLDocument("").text == "" && YAMLDocument("\n# x").fields.isEmpty)
  }

  @Test("what is set in YAML changes its value alone; a new field is at the end, a removed one is gone")
  func setting() throws {
    var document = try YAMLDocument(Self.yaml)
    document.set("on", to: try json("false"))
    document.set("level", to: try json("0.6"))
    document.set("single", to: nil)
    document.set("-new", to: try json(#""12""#))
    let expected = Self.yaml.replacing("on: true ", with: "on: false ").replacing("0.50", with: "0.6")
      .replacing("single: 'it''s'\n", with: "")
    #expect(document.text == expected + "\"-new\": \"12\"\n")
    document.set("absent", to: nil)
    #expect(document.text == expected + "\"-new\": \"12\"\n")
  }

  @Test(
    "each value is the same after YAML, byte for byte, and whatever the field's type",
    arguments: [
      "1", "1.0", "-1e400", "true", "null", #""text""#, #""""#, #""12""#, #""true""#, #""Yes""#, #""off""#, #""null""#,
      #""~""#, #""a: b""#, #""a #b""#, #""- x""#, #""'x'""#, #"" x""#, #""x ""#, #""two\nlines""#, #""[x""#,
      #""日本 (x)""#,
      #""a\u0062""#, #""NaN""#, "[1,[2],{}]", #"{"$bytes":"AAH/"}"#, ##"["#", "a\"b"]"##,
      #""1a""#, #""Infinity""#,
    ])
  func values(_ text: String) throws {
    let value = try json(text)
    var document = YAMLDocument()
    document.set("a", to: value)
    document.set("b", to: value)
    let type: FieldType =
      switch try value.json {
      case .string: .string
      case .bool: .boolean
      case .integer, .number: .number
      default: .any
      }
    let again = try YAMLDocument(document.text)
    #expect(again.text == document.text)
    for read in [try values(again), try values(again, as: ["a": type, "b": type])] {
      let areSame = read.values.allSatisfy { (try? json($0).json) == (try? value.json) }
      #expect(read.count == 2 && areSame, "\(document.text)")
    }
    var other = JSONDocument()
    other.set("a", to: value)
    #expect(try values(JSONDocument(other.text))["a"] == text)
  }

  @Test(
    "what is no YAML of one level names its line and what to write",
    arguments: [
      ("a: 1\n  b: 2", 2, "one line"), ("a:\n- 1", 1, "no value"), ("- a", 1, "one line"), ("a", 1, "NAME: VALUE"),
      ("a:1", 1, "NAME: VALUE"), ("a: \"x", 1, "do not end"), ("a: [x", 1, "no JSON"), ("a: {b: 1}", 1, "no JSON"),
      ("a: |", 1, "double quotes"), ("a: &x 1", 1, "double quotes"), ("a: b: c", 1, "colon"), ("a: \"b\" c", 1, "more"),
      ("a: 1\n\na: 2", 3, "second time"), ("@owner: 1", 1, "@owner"), ("\"\": 1", 1, "names no field"),
      ("a: \"b\"#c", 1, "more than one"),
    ])
  func faults(_ text: String, _ line: Int, _ words: String) {
    #expect {
      _ = try YAMLDocument(text)
    } throws: { error in
      guard let fault = error as? MirrorFault else { return false }
      return fault.line == line && fault.words.contains(words)
    }
  }

  @Test("a bare word is what the field's declared type makes of it, and a value that does not fit names its line")
  func types() throws {
    let document = try YAMLDocument("a: 007\nb: off\nc: x\n")
    #expect(try values(document, as: ["a": .string, "b": .boolean]) == ["a": #""007""#, "b": "false", "c": #""x""#])
    #expect(throws: MirrorFault.self) { try values(document, as: ["c": .number]) }
    #expect(try values(YAMLDocument("b: off")) == ["b": #""off""#])
  }

  @Test("JSON keeps the order of its fields, and values byte for byte")
  func jsonDocument() throws {
    var document = try JSONDocument(#"{"b":1.50,"a":"x"}"#)
    document.set("b", to: try json("2.00"))
    document.set("c", to: try json("[ 1 ]"))
    #expect(document.text == "{\n  \"b\": 2.00,\n  \"a\": \"x\",\n  \"c\": [ 1 ]\n}\n")
    document.set("a", to: nil)
    #expect(document.fields.map(\.name) == ["b", "c"])
    #expect(try JSONDocument(" \n").fields.isEmpty && JSONDocument().text == "{}\n")
    for text in ["[]", "{", #"{"a":1,"a":2}"#, #"{"@owner":1}"#, #"{"":1}"#, "{} x"] {
      #expect(throws: MirrorFault.self, "\(text)") { try JSONDocument(text) }
    }
  }

  @Test("each side takes what the other one has changed, and nothing twice")
  func state() throws {
    let (one, two) = (try json("1"), try json("2"))
    var state = MirrorState(["a": one, "b": one])
    #expect(state.take(["a": one, "b": one]) == [])
    // The file has another a, and lacks b.
    #expect(
      state.take(["a": two]) == [
        .init(field: "a", before: one, value: two), .init(field: "b", before: one, value: nil),
      ])
    // The model has taken that, and c besides.
    #expect(state.take(["a": two, "c": one]) == [.init(field: "c", before: nil, value: one)])
    #expect(MirrorState.differences(["a": one, "b": one], ["a": one, "b": two, "c": two]) == ["b"])
  }
}
