import Testing

@testable import BindingPeer
@testable import bindpeer

@Suite("A table of `export --csv` and `import`")
struct TableTests {
  private func records(_ text: String, separator: Character = ",", longest: Int = 1_000) throws -> [[String]] {
    var reader = CSV.Reader(separator: try #require(separator.asciiValue), longest: longest)
    let lines = Array(text.utf8).split(separator: 0x0A, omittingEmptySubsequences: false)
    let records = try lines.compactMap { try reader.take(Array($0)) }
    #expect(!reader.isInQuotes)
    return records
  }

  @Test(
    "what is written is read back cell for cell",
    arguments: [
      ["a", "", "b"], ["", ""], ["a,b", "c\"d", "\"", "\"\""], ["two\nlines", "\n", "\r"],
      ["ü", "\u{1F600}", "a;b\tc"],
    ])
  func roundTrip(_ cells: [String]) throws { #expect(try records(CSV.line(cells)) == [cells]) }

  @Test("lines end with or without a carriage return, and cells are separated by what the table says")
  func dialects() throws {
    #expect(try records("a,b\r\nc,\"d\"\r") == [["a", "b"], ["c", "d"]])
    #expect(try records("a;b,c", separator: ";") == [["a", "b,c"]])
    #expect(try records("a\t\"b\tc\"", separator: "\t") == [["a", "b\tc"]])
    #expect(try records("say \"no\",x") == [["say \"no\"", "x"]])
  }

  @Test("a record that is none is refused, and the next line begins another one")
  func faults() throws {
    var reader = CSV.Reader(separator: UInt8(ascii: ","), longest: 12)
    #expect(throws: CSV.Reader.Fault.textBehindQuotes) { try reader.take(Array("\"a\"b".utf8)) }
    #expect(throws: CSV.Reader.Fault.notUTF8) { try reader.take([0xFF]) }
    #expect(throws: CSV.Reader.Fault.tooLong) { try reader.take(Array("0123456789ab".utf8)) }
    #expect(try reader.take(Array("\"0123".utf8)) == nil)
    #expect(throws: CSV.Reader.Fault.tooLong) { try reader.take(Array("456789".utf8)) }
    #expect(try reader.take(Array("a,b".utf8)) == ["a", "b"])
  }

  @Test(
    "a value is the same after a cell, byte for byte, whatever the field's type",
    arguments: [
      "1", "1.0", "123456789012345678901234567890.10", "true", "null", #""text""#, #""""#, #""12""#, #""true""#,
      #""TRUE""#, #""on""#, #""=1+1""#, #""+1""#, #""-x""#, #""@x""#, #""[x""#, #""{""#, #""\"x\"""#, #"" 1""#,
      #""a\u0062""#, #""NaN""#, #""a,\"b\"\nc""#, "[1,2]", #"{"$bytes":"AAH/"}"#, #"{"a":null}"#, #""\tx""#,
    ])
  func values(_ json: String) throws {
    let value = try FieldValue(text: json)
    let cell = TableCell.text(of: value)
    let type: FieldType =
      switch try value.json {
      case .string: .string
      case .bool: .boolean
      default: .any
      }
    #expect(try TableCell.value(of: cell, as: nil) == value, "\(cell)")
    #expect(try TableCell.value(of: cell, as: type) == value, "\(cell)")
    if case .string(let text) = try value.json { #expect(cell == text || cell.hasPrefix("\"")) }
  }

  @Test("what people type in a cell is read as the field's declared type")
  func typed() throws {
    func value(_ cell: String, _ type: FieldType?) throws -> String? {
      try TableCell.value(of: cell, as: type).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
    #expect(try value("TRUE", .boolean) == "true")
    #expect(try value("off", .boolean) == "false")
    #expect(try value("TRUE", nil) == #""TRUE""#)
    #expect(try value("007", .string) == #""007""#)
    #expect(try value("[x", .string) == #""[x""#)
    #expect(try value("0.50", .number) == "0.50")
    #expect(try value("", .string) == nil)
    #expect(throws: TypedText.Fault.self) { try value("[x", nil) }
    #expect(throws: TypedText.Fault.self) { try value("NaN", .number) }
  }

  @Test("the first line says whether a file is a table, and what separates its cells")
  func beginnings() throws {
    for first in ["model,a,b", "model;a;b", "model\ta\tb", "\u{FEFF}model,a,b", "\"model\",\"a\",b", "model,a,b\r"] {
      var table = try #require(ImportedTable(firstLine: Array(first.utf8)), "\(first)")
      #expect(try table.take(Array(first.utf8)) == nil && table.hasNames)
      let separator = first.contains(";") ? ";" : first.contains("\t") ? "\t" : ","
      let row = try #require(try table.take(Array("shop/x\(separator)1".utf8)))
      #expect(row.model == "shop/x" && row.values.map(\.name) == ["a"] && row.values[0].value == .cell("1"))
    }
    for first in [#"{"model":"a"}"#, "models,a", "name,a", "model a"] {
      #expect(ImportedTable(firstLine: Array(first.utf8)) == nil, "\(first)")
    }
    var bare = try #require(ImportedTable(firstLine: Array("model".utf8)))
    #expect(try bare.take(Array("model".utf8)) == nil && bare.hasNames)
  }

  @Test(
    "a table that is none says what is wrong",
    arguments: [
      ("model,a,a", "", "two columns"), ("model,@owner", "", "@owner"), ("model,", "", "has no field ''"),
      ("model,a", "x,1,2", "has 3 cells, and the table has 2 columns"), ("model,a", "x/,1", "names no model"),
      ("model,a", ",1", "names no model"), ("model,a", "x,\"1\"2", "behind the quotes"),
    ])
  func faults(_ header: String, _ row: String, _ words: String) throws {
    var table = try #require(ImportedTable(firstLine: Array(header.utf8)))
    #expect {
      _ = try table.take(Array(header.utf8))
      _ = try table.take(Array(row.utf8))
    } throws: {
      ($0 as? ImportedModel.Fault)?.words.contains(words) == true
    }
  }
}
