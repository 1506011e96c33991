import BindingPeer

/// Tables of text: RFC 4180, with lines that end as the system's do.
enum CSV {
  /// One record.
  static func line(_ cells: [String]) -> String { cells.map(quoted).joined(separator: ",") }

  private static func quoted(_ cell: String) -> String {
    let needsQuotes = cell.utf8.contains { [UInt8(ascii: ","), UInt8(ascii: "\""), 0x0A, 0x0D].contains($0) }
    return needsQuotes ? "\"" + cell.replacing("\"", with: "\"\"") + "\"" : cell
  }

  /// Joins lines to records, and cuts these into cells. A cell in quotes may contain the separator and line ends.
  struct Reader {
    enum Fault: Error { case textBehindQuotes, quotesOpen, notUTF8, tooLong }

    let separator: UInt8
    /// The limit of a record, in bytes.
    let longest: Int
    private var cells: [String] = []
    private var cell: [UInt8] = []
    private var size = 0
    /// Whether the last line ended inside quotes.
    private(set) var isInQuotes = false

    init(separator: UInt8, longest: Int) { (self.separator, self.longest) = (separator, longest) }

    /// The record that ends with this line, which has no line end of its own; nil: it goes on in the next line.
    /// - Throws: the record is none; the next line begins another one.
    mutating func take(_ line: [UInt8]) throws(Fault) -> [String]? {
      if isInQuotes { cell.append(0x0A) }
      size += line.count + 1
      do throws(Fault) {
        guard size <= longest else { throw Fault.tooLong }
        try cut(line)
        if isInQuotes { return nil }
        try endCell()
      } catch {
        clear()
        throw error
      }
      defer { clear() }
      return cells
    }

    private mutating func cut(_ line: [UInt8]) throws(Fault) {
      var wasQuoted = isInQuotes
      var index = 0
      while index < line.count {
        let byte = line[index]
        let next = index + 1 < line.count ? line[index + 1] : nil
        if byte == UInt8(ascii: "\""), isInQuotes || (cell.isEmpty && !wasQuoted) {
          if !isInQuotes {
            (isInQuotes, wasQuoted) = (true, true)
          } else if next == byte {
            cell.append(byte)
            index += 1
          } else {
            isInQuotes = false
          }
        } else if isInQuotes {
          cell.append(byte)
        } else if byte == separator {
          try endCell()
          wasQuoted = false
        } else if byte == 0x0D, next == nil {
          break
        } else if wasQuoted {
          throw .textBehindQuotes
        } else {
          cell.append(byte)
        }
        index += 1
      }
    }

    private mutating func endCell() throws(Fault) {
      guard cell.withUnsafeBytes({ UTF8Check.isValid($0) }) else { throw .notUTF8 }
      cells.append(String(decoding: cell, as: UTF8.self))
      cell.removeAll()
    }

    private mutating func clear() {
      (cells, cell, size, isInQuotes) = ([], [], 0, false)
    }
  }
}
