import BindingProtocol
import Testing

@Suite("JSON")
struct JSONTests {
  @Test(
    "a text that is not JSON is reported with the offending byte and a remedy",
    arguments: [
      (#"[1,NaN]"#, #"byte 3: NaN; write {"$float":"NaN"}"#),
      (#"{"a":-Infinity}"#, #"byte 6: -Infinity; write {"$float":"-Infinity"}"#),
      (#""\ud800""#, "byte 1: half of a surrogate pair stands alone; write both halves, or the character itself"),
      (String(repeating: "[", count: 129), "byte 128: more than 128 nested arrays and objects"),
      ("\"a\nb\"", #"byte 2: a control character, 0xa, in a text; write \n"#),
      ("\"\u{1}\"", #"byte 1: a control character, 0x1, in a text; write \u0001"#),
      ("'a'", "byte 0: '; write strings in double quotes, \""),
      ("+1", "byte 0: +; write the number without it"),
      ("[.5]", "byte 1: .; write a digit before it, as in 0.5"),
      ("[1,]", "byte 3: no value: an object, array, string, number, true, false or null must stand here"),
    ])
  func faults(_ text: String, _ words: String) {
    #expect(FieldValue(bytes: Array(text.utf8)).fault == "not JSON at " + words)
  }

  @Test("bytes that are not UTF-8 and the empty text are reported with a remedy, and valid JSON is not")
  func otherFaults() {
    let words = #"not JSON at byte 1: byte 0xff is not UTF-8; write bytes as {"$bytes":"<base64>"}"#
    #expect(FieldValue(bytes: [0x22, 0xFF, 0x22]).fault == words)
    #expect(FieldValue(bytes: []).fault == #"not JSON: it is empty; the empty text is """#)
    #expect(FieldValue(bytes: Array("1e400".utf8)).fault == nil)
  }

  private static let texts: [(String, JSON)] = [
    ("null", JSON.null), ("true", true), (" false ", false), ("0", 0), ("-1", -1), ("1.0", 1.0),
    ("-0", .number(-0.0)),
    ("1e2", .number(100)), ("1E+2", .number(100)), ("25e-2", .number(0.25)), ("\"\"", ""), ("[]", []), ("{}", [:]),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .number(9_223_372_036_854_775_808)), ("1e999", .number(.infinity)),
    ("5e-324", .number(.leastNonzeroMagnitude)), ("[1,[2,{}], \"x\" ]", [1, [2, [:]], "x"]),
    ("\t{\"a\" : 1 ,\r\n\"b\":[null]} ", ["a": 1, "b": [nil]]),
    ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\u{8}\u{C}\n\r\t"), ("\"\\u00e9\\u2600\"", "é☀"),
    ("\"\\ud83d\\ude00\"", "😀"), ("\"\\uD83D\\uDE00!\"", "😀!"), ("\"\u{7F}é☀😀\"", "\u{7F}é☀😀"), ("\"\\u0000\"", "\0"),
  ]

  @Test("a JSON text is parsed into its value", arguments: texts)
  func values(_ text: String, _ value: JSON) throws {
    #expect(try JSON(parsing: text) == value)
    #expect(valid(text))
  }

  @Test(
    "a text that is not JSON is refused",
    arguments: [
      "", " ", "nul", "nulll", "True", "+1", "01", "-", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "1 2",
      "[1,]", "[,]",
      "[1 2]", "[", "]", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\":1 \"b\":2}", "{,}",
      "\"",
      "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\n\"", "\"\u{1}\"", "'a'", "\"\\ud83d\"", "\"\\ud83d\\n\"",
      "\"\\ud83dx\"", "\"\\ude00\"", "\"\\ud83d\\ud83d\"", "[1]]", "\u{FEFF}1", "\"a\" ,", "--1", "1.e2", "/**/1", "-a",
      "[\"a\":1]", "{\"a\",1}", "tru", "\"\\", "\"\\u", "\"\\ud83d\\u", "\"\\ud83d\\",
    ])
  func faults(_ text: String) {
    #expect(throws: WireError.self) { try JSON(parsing: text) }
    #expect(!valid(text))
  }

  @Test(
    "JSON text that is not UTF-8 is refused",
    arguments: [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
      [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC3], [0xE2, 0x98], [0xF0, 0x9F, 0x98],
      [0xE2, 0x28, 0xA1],
    ] as [[UInt8]])
  func badUTF8(_ bytes: [UInt8]) {
    let text = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
    #expect(throws: WireError.self) { try JSON(parsing: text) }
    #expect(!text.withUnsafeBytes { JSON.isValid($0) })
  }

  @Test("every Unicode character is read and written unchanged")
  func everyCharacter() throws {
    for first in stride(from: UInt32(0), through: 0x10FFFF, by: 97) {
      guard let scalar = Unicode.Scalar(first) else { continue }
      let text = JSON.string("a\(Character(scalar))b")
      #expect(try JSON(parsing: text.bytes) == text)
    }
  }

  @Test("JSON nests at most 128 levels deep")
  func depth() throws {
    func nested(_ depth: Int, _ open: String, _ close: String) -> String {
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
      let step = open.count == 6 ? 2 : 1
      let allowed = nested(128 / step, open, close)
      let tooDeep = nested(128 / step + 1, open, close)
      #expect(valid(allowed))
      #expect(throws: Never.self) { try JSON(parsing: allowed) }
      #expect(!valid(tooDeep))
      #expect(throws: WireError.self) { try JSON(parsing: tooDeep) }
    }
    #expect(!valid(String(repeating: "[", count: 1_000_000)))
    #expect(throws: WireError.self) { try JSON(parsing: String(repeating: "{\"a\":", count: 200_000)) }
  }

  @Test("a parse error carries the offset of the offending byte")
  func offsets() {
    func offset(_ text: String) -> Int? {
      do throws(WireError) { _ = try JSON(parsing: text) } catch { return error.offset }
      return nil
    }
    #expect(offset("[1,x]") == 3)
    #expect(offset("{\"a\" 1}") == 5)
    #expect(offset("1 1") == 2)
    #expect(offset("[\"é\u{1}\"]") == 4)
  }

  @Test("$int, $float and $bytes express numbers and bytes that JSON cannot")
  func escapes() throws {
    #expect(JSON.integer(9_007_199_254_740_992).text == "9007199254740992")
    #expect(JSON.integer(9_007_199_254_740_993).text == "{\"$int\":\"9007199254740993\"}")
    #expect(JSON.integer(.min).text == "{\"$int\":\"-9223372036854775808\"}")
    #expect(try JSON(parsing: "{\"$int\":\"9223372036854775807\"}") == .integer(.max))
    #expect(try JSON(parsing: "[{ \"$int\" : \"-5\" }]") == [-5])
    #expect(JSON.number(.infinity).text == "{\"$float\":\"Infinity\"}")
    #expect(JSON.number(-.infinity).text == "{\"$float\":\"-Infinity\"}")
    #expect(JSON.number(.nan).text == "{\"$float\":\"NaN\"}")
    #expect(try JSON(parsing: "{\"$float\":\"NaN\"}").double?.isNaN == true)
    #expect(JSON.binary([0, 255, 16]).text == "{\"$bytes\":\"AP8Q\"}")
    #expect(try JSON(parsing: "{\"$bytes\":\"AP8Q\"}").binary == [0, 255, 16])
  }

  @Test(
    "an object that only resembles an escape is left unchanged",
    arguments: [
      "{\"$int\":5}", "{\"$int\":\"05\"}", "{\"$int\":\"+5\"}", "{\"$int\":\"x\"}",
      "{\"$int\":\"9223372036854775808\"}",
      "{\"$int\":\"1\",\"a\":2}", "{\"$float\":\"1\"}", "{\"$float\":1.5}", "{\"$other\":\"1\"}",
    ])
  func notEscapes(_ text: String) throws {
    let value = try JSON(parsing: text)
    #expect(value.members != nil)
    #expect(value.text == text)
  }

  @Test("bytes are read and written in base64, and only in its canonical form")
  func base64() throws {
    let known: [(String, String)] = [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ]
    for (plain, coded) in known {
      #expect(JSON.binary(Array(plain.utf8))["$bytes"]?.string == coded)
      #expect(JSON.object([.init("$bytes", .string(coded))]).binary == Array(plain.utf8))
    }
    for wrong in ["Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9", "Zm9-", "=Zm9"] {
      #expect(JSON.object([.init("$bytes", .string(wrong))]).binary == nil, "\(wrong)")
    }
    for byte in UInt8.min...UInt8.max {
      for count in 1...4 {
        let bytes = [UInt8](repeating: byte, count: count)
        #expect(JSON.binary(bytes).binary == bytes)
      }
    }
  }

  @Test("numbers are written with the fewest digits that read back to the same")
  func numbers() throws {
    #expect(JSON.number(0.1).text == "0.1")
    #expect(JSON.number(0.1 + 0.2).text == "0.30000000000000004")
    #expect(JSON.number(-0.0).text == "-0.0")
    var numbers = SeededNumbers(seed: 11)
    for _ in 0..<10_000 {
      let number = Double(bitPattern: numbers.next())
      guard number.isFinite else { continue }
      #expect(try JSON(parsing: JSON.number(number).text) == .number(number))
    }
  }

  @Test("control characters, quotation marks and backslashes are escaped on writing")
  func writing() {
    #expect(JSON.string("a\"b\\c\n\r\t\u{8}\u{1F}/é").text == "\"a\\\"b\\\\c\\n\\r\\t\\u0008\\u001f/é\"")
    #expect(JSON.object([.init("b", 1), .init("a", [nil, true])]).text == "{\"b\":1,\"a\":[null,true]}")
  }

  @Test("the later of two members with one name counts, and both are written back")
  func repeatedMembers() throws {
    let value = try JSON(parsing: "{\"a\":1,\"a\":2}")
    #expect(value["a"] == 2)
    #expect(value.text == "{\"a\":1,\"a\":2}")
    #expect(value["b"] == nil)
  }

  @Test("the validator and the parser accept the same texts under random edits")
  func validatorAgrees() {
    var numbers = SeededNumbers(seed: 3)
    let texts = [
      "{\"a\":[1,2.5e-3,\"x\\u00e9\\ud83d\\ude00\"],\"b\":{\"$int\":\"5\"},\"c\":null}", "[true,false,[[\"☀\"]],-0.0]",
      "\"\\n\\\\\"",
    ].map { Array($0.utf8) }
    let bytes = Array("{}[]\",:\\0123456789eE+-.truefalsn ud8\u{1}".utf8) + [0x80, 0xC3, 0xE2, 0xF0, 0xFF]
    var accepted = 0
    for round in 0..<50_000 {
      var text = texts[round % texts.count]
      for _ in 0..<Int.random(in: 1...3, using: &numbers) where !text.isEmpty {
        let at = Int.random(in: 0..<text.count, using: &numbers)
        switch Int.random(in: 0..<3, using: &numbers) {
        case 0: text[at] = bytes[Int.random(in: 0..<bytes.count, using: &numbers)]
        case 1: text.remove(at: at)
        default: text.insert(bytes[Int.random(in: 0..<bytes.count, using: &numbers)], at: at)
        }
      }
      let parsed = try? JSON(parsing: text)
      #expect((parsed != nil) == text.withUnsafeBytes { JSON.isValid($0) }, "\(text)")
      if let parsed {
        accepted += 1
        #expect((try? JSON(parsing: parsed.bytes))?.text == parsed.text, "\(text)")
      }
    }
    #expect(accepted > 1_000)
  }

  @Test("a byte that a string must not contain is found at any offset", arguments: 0..<24)
  func badByteAnywhere(offset: Int) {
    for length in offset..<26 {
      for byte in [0x00, 0x1F, 0x22, 0x5C, 0x80, 0xFF] as [UInt8] {
        var text = Array("\"".utf8) + [UInt8](repeating: 0x7F, count: length) + Array("\"".utf8)
        #expect(text.withUnsafeBytes { JSON.isValid($0) }, "\(text)")
        guard offset < length else { continue }
        text[1 + offset] = byte
        // A backslash before the last byte escapes the closing quotation mark; elsewhere no letter follows it.
        #expect(!text.withUnsafeBytes { JSON.isValid($0) }, "\(text)")
      }
    }
  }

  @Test("user input is checked as JSON, and a value from the wire is kept byte for byte")
  func fieldValues() throws {
    #expect(try FieldValue(text: " [1] ").description == " [1] ")
    #expect(throws: WireError.self) { try FieldValue(text: "desk") }
    #expect(!FieldValue(bytes: []).isValid)
    #expect(FieldValue(json: ["a": 1]).isValid)
    #expect(try FieldValue(json: "é").json == "é")
  }

  private func valid(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { JSON.isValid($0) } }
}
