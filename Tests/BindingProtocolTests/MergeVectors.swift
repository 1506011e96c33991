import BindingProtocol

/// The effect of one operation on a field; the source of docs/reference/vectors/merge/.
struct MergeVector {
  enum Result {
    case becomes(String)
    case unchanged
    case refused(RefusalCode)
  }
  var file: String
  var about: String
  var verb: Verb
  /// Nil: the field has no value.
  var field: String?
  var operand: String
  var result: Result

  /// The content of the vector file.
  var json: JSON {
    var members: [JSON.Member] = [
      .init("about", .string(about)), .init("verb", .string("\(verb)")),
      .init("field", field.map(JSON.string) ?? .null), .init("operand", .string(operand)),
    ]
    switch result {
    case .becomes(let text): members.append(.init("becomes", .string(text)))
    case .unchanged: members.append(.init("unchanged", true))
    case .refused(let code): members.append(.init("refusal", .integer(Int64(code.rawValue))))
    }
    return .object(members)
  }
}

enum MergeVectors {
  private static func vector(
    _ file: String, _ verb: Verb, _ field: String?, _ operand: String, _ result: MergeVector.Result, _ about: String
  ) -> MergeVector {
    MergeVector(file: file, about: about, verb: verb, field: field, operand: operand, result: result)
  }

  private static let thirty = "123456789012345678901234567890"

  static let all: [MergeVector] = unions + equalities + numbers

  private static let unions = [
    vector("union", .union, "[1,2]", "[2,3,2]", .becomes("[1,2,3]"), "what is new comes last, each once"),
    vector("union-nothing-new", .union, "[1, 2]", "[2,1]", .unchanged, "nothing is new"),
    vector("union-of-nothing", .union, "[1]", "[]", .unchanged, "nothing is added"),
    vector(
      "union-absent", .union, nil, " [ 2,\"a\" ,2 ] ", .becomes("[2,\"a\"]"), "a field without a value is an empty list"
    ),
    vector("union-absent-empty", .union, nil, "[]", .becomes("[]"), "it becomes one"),
    vector("union-empty", .union, "[ ]", "[1]", .becomes("[1]"), "no comma stands before the first"),
    vector(
      "union-bytes", .union, "[ 1e400,\(thirty) , \"\\u0065\" ] ", "[ 2e400 , { \"a\" : 1.50 } ]",
      .becomes("[ 1e400,\(thirty) , \"\\u0065\",2e400,{ \"a\" : 1.50 }]"),
      "every element keeps its bytes; space between those that are added, and behind the last, is left out"),
    vector("union-field-twice", .union, "[1,1]", "[2]", .becomes("[1,1,2]"), "what the field has twice it has twice"),
    vector("union-no-list", .union, "[1]", "1", .refused(.malformedValue), "the operand is no list"),
    vector("union-field-no-list", .union, "{}", "[1]", .refused(.malformedValue), "the field is no list"),
  ]

  /// Unions of two values each: equal ones leave the list unchanged, different ones are both kept.
  private static let equalities = [
    same("number-fraction", "1", "1.0", "numbers are compared by their exact decimal value"),
    same("number-exponent", "1200", "0.12E+4", "an exponent is calculated with"),
    same("number-zero", "0", "-0.00e99", "zero has one value"),
    other("number-digits", thirty, "123456789012345678901234567891", "to the last digit"),
    other("number-beyond-doubles", "1e400", "2e400", "beyond doubles too"),
    same("number-beyond-doubles-same", "1e400", "10e399", "where equal ones are equal"),
    other("number-small", "1e-400", "0", "and below them"),
    other("number-sign", "1", "-1", "the sign counts"),
    same(
      "number-long-exponent", "1e1000000000000000", "1e1000000000000000", "an exponent of more than 15 digits equals"),
    other("number-long-exponent-written", "1e1000000000000000", "10e999999999999999", "only what is written like it"),
    same("int", "9007199254740993", "{\"$int\":\"9007199254740993\"}", "$int is a number"),
    other("int-not-canonical", "7", "{\"$int\":\"07\"}", "of digits without a zero before them, and no sign but -"),
    other("number-text", "1", "\"1\"", "a text is no number"),
    same(
      "float", "{\"$float\":\"NaN\"}", "{ \"$float\": \"NaN\" }", "a NaN equals itself: it is an object like any other"),
    same("text-escape", "\"é/\"", "\"\\u00e9\\/\"", "texts are compared by code points, however they are written"),
    same("text-surrogates", "\"😀\"", "\"\\ud83d\\ude00\"", "two halves of a pair are one code point"),
    other("text-normal-form", "\"e\\u0301\"", "\"\\u00e9\"", "without normalisation"),
    other("text-case", "\"a\"", "\"A\"", "case counts"),
    same(
      "object-order", "{\"a\":1,\"b\":[2]}", "{ \"b\":[2.0], \"\\u0061\":1 }", "the order of members does not count"),
    same("object-twice", "{\"a\":2}", "{\"a\":1,\"a\":2}", "of two members with one name the later counts"),
    other("object-more", "{\"a\":1}", "{\"a\":1,\"b\":null}", "a member that is null is one"),
    other("array-order", "[1,2]", "[2,1]", "the order of elements counts"),
    other("words", "null", "false", "null, true and false are three values"),
  ]

  private static let numbers = [
    vector("add", .add, "40", "2", .becomes("42"), "integers add exactly"),
    vector("add-nothing", .add, "7.50", "0", .unchanged, "adding 0 to a number that is there changes nothing"),
    vector("add-nothing-long", .add, thirty, "-0.0", .unchanged, "however it is written"),
    vector("add-nothing-absent", .add, nil, "0", .becomes("0"), "where there is none it becomes one"),
    vector("add-too-little", .add, "0.1", "1e-30", .unchanged, "a sum that is the same double changes nothing"),
    vector("add-beyond-doubles", .add, "1", "1e400", .refused(.notANumber), "1e400 is no finite double"),
    vector("add-sum-beyond-doubles", .add, "1e308", "1.7e308", .refused(.notANumber), "the sum is none"),
    vector("max-above", .max, "7", "9.0", .becomes("9.0"), "the larger number, as it is written"),
    vector("max-below", .max, "7", "3", .unchanged, "the field is larger"),
    vector("max-equal", .max, "7", "7.0", .unchanged, "of two equal ones the field's"),
    vector("max-absent", .max, nil, "3", .becomes("3"), "a field without a value takes the operand"),
    vector("min-below", .min, "7", "3", .becomes("3"), "the smaller number"),
    vector("min-above", .min, "7", "9", .unchanged, "the field is smaller"),
  ]

  private static func same(_ name: String, _ one: String, _ other: String, _ about: String) -> MergeVector {
    vector("equal-\(name)", .union, "[\(one)]", "[\(other)]", .unchanged, about)
  }

  private static func other(_ name: String, _ one: String, _ other: String, _ about: String) -> MergeVector {
    vector("different-\(name)", .union, "[\(one)]", "[\(other)]", .becomes("[\(one),\(other)]"), about)
  }
}
