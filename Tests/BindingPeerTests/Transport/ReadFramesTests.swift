import Testing

@testable import BindingPeer

@Suite("Frames that were read and not handled yet")
struct ReadFramesTests {
  @Test("they come out in order, each as it was, empty ones too, and only once")
  func order() {
    var frames = ReadFrames()
    let read: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 9, count: 3 << 20), [4]]
    for _ in 0..<2 {
      for frame in read { frame.withUnsafeBytes { frames.append($0) } }
      #expect(!frames.isEmpty)
      var drained: [[UInt8]] = []
      frames.drain { drained.append(Array($0)) }
      #expect(drained == read)
      frames.drain { _ in Issue.record("they were handed out before") }
      #expect(frames.isEmpty)
    }
  }
}
