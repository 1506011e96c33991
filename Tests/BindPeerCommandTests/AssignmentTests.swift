import BindingPeer
import Testing

@testable import bindpeer

@Suite("Assignments")
struct AssignmentTests {
  private func value(_ text: String, _ declared: FieldDescription? = nil, as reading: Assignment.Reading = .usual)
    throws -> String
  {
    try Assignment(text).operation(declared: declared, shown: nil, as: reading).value?.description ?? "none"
  }

  private func failure(_ text: String, _ declared: FieldDescription? = nil) throws -> Failure {
    try #require(throws: Failure.self) { try value(text, declared) }
  }

  @Test(
    "a value typed as JSON is sent exactly as typed",
    arguments: [
      "1e400", "999999999999999999999999999999", "1e-400", "18446744073709551615", "0.10", "{\"b\":1, \"a\":2}",
      "\"x\"",
    ])
  func exact(_ text: String) throws {
    #expect(try value("m.f:=\(text)") == text)
    #expect(try value("m.f=\(text)") == text)
    if !text.hasPrefix("{"), !text.hasPrefix("\"") { #expect(try value("m.f=\(text)", .init(type: .number)) == text) }
  }

  @Test(
    "a value that begins like JSON but is not JSON is refused with 65 and the alternatives",
    arguments: ["\"\\ud800\"", String(repeating: "[", count: 129), "{x", "[section]"])
  func meantAsJSON(_ text: String) throws {
    let failure = try failure("m.f=\(text)")
    #expect(failure.code == .doesNotFit)
    #expect(failure.text.contains("--text") && failure.text.contains(":="))
    #expect(try value("m.f=\(text)", .init(type: .string)) == JSON.string(text).text)
    #expect(try value("m.f=\(text)", as: .text) == JSON.string(text).text)
  }

  @Test("a number that JSON lacks is refused with 65, and other words are text", arguments: ["NaN", "-Infinity"])
  func noNumber(_ text: String) throws {
    #expect(try failure("m.f=\(text)").text.contains("{\"$float\":\"\(text)\"}"))
    #expect(try value("m.f=\(text)", .init(type: .string)) == "\"\(text)\"")
    #expect(try value("m.f=nancy") == "\"nancy\"")
  }

  @Test("a summand that no double holds is refused", arguments: ["1e400", "-1e400", "1e-400", "word"])
  func summand(_ text: String) throws {
    #expect(try failure("m.f+=\(text)").code == .doesNotFit)
    #expect(try value("m.f+=0.0e5") == "0.0e5")
    #expect(try value("m.f+=1e300") == "1e300")
  }

  @Test("an error shows at most 200 characters of a value, and no control characters")
  func excerpts() throws {
    let long = String(repeating: "[", count: 100_000)
    for text in ["m.f=\(long)", "m.f:=\(long)", "m.f+=\(long)", long, "m\(long).f=1", "m.f\u{1B}[31m=1"] {
      let failure = try failure(text)
      #expect(failure.text.utf8.count < 600)
      #expect(!failure.text.contains("\u{1B}"))
    }
  }

  @Test("a JSON line keeps each stored value byte for byte and stays one line")
  func line() {
    var line = JSONLine()
    line.add("model", .string("m"))
    line.add(
      "values",
      values: [
        ("a", FieldValue(bytes: Array("1e400".utf8))), ("b", nil), ("c", FieldValue(bytes: Array("[1,\n2]".utf8))),
        ("d", FieldValue(bytes: Array("1e".utf8))),
      ])
    #expect(line.text == #"{"model":"m","values":{"a":1e400,"b":null,"c":[1, 2],"d":null}}"#)
  }

  @Test("lines are read whole in pieces of any size, and an overlong one is cut", arguments: [1, 3, 1 << 20])
  func reading(_ size: Int) {
    let long = Array(repeating: UInt8(ascii: "x"), count: LineReader.longestLine + 2_000_000)
    var input = Array("a\n\nbcd\n".utf8)
    if size > 3 { input += long + Array("\n".utf8) }
    input += Array("last".utf8)
    var lines: [[UInt8]] = []
    var reader = LineReader {
      defer { input.removeFirst(min(size, input.count)) }
      return Array(input.prefix(size))
    }
    while let line = reader.next() { lines.append(line) }
    #expect(lines.first == Array("a".utf8) && lines.last == Array("last".utf8))
    #expect(lines.dropFirst().prefix(2).map { String(decoding: $0, as: UTF8.self) } == ["", "bcd"])
    #expect(lines.count == (size > 3 ? 5 : 4))
    if size > 3 { #expect(lines[3].count > LineReader.longestLine) }
  }

  @Test("line numbers are named as ranges, up to a limit")
  func lines() {
    #expect(PipedLines.words([3]) == "line 3")
    #expect(PipedLines.words([5, 3, 4, 9]) == "lines 3 to 5, 9")
    #expect(PipedLines.words((1...100).map { $0 * 2 }).hasSuffix("20 … (100 in all)"))
  }

  @Test("a set that stopped halfway lists the models that were written and those that were not")
  func halfDone() {
    #expect(Set.halfDone(done: ["a"], left: ["c"], noWait: false) == "\nAlready written: a.\nNot written: c.")
    #expect(Set.halfDone(done: [], left: [], noWait: false) == "")
  }
}
