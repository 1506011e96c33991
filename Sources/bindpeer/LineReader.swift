import BindingTerminal
import Foundation

/// Reads standard input line by line, as bytes: invalid UTF-8 must be detected, not repaired.
struct LineReader {
  /// A longer line cannot be a commit; the rest of it is dropped.
  static let longestLine = 4 << 20

  private let read: () -> [UInt8]
  private let longest: Int
  /// The bytes read, the offset of the next line, and the offset up to which there is no line end.
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  /// - Parameters:
  ///   - longest: the limit of a line, in bytes.
  ///   - read: returns the available input; blocks until there is some, and returns an empty array at the end.
  init(
    longest: Int = LineReader.longestLine,
    read: @escaping () -> [UInt8] = { [UInt8](FileHandle.standardInput.availableData) }
  ) {
    (self.longest, self.read) = (longest, read)
  }

  /// The next line without its end; nil at the end. A line that is too long is returned truncated, but still longer
  /// than the limit.
  mutating func next() -> [UInt8]? {
    var beginning: [UInt8]?
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { (start, searched) = (end + 1, end + 1) }
        return beginning ?? Array(buffer[start..<end])
      }
      buffer.removeSubrange(..<start)
      start = 0
      if buffer.count > longest {
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
