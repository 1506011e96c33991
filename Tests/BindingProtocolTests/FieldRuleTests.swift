import Testing

@testable import BindingProtocol

@Suite("Field rules")
struct FieldRuleTests {
  static let values = [
    "0", "-0", "1", "1.0", "1e0", "10E-1", "0.5", "0.30000000000000004", "0.1000000000000000055511151231257827",
    "0.99999999999999994", "1.0000000000000001", "1.0000000000000002", "-1", "7", "1e300", "1e400", "5e-324",
    "9007199254740992", "9007199254740993", "9007199254740993.0", "999999999999999999", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "123456789012345678901234567890", "{\"$int\":\"9007199254740993\"}",
    "{\"$int\":\"18446744073709551615\"}", "{\"$int\":\"18446744073709551616\"}", "{\"$int\":\"01\"}",
    "{\"\\u0024int\":\"5\"}", " { \"$int\" : \"5\" } ", "{\"$float\":\"NaN\"}", "{\"$float\":\"Infinity\"}",
    "{\"$bytes\":\"AA==\"}", "{}", "{\"a\":1}", "[]", "[1,2]", "null", "true", " false ", "\"\"", "\"abc\"",
    "\"ab\\u0063\"", " \"abcd\" ", "\"äöü\"", "\"\\ud83c\\udde9\\ud83c\\uddea\"", "\"e\u{301}\"", "\"\u{e9}\"",
    "\"\\r\\n\"", "\"x\\\"\"",
  ]
  static let rules: [FieldRule] =
    FieldType.allCases.map { FieldRule(type: $0) } + [
      FieldRule(type: .number, minimum: 0, maximum: 1), FieldRule(type: .number, maximum: 0.30000000000000004),
      FieldRule(type: .any, minimum: 0.5), FieldRule(type: .integer, minimum: -1, maximum: 9_007_199_254_740_992),
      FieldRule(type: .integer, minimum: 0, maximum: .object([.init("$int", "18446744073709551615")])),
      FieldRule(type: .string, maximumLength: 1), FieldRule(type: .any, maximumLength: 3),
      FieldRule(type: .any, choices: [1, "abc", .number(0.5), .null, [1, 2]]),
      FieldRule(type: .number, maximum: 3, choices: [1, 7]), FieldRule(type: .string, minimum: "a", maximum: "m"),
    ]

  @Test(
    "equivalent rules allow the same values",
    arguments: [
      (FieldRule(type: .number, minimum: 0, maximum: 10), FieldRule(type: .number, minimum: 0.0, maximum: 10.0)),
      (FieldRule(type: .any, choices: ["a", 1]), FieldRule(type: .any, choices: [1.0, "a", "a"])),
      (FieldRule(type: .any, choices: ["a", "b"]), FieldRule(type: .string, choices: ["b", "a"])),
      (FieldRule(type: .string, minimum: "a"), FieldRule(type: .string)),
    ])
  func allowsSame(_ one: FieldRule, _ other: FieldRule) {
    #expect(one.allowsSame(as: other) && other.allowsSame(as: one))
  }

  @Test("rules that are not equivalent allow different values")
  func allowsOther() {
    let rules =
      Self.rules + [
        FieldRule(type: .number, minimum: 0), FieldRule(type: .number, maximum: 1),
        FieldRule(type: .any, choices: [1, "abc"]), FieldRule(type: .any, isEphemeral: true),
      ]
    // The last rule bounds strings by strings. Hubs ignore such bounds, so it equals the rule of any string.
    let text = Self.rules.count - 1
    for (index, one) in rules.enumerated() where index != text {
      for (other, rule) in rules.enumerated() where other != text {
        #expect(one.allowsSame(as: rule) == (index == other), "\(one.allowance) and \(rule.allowance)")
      }
    }
  }

  @Test("a rule gives the same answer for a JSON text as for its parsed value", arguments: rules.indices)
  func sameAnswers(_ index: Int) throws {
    let rule = Self.rules[index]
    for text in Self.values {
      let json = try JSON(parsing: text)
      let answer = Array(text.utf8).withUnsafeBytes { rule.violation($0) }
      #expect(answer == rule.violation(json), "\(text) by \(rule)")
    }
  }

  @Test("plain decimals are read as by a parser, within their stated slack")
  func plainNumbers() throws {
    var seed: UInt64 = 7
    func next(_ bound: UInt64) -> UInt64 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (seed >> 33) % bound
    }
    for _ in 0..<20_000 {
      let whole = next(3) == 0 ? "0" : String(next(1 << 31))
      let text = (next(2) == 0 ? "-" : "") + whole + "." + String(next(1 << 31)) + (next(2) == 0 ? "" : "70")
      guard let plain = Array(text.utf8).withUnsafeBytes({ PlainNumber($0, at: 0) }) else {
        #expect(text.count { $0.isNumber } > 17, "only what has more digits goes the long way: \(text)")
        continue
      }
      let double = try #require(Double(text))
      #expect(abs(plain.double - double) <= plain.slack, "\(text)")
    }
  }

  @Test("64-bit integers and doubles are compared without rounding")
  func exactOrder() {
    let rising: [WireNumber] = [
      .double(-.infinity), .integer(.min), .integer(-1), .double(-0.5), .integer(0), .double(0.5), .integer(1),
      .double(9_007_199_254_740_992), .integer(9_007_199_254_740_993), .integer(.max),
      .double(9_223_372_036_854_775_808), .unsigned(9_223_372_036_854_775_809), .unsigned(.max), .double(1e30),
    ]
    for (index, left) in rising.enumerated() {
      for (other, right) in rising.enumerated() {
        #expect(left.isLess(than: right) == (index < other), "\(left) \(right)")
        #expect(left.isSame(as: right) == (index == other), "\(left) \(right)")
      }
      #expect(!left.isLess(than: .double(.nan)) && !WireNumber.double(.nan).isLess(than: left))
    }
    #expect(WireNumber.integer(1).isSame(as: .double(1)))
  }

  @Test("violation messages shorten long values and escape direction and control characters")
  func words() {
    let rule = FieldRule(type: .string, maximumLength: 3)
    #expect(
      rule.words(.length(4), of: .string("a\u{202e}b\u{9b}"))
        == "\"a\\u{202e}b\\u{9b}\" has 4 characters, at most 3 are allowed")
    #expect(rule.words(.type, of: .array(Array(repeating: 1, count: 100))).count < 80)
  }
}
