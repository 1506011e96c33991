/// A model id or field name in which `*` stands for any characters, also none.
package struct NamePattern: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as it is written.
  package let description: String
  private let bytes: [UInt8]

  /// Reads a pattern; nil: it can match nothing.
  package init?(_ text: some StringProtocol) {
    guard !text.isEmpty, text.utf8.allSatisfy(NamePattern.isAllowed) else { return nil }
    description = String(text)
    bytes = Array(text.utf8)
  }

  /// Matches everything.
  package static let everything = NamePattern(all: "*")

  private init(all text: String) { (description, bytes) = (text, Array(text.utf8)) }

  /// Whether it matches every name.
  package var isEverything: Bool { bytes.allSatisfy { $0 == UInt8(ascii: "*") } }

  /// Matches from left to right. After a mismatch only the last star takes one character more, so the time is bounded
  /// by the product of both lengths.
  package func matches(_ name: String) -> Bool {
    let text = name.utf8
    var (at, star) = (0, Int?.none)
    var position = text.startIndex
    var resume = position
    while position < text.endIndex {
      if at < bytes.count, bytes[at] == UInt8(ascii: "*") {
        (star, resume) = (at, position)
        at += 1
      } else if at < bytes.count, bytes[at] == text[position] {
        at += 1
        position = text.index(after: position)
      } else if let star {
        resume = text.index(after: resume)
        (at, position) = (star + 1, resume)
      } else {
        return false
      }
    }
    return bytes[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "/"),
      UInt8(ascii: "*"):
      true
    default: false
    }
  }
}
