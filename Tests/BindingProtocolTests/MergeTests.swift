import BindingProtocol
import Testing

@Suite("Merging numbers and lists")
struct MergeTests {
  private func merge(_ verb: Verb, _ operand: String, _ current: String?) -> String? {
    Merge.apply(
      verb, operand: FieldValue(bytes: Array(operand.utf8)), to: current.map { FieldValue(bytes: Array($0.utf8)) })?
      .description
  }

  @Test("add sums integers exactly, and numbers with fractions as doubles")
  func adding() {
    #expect(merge(.add, "2", "40") == "42")
    #expect(merge(.add, "-2", "1") == "-1")
    #expect(merge(.add, "0.5", "1") == "1.5")
    #expect(merge(.add, "0.1", "0.2") == "0.30000000000000004")
    #expect(merge(.add, "1", "9007199254740992") == "{\"$int\":\"9007199254740993\"}")
    #expect(merge(.add, "1", "{\"$int\":\"9007199254740993\"}") == "{\"$int\":\"9007199254740994\"}")
    #expect(merge(.add, "{\"$int\":\"-9007199254740994\"}", "{\"$int\":\"9007199254740994\"}") == "0")
  }

  @Test("add continues as a double past 64 bits and refuses a sum that no double can hold")
  func overflow() {
    #expect(merge(.add, "1", "9223372036854775807") == "9.223372036854776e+18")
    #expect(merge(.add, "-5000", "-9223372036854775808") == "-9.22337203685478e+18")
    #expect(merge(.add, "1e308", "1.5e308") == nil)
  }

  @Test("merging into a field without a value gives the operand")
  func absent() {
    for verb in [Verb.add, .max, .min] { #expect(merge(verb, "7.50", nil) == "7.50") }
  }

  @Test("max and min keep the spelling of the number that they choose")
  func extremes() {
    #expect(merge(.max, "2", "1") == "2")
    #expect(merge(.max, "1", "2.0") == "2.0")
    #expect(merge(.min, "1e0", "2") == "1e0")
    #expect(merge(.min, "3", "2") == "2")
    #expect(merge(.max, "1.0", "1") == "1")
    #expect(merge(.min, "1.0", "1") == "1")
    #expect(merge(.max, "-0.5", "-1") == "-0.5")
  }

  @Test("max and min compare integers with doubles without rounding the integer")
  func mixed() {
    #expect(merge(.max, "9007199254740993", "9007199254740992.0") == "9007199254740993")
    #expect(merge(.min, "9007199254740993", "9007199254740992.0") == "9007199254740992.0")
    #expect(merge(.max, "9223372036854775807", "9223372036854775808.0") == "9223372036854775808.0")
    #expect(merge(.min, "-9223372036854775808", "-1e300") == "-1e300")
    #expect(merge(.max, "-3", "-2.5") == "-2.5")
    #expect(merge(.max, "-2", "-2.5") == "-2")
  }

  @Test(
    "merging refuses values that are not finite numbers, and verbs that merge nothing",
    arguments: [
      "null", "true", "\"1\"", "[1]", "{}", "{\"$float\":\"NaN\"}", "{\"$float\":\"Infinity\"}", "1e999", "", "x",
    ])
  func notNumbers(_ text: String) {
    for verb in [Verb.add, .max, .min] {
      #expect(merge(verb, text, "1") == nil)
      #expect(merge(verb, "1", text) == nil)
      #expect(merge(verb, text, nil) == nil)
    }
    for verb in [Verb.set, .delete, .setIfAbsent, .clear] { #expect(merge(verb, "1", "1") == nil) }
  }

  @Test(
    "a refused merge says which of the two values is wrong and why",
    arguments: [
      (Verb.add, "\"x\"", "1", "\"x\" is not a finite number, which add needs"),
      (.add, "1e400", "1", "1e400 is not a finite double, which add needs"),
      (.max, "{\"$float\":\"NaN\"}", "1", "NaN is not a finite number, which max needs"),
      (.add, "1", "true", "add needs another value in the field, because true is not a finite number; set it first"),
      (.add, "1e308", "1.7e308", "the sum of 1.7e308 and 1e308 is not a finite double"),
      (.union, "4", "[1]", "4 is not a list, which union needs"),
      (.union, "[1]", "{}", "union needs another value in the field, because {} is not a list; set it first"),
      (.union, "[NaN]", "[]", "not JSON at byte 1: NaN; write {\"$float\":\"NaN\"}"),
    ])
  func violations(_ verb: Verb, _ operand: String, _ current: String, _ words: String) {
    #expect(merge(verb, operand, current) == nil)
    let (operand, current) = (FieldValue(bytes: Array(operand.utf8)), FieldValue(bytes: Array(current.utf8)))
    #expect(Merge.violation(verb, operand: operand, to: current) == words)
  }

  @Test("union appends missing elements to a list in order and refuses values that are not lists")
  func unions() {
    #expect(merge(.union, "[2,3,2]", "[1,2]") == "[1,2,3]")
    #expect(merge(.union, #"["a",{"b":1}]"#, nil) == #"["a",{"b":1}]"#)
    #expect(merge(.union, #"[{"b":1}]"#, #"[{"b": 1}]"#) == #"[{"b": 1}]"#)
    #expect(merge(.union, "[]", "[1]") == "[1]")
    #expect(merge(.union, "1", "[1]") == nil)
    #expect(merge(.union, "[1]", "1") == nil)
  }
}
