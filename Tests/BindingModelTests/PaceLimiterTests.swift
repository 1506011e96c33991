import BindingModel
import Testing

/// Tests of the pure decision: times are numbers, and nothing waits.
@Suite("limiting an observer's pace")
struct PaceLimiterTests {
  private let second: UInt64 = 1_000_000_000

  @Test("a pace limiter admits the first change immediately and the next after the interval")
  func interval() {
    var limiter = PaceLimiter<Int>(.latest(every: .seconds(1)))
    #expect(limiter.wait(at: 5) == nil)
    #expect(limiter.admit(1, weight: 1, at: 5)?.value == 1)
    #expect(limiter.wait(at: 5) == second)
    #expect(limiter.wait(at: second) == 5)
    #expect(limiter.wait(at: second + 5) == nil)
  }

  @Test("a negative interval counts as none, and the longest interval does not overflow")
  func extremes() {
    var limiter = PaceLimiter<Int>(.latest(every: .seconds(-1)))
    _ = limiter.admit(1, weight: 1, at: 5)
    #expect(limiter.wait(at: 5) == nil)
    var slow = PaceLimiter<Int>(.latest(every: .seconds(Int64.max)))
    _ = slow.admit(1, weight: 1, at: 5)
    #expect(slow.wait(at: second).map { $0 > 100 * 365 * 86_400 * second } == true)
  }

  @Test(
    "a change within the deadband is dropped and counted, and neither moves the deadband nor delays the next")
  func deadband() {
    var limiter = PaceLimiter<Double>(.latest(every: .seconds(1), deadband: 0.25))
    #expect(limiter.admit(1, weight: 1, at: 0)?.value == 1)
    for value in [1.125, 1.2, 0.8] { #expect(limiter.admit(value, weight: 1, at: 2 * second) == nil) }
    #expect(limiter.wait(at: 2 * second) == nil)
    let admitted = limiter.admit(1.25, weight: 1, at: 2 * second)
    #expect(admitted?.value == 1.25 && admitted?.weight == 4)
  }

  @Test("a deadband works for whole numbers up to the ends of their range")
  func wholeNumbers() {
    var limiter = PaceLimiter<Int8>(.latest(every: .zero, deadband: 5))
    #expect(limiter.admit(-128, weight: 1, at: 0) != nil)
    #expect(limiter.admit(-124, weight: 1, at: 0) == nil)
    #expect(limiter.admit(127, weight: 1, at: 0) != nil)
  }

  @Test("NaN and infinity pass the deadband", arguments: [Double.nan, .infinity])
  func noNumber(_ value: Double) {
    var limiter = PaceLimiter<Double>(.latest(every: .zero, deadband: 0.5))
    _ = limiter.admit(1, weight: 1, at: 0)
    #expect(limiter.admit(value, weight: 1, at: 0) != nil)
  }

  @Test("an undeliverable change counts towards the next deliverable one")
  func undeliverable() {
    var limiter = PaceLimiter<Int>(.everyChange())
    #expect(limiter.admit(nil, weight: 2, at: 0) == nil)
    #expect(limiter.admit(1, weight: 1, at: 0)?.weight == 3)
  }

  @Test("a full queue coalesces its oldest entry into the next and keeps the newest", arguments: [1, 3])
  func coalescing(_ limit: Int) {
    var queue = CoalescingQueue<[Int]>(limit: limit) { $0 += $1 }
    for number in 1...10 { queue.append([number]) }
    var entries: [CoalescingQueue<[Int]>.Entry] = []
    while let entry = queue.popFirst() { entries.append(entry) }
    #expect(entries.count == limit)
    #expect(entries.flatMap(\.element) == Array(1...10))
    #expect(entries.map(\.weight) == [10 - limit + 1] + Array(repeating: 1, count: limit - 1))
  }
}
