import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("The environment of `exec`")
struct FieldVariablesTests {
  private func variables(_ fields: [String: JSON]) -> FieldVariables {
    FieldVariables(model: "lamp", version: 7, fields: fields.mapValues { FieldValue(json: $0) })
  }

  @Test("text is bare, everything else is JSON")
  func values() {
    let made = variables(["name": .string("a \"b\"\nc"), "level": .number(0.5), "on": .bool(true), "none": .null])
    #expect(made.variables["FIELD_name"] == "a \"b\"\nc")
    #expect(made.variables["FIELD_level"] == "0.5" && made.variables["FIELD_on"] == "true")
    #expect(made.variables["FIELD_none"] == "null")
    #expect(made.complaints.isEmpty)
  }

  @Test("the model, its version and all fields as one object are there, too")
  func whole() {
    let made = variables(["b": .integer(1), "a": .string("x")])
    #expect(made.variables["BINDPEER_MODEL"] == "lamp" && made.variables["BINDPEER_VERSION"] == "7")
    #expect(made.variables["BINDPEER_VALUES"] == #"{"a":"x","b":1}"#)
  }

  @Test("no field can set a variable that another program reads")
  func prefix() {
    let names = ["PATH", "LD_PRELOAD", "IFS", "BINDPEER_HUB", "=", "a=b"]
    let made = variables(Dictionary(uniqueKeysWithValues: names.map { ($0, JSON.string("evil")) }))
    for (name, value) in made.variables where value == "evil" {
      #expect(name.hasPrefix("FIELD_") && !name.contains("="))
    }
    #expect(made.variables["PATH"] == nil && made.variables["FIELD_PATH"] == "evil")
  }

  @Test("of two names that make one variable, that which needs no change has it, and the other is named")
  func collision() {
    let made = variables(["a-b": .integer(1), "a_b": .integer(2)])
    #expect(made.variables["FIELD_a_b"] == "2")
    #expect(made.complaints == ["lamp.a-b has no variable: FIELD_a_b is lamp.a_b"])
  }

  @Test("what no variable can hold is left out and named, and stays in the object of all fields if that has room")
  func misfits() {
    let made = variables([
      "zero": .string("a\u{0}b"), "long": .string(String(repeating: "x", count: FieldVariables.longest)),
    ])
    #expect(made.variables["FIELD_zero"] == nil && made.variables["FIELD_long"] == nil)
    #expect(made.complaints.count == 2 && made.variables["BINDPEER_VALUES"] == nil)
    #expect(variables(["zero": .string("a\u{0}b")]).variables["BINDPEER_VALUES"] == #"{"zero":"a\u0000b"}"#)
  }

  @Test("variables of a command around this one are not handed on")
  func isOne() {
    for name in ["FIELD_level", "BINDPEER_MODEL", "BINDPEER_VERSION", "BINDPEER_VALUES"] {
      #expect(FieldVariables.isOne(name))
    }
    for name in ["BINDPEER_HUB", "PATH", "FIELDS"] { #expect(!FieldVariables.isOne(name)) }
  }
}
