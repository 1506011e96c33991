import BindingPeer
import BindingTerminal

/// The table that an import reads: one model a row, one field a column.
struct ImportedTable {
  private var reader: CSV.Reader
  /// Nil before the first record is complete.
  private var fields: [String]?

  /// Nil: the first line of the file does not begin a table.
  init?(firstLine: [UInt8]) {
    let line = firstLine.starts(with: ImportedTable.mark) ? firstLine.dropFirst(3) : firstLine[...]
    let names = [Array("model".utf8), Array("\"model\"".utf8)]
    guard let name = names.first(where: { line.starts(with: $0) }) else { return nil }
    let separator = line.dropFirst(name.count).first ?? UInt8(ascii: ",")
    // Spreadsheets of many languages write semicolons.
    guard [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), 0x0D].contains(separator) else { return nil }
    reader = CSV.Reader(
      separator: separator == 0x0D ? UInt8(ascii: ",") : separator, longest: ImportedModel.longestLine)
  }

  /// The byte order mark that spreadsheets put before UTF-8.
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Whether the last record goes on in the next line.
  var isInRecord: Bool { reader.isInQuotes }

  /// Whether its first record has been read.
  var hasNames: Bool { fields != nil }

  /// The model of the row that ends with this line; nil: none does.
  mutating func take(_ line: [UInt8]) throws(ImportedModel.Fault) -> ImportedModel? {
    let isFirst = fields == nil && !reader.isInQuotes
    let line = isFirst && line.starts(with: ImportedTable.mark) ? Array(line.dropFirst(3)) : line
    let cells: [String]?
    do throws(CSV.Reader.Fault) { cells = try reader.take(line) } catch { throw ImportedTable.fault(error) }
    guard let cells else { return nil }
    guard let fields else {
      self.fields = try ImportedTable.fields(cells)
      return nil
    }
    if cells.allSatisfy(\.isEmpty) { return nil }
    guard cells.count <= fields.count + 1 else {
      throw .init(words: "has \(cells.count) cells, and the table has \(fields.count + 1) columns")
    }
    return try ImportedModel(row: cells[0], zip(fields, cells.dropFirst()).map { ($0, $1) })
  }

  private static func fields(_ cells: [String]) throws(ImportedModel.Fault) -> [String] {
    var seen: Swift.Set<String> = []
    let fields = Array(cells.dropFirst())
    for name in fields {
      try ImportedModel.check(field: name)
      guard seen.insert(name).inserted else { throw .init(words: "has two columns for the field '\(excerpt(name))'") }
    }
    return fields
  }

  /// What is wrong at the end of the file.
  var lastFault: ImportedModel.Fault? { isInRecord ? ImportedTable.fault(.quotesOpen) : nil }

  private static func fault(_ fault: CSV.Reader.Fault) -> ImportedModel.Fault {
    switch fault {
    case .textBehindQuotes: .init(words: #"has text behind the quotes of a cell: write " in a quoted cell as """#)
    case .quotesOpen: .init(words: "begins a cell in quotes that does not end")
    case .notUTF8: .init(words: "is not valid UTF-8: save the table as UTF-8")
    case .tooLong: .init(words: "begins a row of more than \(ImportedModel.longestLine) bytes")
    }
  }
}
