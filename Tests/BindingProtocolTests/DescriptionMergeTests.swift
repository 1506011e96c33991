import Testing

@testable import BindingProtocol

@Suite("Merging descriptions")
struct DescriptionMergeTests {
  private func value(_ text: String) -> FieldValue { FieldValue(bytes: Array(text.utf8)) }

  /// A description of one field, `level`.
  private func level(_ members: String, release: Int? = nil) -> String {
    "{\(release.map { "\"release\":\($0)," } ?? "")\"fields\":{\"level\":{\(members)}}}"
  }

  private func merge(_ declared: String, into stored: String?) -> DescriptionMerge? {
    DescriptionMerge(of: value(declared), into: stored.map(value))
  }

  /// The members of `level` once `declared` was shared over `stored`.
  private func merged(_ declared: String, into stored: String) -> String? {
    merge(level(declared), into: level(stored)).map { $0.merged.description }.map {
      String($0.dropFirst("{\"fields\":{\"level\":{".count).dropLast(3))
    }
  }

  // MARK: Rules

  @Test("fields are added as declared, and the bytes and order of what is there stay")
  func added() {
    let stored =
      #"{ "x-tool" : [1.50, "\u00e9"], "fields":{"z":{"type":"number","max":1.0,"x":{"b":1,"a":2}}},"y":1e2}"#
    let merge = merge(#"{"fields":{"a":{"type":"boolean"},"z":{"max":1,"type":"number"}}}"#, into: stored)
    #expect(
      merge?.merged.description
        == #"{"x-tool":[1.50, "\u00e9"],"fields":{"z":{"type":"number","max":1.0,"x":{"b":1,"a":2}},"#
        + #""a":{"type":"boolean"}},"y":1e2}"#)
    #expect(merge?.isChange == true && merge?.differences.isEmpty == true)
  }

  @Test("a share that changes nothing leaves the description byte for byte")
  func unchanged() {
    let stored = #"{ "fields" : {"level":{"max":1.00,"min":0,"type":"number","choices":[1, 2 ]}}, "release": 3}"#
    for declared in [
      #"{}"#, #"{"fields":{}}"#, #"{"fields":{"level":{"type":"number","min":0.0,"max":1e0,"choices":[2,1]}}}"#,
      #"{"release":3,"fields":{"level":{"type":"number","min":0.5,"max":1,"choices":[2]}}}"#,
    ] {
      let merge = merge(declared, into: stored)
      #expect(merge?.isChange == false && merge?.merged == value(stored), "\(declared)")
    }
  }

  @Test(
    "ranges, lengths and choices only widen, and one that either side lacks is removed",
    arguments: [
      (#""min":0,"max":1"#, #""min":-1,"max":0.5"#, #""min":-1,"max":1"#),
      (#""min":0,"max":1"#, #""max":2"#, #""max":2"#),
      (#""max":2"#, #""min":0,"max":1"#, #""max":2"#),
      (#""maxLength":5"#, #""maxLength":9"#, #""maxLength":9"#),
      (#""maxLength":9"#, #""maxLength":5"#, #""maxLength":9"#),
      (#""maxLength":9"#, #""type":"any""#, ""),
      (#""choices":["a"]"#, #""choices":["b","a"]"#, #""choices":["a","b"]"#),
      (#""choices":["a"]"#, "", ""),
      (#""choices":["a"]"#, #""choices":[]"#, ""),
      (#""choices":[]"#, #""choices":["a"]"#, #""choices":[]"#),
      ("", #""min":0,"choices":[1],"maxLength":3"#, ""),
      (#""type":"string","min":"b""#, #""type":"string","min":"a""#, #""type":"string","min":"a""#),
    ])
  func widened(_ stored: String, _ declared: String, _ expected: String) {
    #expect(merged(declared, into: stored) == expected)
  }

  @Test("bounds are compared without rounding")
  func exact() {
    let (least, more) = (#"{"$int":"9007199254740993"}"#, #"{"$int":"9007199254740994"}"#)
    #expect(merged("\"max\":\(more)", into: "\"max\":\(least)") == "\"max\":\(more)")
    #expect(merged("\"max\":\(least)", into: "\"max\":\(more)") == "\"max\":\(more)")
    // Past signed 64 bits.
    let (most, below) = (#"{"$int":"18446744073709551615"}"#, #"{"$int":"18446744073709551614"}"#)
    #expect(merged("\"max\":\(most)", into: "\"max\":\(below)") == "\"max\":\(most)")
    // A spelling with thirty digits stays, also as a default that differs in its last digit.
    let (one, other) = ("0.123456789012345678901234567890", "0.123456789012345678901234567891")
    #expect(merged("\"max\":0.1", into: "\"max\":\(one)") == "\"max\":\(one)")
    let merge = merge(level("\"default\":\(other)"), into: level("\"default\":\(one)"))
    #expect(merge?.isChange == false && merge?.differences.count == 1)
  }

  @Test("the members for forms and the default follow the higher release, whichever is shared first")
  func releases() {
    let old = level(#""title":"A","help":"H","default":1"#, release: 1)
    let new = level(#""title":"B","default":2"#, release: 2)
    for order in [[old, new], [new, old], [old, new, old, new]] {
      let merged = order.reduce(into: String?.none) { $0 = merge($1, into: $0)?.merged.description ?? "" }
      let json = try? JSON(parsing: merged ?? "")
      #expect(json?["release"] == 2)
      let field = json?["fields"]?["level"]
      #expect(field?["title"] == "B" && field?["default"] == 2 && field?["help"] == "H", "\(merged ?? "")")
      #expect(field?["release"] == nil && field?["releases"] == ["help": 1], "\(merged ?? "")")
    }
  }

  @Test("at equal releases what is there stays, and the difference is told")
  func equalReleases() {
    let merge = merge(level(#""title":"B","order":2,"widget":"w""#), into: level(#""title":"A","order":1"#))
    #expect(merge?.merged.description == level(#""title":"A","order":1,"widget":"w""#))
    #expect(
      merge?.differences == [RuleDifference(field: "level", declared: "title \"B\"", described: "title \"A\"")])
  }

  @Test(
    "type, scope, policy, pattern and unknown members never change, and absence of the first four is a value",
    arguments: [
      (#""type":"number","max":1"#, #""type":"string""#, "string", "number, …...1"),
      (#""max":1"#, #""type":"number","max":2"#, "number, …...2", "any, …...1"),
      (#""type":"number""#, #""type":"number","ephemeral":true"#, "number, ephemeral", "number"),
      ("", #""policy":"add""#, "policy add", "policy lastWrite"),
      (#""policy":"add""#, "", "policy lastWrite", "policy add"),
      ("", #""pattern":"a+""#, "pattern \"a+\"", "no pattern"),
      (#""unit":"lm","max":1"#, #""unit":"%","max":100"#, "any, …...100, unit \"%\"", "any, …...1, unit \"lm\""),
      (#""x":1"#, #""x":2"#, "x 2", "x 1"),
    ])
  func fixed(_ stored: String, _ declared: String, _ mine: String, _ theirs: String) {
    let merge = merge(level(declared, release: 0), into: level(stored))
    #expect(merge?.isChange == false && merge?.merged.description == level(stored))
    #expect(merge?.differences == [RuleDifference(field: "level", declared: mine, described: theirs)])
  }

  @Test("a unit and unknown members are added where there are none, and an older declaration is no difference")
  func older() {
    let stored = level(#""type":"number","max":9,"title":"N""#, release: 2)
    let merge = merge(level(#""type":"number","max":1,"unit":"%","x":{"a":1},"title":"O""#, release: 1), into: stored)
    #expect(
      merge?.merged.description == level(#""type":"number","max":9,"title":"N","unit":"%","x":{"a":1}"#, release: 2))
    #expect(merge?.differences == [])
  }

  @Test("aliases are added, and one that names another field stays and is told")
  func aliases() {
    let stored = #"{"fields":{},"alias":{"level":"brightness"}}"#
    let added = merge(#"{"alias":{"level":"brightness","hue":"colour"}}"#, into: stored)
    #expect(added?.merged.description == #"{"fields":{},"alias":{"level":"brightness","hue":"colour"}}"#)
    #expect(added?.aliasConflict == nil)
    let moved = merge(#"{"alias":{"level":"gleam"}}"#, into: stored)
    #expect(moved?.aliasConflict == "level is another name of brightness, and cannot be one of gleam")
    #expect(moved?.isChange == false)
  }

  @Test("what is no description is not merged, and into nothing the declaration is taken as it is")
  func malformed() {
    for text in ["1", "[]", #"{"fields":[]}"#] {
      #expect(merge(text, into: "{}") == nil && merge("{}", into: text) == nil)
    }
    #expect(merge(#"{ "fields":{} }"#, into: nil)?.merged.description == #"{ "fields":{} }"#)
    #expect(merge(#"{"fields":{"a":{}}}"#, into: #"{"fields":{"a":7}}"#)?.isChange == false)
  }

  // MARK: Properties

  /// A random declaration of a release. Fields agree about what never changes, unless `isStubborn`.
  private func declaration(release: Int, isStubborn: Bool, _ numbers: inout SeededNumbers) -> FieldValue {
    var fields: [JSON.Member] = []
    for (index, name) in ["a", "b", "c", "d"].enumerated() where Bool.random(using: &numbers) {
      var members: [JSON.Member] = []
      func add(_ name: String, _ json: JSON) { members.append(.init(name, json)) }
      let kind = isStubborn ? Int.random(in: 0..<3, using: &numbers) : index % 3
      add("type", [.string("number"), "string", "any"][kind])
      if Bool.random(using: &numbers) { add("min", .integer(.random(in: -9...0, using: &numbers))) }
      if Bool.random(using: &numbers) { add("max", .number(Double(Int.random(in: 0...18, using: &numbers)) / 2)) }
      if Bool.random(using: &numbers) { add("maxLength", .integer(.random(in: 0...5, using: &numbers))) }
      if Bool.random(using: &numbers) {
        let count = Int.random(in: 0...3, using: &numbers)
        add("choices", .array((0..<count).map { _ in .integer(.random(in: 0...4, using: &numbers)) }))
      }
      for member in DescribedField.shownMembers where Int.random(in: 0..<3, using: &numbers) == 0 {
        add(member, .integer(.random(in: 1...3, using: &numbers)))
      }
      if isStubborn {
        let fixed = [("unit", ["%", "lm"]), ("policy", ["add", "max"]), ("pattern", ["a", "b"]), ("x", ["1", "2"])]
        for (member, words) in fixed {
          if Bool.random(using: &numbers) { add(member, .string(words[Int.random(in: 0...1, using: &numbers)])) }
        }
      }
      fields.append(.init(name, .object(members.shuffled(using: &numbers))))
    }
    let all: [JSON.Member] = [.init("fields", .object(fields.shuffled(using: &numbers)))]
    return FieldValue(json: .object(all + (release > 0 ? [.init("release", .integer(Int64(release)))] : [])))
  }

  /// The description with its choices in one order; that of members does not count.
  private func canonical(_ description: FieldValue?) throws -> FieldValue {
    let description = try #require(description)
    guard case .object(var top)? = try? description.json, let at = top.firstIndex(where: { $0.name == "fields" }),
      case .object(var fields) = top[at].value
    else { return description }
    for index in fields.indices {
      guard case .object(var members) = fields[index].value else { continue }
      for member in members.indices where members[member].name == "choices" {
        let choices = Swift.Set((members[member].value.elements ?? []).map(\.text)).sorted()
        members[member].value = .array(choices.map(JSON.string))
      }
      // An empty list is as none.
      members.removeAll { $0.name == "choices" && $0.value == [] }
      fields[index].value = .object(members)
    }
    top[at].value = .object(fields)
    return FieldValue(json: .object(top))
  }

  private func share(_ declared: FieldValue, into stored: FieldValue?) throws -> DescriptionMerge {
    try #require(DescriptionMerge(of: declared, into: stored))
  }

  @Test("shares of several releases lead to one description in any order, and only widen it: 600 sequences")
  func anyOrder() throws {
    for seed in 0..<600 as Range<UInt64> {
      var numbers = SeededNumbers(seed: seed)
      let declared = (0...3).map { declaration(release: $0, isStubborn: false, &numbers) }
      let order = (0..<Int.random(in: 1...8, using: &numbers)).map { _ in Int.random(in: 0...3, using: &numbers) }
      var stored: FieldValue?
      for release in order {
        let before = stored
        stored = try share(declared[release], into: stored).merged
        try checkWiderThan(before, declared[release], stored, seed)
      }
      var sorted: FieldValue?
      for release in Array(Swift.Set(order)).sorted() { sorted = try share(declared[release], into: sorted).merged }
      let isSame = try canonical(stored).isSame(as: try canonical(sorted))
      try #require(isSame, "seed \(seed), \(order): \(stored?.description ?? "") \(sorted?.description ?? "")")
      for release in order {
        let again = try share(declared[release], into: stored)
        try #require(!again.isChange && again.merged == stored && again.differences.isEmpty, "seed \(seed), \(order)")
      }
    }
  }

  @Test("programs that disagree about what never changes do not overwrite each other: 600 sequences")
  func noPingPong() throws {
    for seed in 0..<600 as Range<UInt64> {
      var numbers = SeededNumbers(seed: seed)
      let declared = (0...3).map { declaration(release: $0 / 2, isStubborn: true, &numbers) }
      var stored: FieldValue?
      for one in declared.shuffled(using: &numbers) { stored = try share(one, into: stored).merged }
      for one in declared.shuffled(using: &numbers) {
        let again = try share(one, into: stored)
        try #require(!again.isChange && again.merged == stored, "seed \(seed): \(stored?.description ?? "")")
      }
    }
  }

  /// Checks that a description allows what it allowed, and what was declared.
  private func checkWiderThan(
    _ before: FieldValue?, _ declared: FieldValue, _ after: FieldValue?, _ seed: UInt64
  ) throws {
    let after = try #require(after.flatMap { DescribedModel($0) })
    let values: [JSON] = [0, 1, 4, -9, 0.5, 9, "", "abc", "abcdef", true, nil]
    for earlier in [before, declared].compactMap({ $0 }).compactMap({ DescribedModel($0) }) {
      for name in ["a", "b", "c", "d"] {
        guard let rule = earlier.field(name)?.rule else { continue }
        let wider = try #require(after.field(name)?.rule)
        for value in values where rule.violation(value) == nil {
          try #require(wider.violation(value) == nil, "seed \(seed): \(name) \(value)")
        }
      }
    }
  }
}
