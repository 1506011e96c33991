import BindingTerminal
import Foundation

/// Standard input by its lines, as bytes: what is no UTF-8 must be found, not mended.
struct LineReader {
  /// A longer line is no commit, and is not kept to find out.
  static let longestLine = 4 << 20

  private let read: () -> [UInt8]
  /// What was read, from where the next line begins, and up to where no end of line is.
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  /// - Parameter read: what comes next, as much as there is; waits for it, and gives nothing at the end.
  init(read: @escaping () -> [UInt8] = { [UInt8](FileHandle.standardInput.availableData) }) { self.read = read }

  /// The next line without its end; nil at the end. Of a line that is too long its beginning comes, and is too long.
  mutating func next() -> [UInt8]? {
    var beginning: [UInt8]?
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { (start, searched) = (end + 1, end + 1) }
        return beginning ?? Array(buffer[start..<end])
      }
      buffer.removeSubrange(..<start)
      start = 0
      if buffer.count > LineReader.longestLine {
        beginning = beginning ?? buffer
        buffer.removeAll()
      }
      searched = buffer.count
      if isAtEnd {
        defer {
          buffer.removeAll()
          searched = 0
        }
        return beginning ?? (buffer.isEmpty ? nil : buffer)
      }
      let more = read()
      isAtEnd = more.isEmpty
      buffer += more
    }
  }
}
