/// Frames that were read from a socket and not handled yet, one after the other in one piece of memory.
struct ReadFrames {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  /// More memory than this is not kept for the next frames.
  private static let keptBytes = 1 << 20

  var isEmpty: Bool { ends.isEmpty }

  mutating func append(_ frame: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: frame)
    ends.append(bytes.count)
  }

  /// Hands out the frames in order, and removes them.
  mutating func drain(_ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      for end in ends {
        body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        start = end
      }
    }
    ends.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.capacity <= ReadFrames.keptBytes)
  }
}
