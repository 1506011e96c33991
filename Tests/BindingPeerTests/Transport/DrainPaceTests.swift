import Testing

@testable import BindingPeer

@Suite("When a link rests between its drains")
struct DrainPaceTests {
  private var pace = DrainPace()
  private var now: UInt64 = 5_000_000_000
  private var commits: UInt64 = 1_000

  /// Drains so often, each this long after the one before and with so many commits; how many rests follow.
  private mutating func drain(_ count: Int, every microseconds: UInt64, of commitsEach: UInt64 = 1) -> Int {
    var rests = 0
    for _ in 0..<count {
      now += microseconds * 1_000
      commits += commitsEach
      if pace.drained(at: now, commits: commits) { rests += 1 }
    }
    return rests
  }

  @Test("it rests while many commits come, and drains for a moment now and then to see whether they still do")
  mutating func streaming() {
    #expect(drain(16, every: 30) == 0, "the rate is not known yet")
    #expect(drain(65, every: 130, of: 5) == 65)
    #expect(drain(17, every: 30) == 0, "it measures again")
    #expect(drain(1_000, every: 100, of: 4) > 700)
  }

  @Test("it never rests for one that waits for each outcome before the next write, at 100 µs a write")
  mutating func oneByOne() {
    // The outcome and the commit come one after the other.
    for _ in 0..<2_000 {
      #expect(drain(1, every: 90, of: 1) + drain(1, every: 10, of: 0) == 0)
    }
  }

  @Test("where commits come seldom once it rests, it stops for a long time")
  mutating func waiting() {
    _ = drain(17, every: 50)
    #expect(drain(80, every: 160) <= 66)
    #expect(drain(1_900, every: 50) == 0)
  }

  @Test("after a pause it does not rest, whatever was before it")
  mutating func pause() {
    _ = drain(40, every: 30)
    now += 2_000_000
    #expect(drain(16, every: 30) == 0)
  }

  @Test("a slow stream is never delayed")
  mutating func slow() { #expect(drain(5_000, every: 200, of: 2) == 0) }
}
