import BindingTerminal
import Foundation

/// Standard input by its lines, as bytes: what is no UTF-8 must be found, not mended.
struct LineReader {
  /// A longer line is no commit, and is not kept to find out.
  static let longestLine = 4 << 20

  private var left: [UInt8] = []
  private var searched = 0
  private var isAtEnd = false

  /// The next line without its end; nil at the end. Of a line that is too long its beginning comes, and is too long.
  mutating func next() -> [UInt8]? {
    var skipping: [UInt8]?
    while true {
      if let end = left[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = Array(left[..<end])
        left.removeSubrange(...end)
        searched = 0
        return skipping ?? line
      }
      if left.count > LineReader.longestLine {
        skipping = skipping ?? left
        left.removeAll()
      }
      searched = left.count
      if isAtEnd {
        defer { left.removeAll() }
        searched = 0
        return skipping ?? (left.isEmpty ? nil : left)
      }
      fill()
    }
  }

  private mutating func fill() {
    let data = FileHandle.standardInput.availableData
    isAtEnd = data.isEmpty
    left += data
  }
}
