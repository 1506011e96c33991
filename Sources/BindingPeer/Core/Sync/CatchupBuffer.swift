import BindingProtocol

/// What arrives of a catch-up until it is complete: its chunks, and the commits that are published meanwhile.
struct CatchupBuffer: Sendable {
  private(set) var chunks: [CatchupChunk] = []
  private var frames: [[UInt8]] = []
  private var bytes = 0

  mutating func append(_ chunk: CatchupChunk) { chunks.append(chunk) }

  mutating func removeChunks() { chunks.removeAll() }

  mutating func takeChunks() -> [CatchupChunk] {
    defer { chunks.removeAll() }
    return chunks
  }

  /// Buffers a frame of commits.
  /// - Returns: false if the buffer would hold more bytes than the limit.
  mutating func append(_ frame: UnsafeRawBufferPointer, limit: Int) -> Bool {
    guard bytes + frame.count <= limit else { return false }
    frames.append(Array(frame))
    bytes += frame.count
    return true
  }

  mutating func takeFrames() -> [[UInt8]] {
    defer { removeFrames() }
    return frames
  }

  mutating func removeFrames() {
    frames.removeAll()
    bytes = 0
  }

  mutating func removeAll() { self = CatchupBuffer() }
}
