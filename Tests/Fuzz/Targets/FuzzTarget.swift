/// A reader of what others write, as the fuzzer and the replay of its findings call it.
struct FuzzTarget: Sendable {
  /// Its name, which is that of its folder in `Tests/Fuzz/corpus`.
  let name: String
  /// Valid inputs, from which the fuzzer begins.
  let seeds: @Sendable () -> [[UInt8]]
  /// Reads an input. A trap is a finding, and so is a text.
  /// - Returns: what must not be; nil: nothing.
  let run: @Sendable (UnsafeRawBufferPointer) -> String?

  static let all: [FuzzTarget] = [
    .peerFrames, .hubFrames, .json, .pageMessages, .accessFile, .membersFile, .invitation, .outbox, .storedBatch,
    .storedChunk, .webTargets,
  ]
}

/// The parts of an input that is a sequence: before each its length, two bytes, of which the highest bit is `isOther`.
/// A part that ends too early is as long as what is left.
struct InputParts: Sequence, IteratorProtocol {
  private var rest: Slice<UnsafeRawBufferPointer>
  private var left: Int

  /// - Parameter limit: the most parts that are read.
  init(_ bytes: UnsafeRawBufferPointer, limit: Int = 64) {
    rest = bytes[...]
    left = limit
  }

  mutating func next() -> (bytes: UnsafeRawBufferPointer, isOther: Bool)? {
    guard rest.count >= 2, left > 0 else { return nil }
    left -= 1
    let head = UInt16(rest[rest.startIndex]) | UInt16(rest[rest.startIndex + 1]) << 8
    rest = rest.dropFirst(2)
    let part = rest.prefix(Int(head & 0x7FFF))
    rest = rest.dropFirst(part.count)
    return (UnsafeRawBufferPointer(rebasing: part), head & 0x8000 != 0)
  }

  /// An input of these parts.
  static func joined(_ parts: [(bytes: [UInt8], isOther: Bool)]) -> [UInt8] {
    parts.flatMap { part in
      let head = UInt16(part.bytes.count) | (part.isOther ? 0x8000 : 0)
      return [UInt8(truncatingIfNeeded: head), UInt8(head >> 8)] + part.bytes
    }
  }

  static func joined(_ parts: [UInt8]...) -> [UInt8] { joined(parts.map { ($0, false) }) }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes of a text are among these.
  func contains(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { text in
      guard count >= text.count else { return false }
      return (0...count - text.count).contains { start in
        (0..<text.count).allSatisfy { self[start + $0] == text[$0] }
      }
    }
  }
}
