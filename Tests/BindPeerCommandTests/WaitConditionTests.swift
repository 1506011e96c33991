import BindingPeer
import Testing

@testable import bindpeer

@Suite("Conditions of `bindpeer wait`")
struct WaitConditionTests {
  @Test(
    "conditions compare numbers by value",
    arguments: [
      ("m.f=1", "1.0", true), ("m.f!=1", "1.0", false), ("m.f!=1", "2", true), ("m.f<1", "0.5", true),
      ("m.f<1", "1", false), ("m.f<=1", "1", true), ("m.f>1", "1", false), ("m.f>=1", "1", true),
      ("m.f>-1e3", "0", true), ("m.f>1", "\"2\"", false), ("m.f", "null", true), ("m.f=on", "\"on\"", true),
      ("m.f!=on", "\"off\"", true), ("m.f=true", "true", true),
      ("m.f~^R.*n$", "\"Rain\"", true), ("m.f~ai", "\"Rain\"", true), ("m.f~^ai", "\"Rain\"", false),
      ("m.f~1", "[0,1]", true), ("m.f~1=2", "\"1=2\"", true), ("m.f=a~b", "\"a~b\"", true), ("m.f~", "0", true),
    ])
  func comparison(_ text: String, _ value: String, _ expected: Bool) throws {
    #expect(try WaitCondition(text).holds(for: JSON(parsing: value)) == expected)
  }

  @Test("no condition holds for a field without a value", arguments: ["m.f", "m.f=1", "m.f!=1", "m.f<1"])
  func absent(_ text: String) throws { #expect(try !WaitCondition(text).holds(for: nil)) }

  @Test(
    "a malformed condition is a usage error",
    arguments: ["m", "m=1", "m.f>word", "m.f>", "m.f!", "m.f !=1", "m.f~(", "m~x"])
  func usage(_ text: String) {
    #expect { try WaitCondition(text) } throws: { ($0 as? Failure)?.code == .usage }
  }

  @Test(
    "a condition that the description makes impossible is refused",
    arguments: [
      ("m.level=42", false), ("m.level=1", true), ("m.level>=5", false), ("m.level>1", false), ("m.level>=1", true),
      ("m.level<0", false), ("m.level<=0", true), ("m.on>1", false), ("m.on=true", true), ("m.on=3", false),
      ("m.free>=5", true), ("m.level!=42", true), ("m.level", true), ("m.open>1000", true),
    ])
  func possible(_ text: String, _ expected: Bool) throws {
    let description = ModelDescription(fields: [
      "level": FieldDescription(type: .number, minimum: 0, maximum: 1), "on": FieldDescription(type: .boolean),
      "open": FieldDescription(type: .number, minimum: 0),
    ])
    let condition = try WaitCondition(text)
    if expected {
      try condition.checkPossible(under: description)
    } else {
      #expect { try condition.checkPossible(under: description) } throws: { ($0 as? Failure)?.code == .doesNotFit }
    }
  }
}
