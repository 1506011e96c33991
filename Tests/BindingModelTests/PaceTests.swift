import BindingModel
import Dispatch
import Testing

@Suite("observing at a pace")
struct PaceTests {
  private let level = Observable(0)
  private let clock = HandClock()
  private let seen = Recorder<[Int]>()

  /// Records each value with the number of changes coalesced into it.
  private func observe(_ pace: Pace<Int>, owner: AnyObject? = nil, lane: Lane = .direct) -> ObserverToken {
    level.observe(pace, owner: owner, lane, clock: clock.clock) { [seen] in seen.record([$0, $1]) }
  }

  @Test("a paced observer gets the present value first, then the newest once per interval, the last included")
  func latest() {
    let token = observe(.latest(every: .milliseconds(100)))
    #expect(seen.all == [[0, 0]])
    for value in 1...50 { level.value = value }
    #expect(seen.all == [[0, 0]])
    clock.pass(99)
    #expect(seen.all.count == 1)
    clock.pass(1)
    #expect(seen.all.last == [50, 49])
    level.value = 51
    clock.pass(100)
    #expect(seen.all.last == [51, 0])
    clock.pass(500)
    level.value = 52
    #expect(seen.all.last == [52, 0])
    withExtendedLifetime(token) {}
  }

  @Test("a paced observation has at most one timer, and none while nothing waits")
  func oneTimer() {
    let token = observe(.latest(every: .milliseconds(100)))
    #expect(clock.alarms == 0)
    for value in 1...1_000 { level.value = value }
    #expect(clock.alarms == 1)
    clock.pass(100)
    #expect(clock.alarms == 0)
    withExtendedLifetime(token) {}
  }

  @Test("a value that settles within the deadband is not delivered, one outside it is")
  func deadband() {
    let token = observe(.latest(every: .milliseconds(100), deadband: 10))
    for value in [5, 9] { level.value = value }
    clock.pass(1_000)
    #expect(seen.all == [[0, 0]])
    level.value = 10
    #expect(seen.all.last?[0] == 10)
    withExtendedLifetime(token) {}
  }

  @Test("an observer of every change that keeps up gets each change")
  func everyChange() {
    let token = observe(.everyChange(limit: 10))
    for value in 1...50 { level.value = value }
    #expect(seen.all == (0...50).map { [$0, 0] })
    withExtendedLifetime(token) {}
  }

  @Test("past the limit the oldest changes are coalesced, and the next one carries their number")
  func everyChangeOnABusyLane() {
    let queue = DispatchQueue(label: "bindbus.test.pace")
    let gate = DispatchSemaphore(value: 0)
    queue.async { gate.wait() }
    let token = observe(.everyChange(limit: 3), lane: .queue(queue))
    for value in 1...50 { level.value = value }
    gate.signal()
    queue.sync {}
    #expect(seen.all == [[48, 48], [49, 0], [50, 0]])
    withExtendedLifetime(token) {}
  }

  @Test("a paced observer gets nothing after cancel, not even a waiting value")
  func cancelled() {
    let token = observe(.latest(every: .milliseconds(100)))
    level.value = 1
    token.cancel()
    clock.pass(1_000)
    #expect(seen.all == [[0, 0]])
  }

  @Test("releasing the token ends a paced observation, and its timer keeps no captured object alive")
  func released() {
    weak var held: Owner?
    do {
      let owner = Owner()
      held = owner
      let token = level.observe(.latest(every: .seconds(3_600)), owner: nil, .direct, clock: clock.clock) { _, _ in
        withExtendedLifetime(owner) {}
      }
      level.value = 1
      #expect(clock.alarms == 1)
      withExtendedLifetime(token) {}
    }
    #expect(held == nil)
  }

  @Test("a paced observation does not keep its owner alive and ends with it, timer or not")
  func owner() {
    var owner: Owner? = Owner()
    weak let watched = owner
    _ = observe(.latest(every: .milliseconds(100)), owner: owner)
    level.value = 1
    owner = nil
    #expect(watched == nil)
    clock.pass(1_000)
    level.value = 2
    #expect(seen.all == [[0, 0]])
  }

  @Test("a paced observer removed by its owner gets no waiting value")
  func removed() {
    let owner = Owner()
    _ = observe(.latest(every: .milliseconds(100)), owner: owner)
    level.value = 1
    level.remove(observer: owner)
    clock.pass(1_000)
    #expect(seen.all == [[0, 0]])
  }

  @Test("a paced observer's own write is delivered at its time like any other")
  func writesInside() {
    let token = level.observe(.latest(every: .milliseconds(100)), owner: nil, .direct, clock: clock.clock) {
      [level, seen] value, coalesced in
      seen.record([value, coalesced])
      if value < 3 { level.value = value + 1 }
    }
    for _ in 0..<5 { clock.pass(100) }
    #expect(seen.all.map { $0[0] } == [0, 1, 2, 3])
    withExtendedLifetime(token) {}
  }

  @Test("calls of one paced observer never overlap under many writers, and the last value arrives")
  func manyThreads() {
    let running = Protected(0)
    let overlaps = Protected(0)
    let token = level.observe(.latest(every: .zero), owner: nil, .direct) { [seen] value, _ in
      let others = running.withLock {
        $0 += 1
        return $0 - 1
      }
      if others > 0 { overlaps.withLock { $0 += 1 } }
      seen.record([value])
      running.withLock { $0 -= 1 }
    }
    onThreads(4) { [level] thread in for number in 0..<1_000 { level.value = thread * 10_000 + number } }
    #expect(overlaps.withLock { $0 } == 0)
    #expect(seen.all.last == [level.value])
    withExtendedLifetime(token) {}
  }

  @Test("the system clock wakes a paced observer on its lane", .timeLimit(.minutes(5)))
  @MainActor
  func onMain() async {
    let owner = Owner()
    let isOnMain = Recorder<Bool>()
    level.observe(.latest(every: .milliseconds(5)), on: owner) { [seen] value, coalesced in
      isOnMain.record(Lane.main.isCurrent)
      seen.record([value, coalesced])
    }
    #expect(seen.all == [[0, 0]])
    for value in 1...10 { level.value = value }
    #expect(await eventually { seen.all.last?[0] == 10 })
    #expect(seen.all.reduce(0) { $0 + $1[1] + 1 } == 11)
    #expect(isOnMain.all.allSatisfy { $0 })
  }

  @Test("a paced loop gets the newest value and an exact count of the skipped ones", .timeLimit(.minutes(5)))
  func sequence() async {
    var values = level.values(.latest(every: .milliseconds(2))).makeAsyncIterator()
    for value in 1...10 { level.value = value }
    let first = await values.next()
    #expect(first?.value == 10 && first?.coalesced == 10)
    level.value = 11
    let second = await values.next()
    #expect(second?.value == 11 && second?.coalesced == 0)
  }

  @Test("a loop over every change gets its missed values up to the limit", .timeLimit(.minutes(5)))
  func everySequence() async {
    var values = level.values(.everyChange(limit: 2)).makeAsyncIterator()
    for value in 1...10 { level.value = value }
    var found: [[Int]] = []
    while found.count < 2, let next = await values.next() { found.append([next.value, next.coalesced]) }
    #expect(found == [[9, 9], [10, 0]])
  }

  @Test("a paced loop that waits for its interval ends with its task", .timeLimit(.minutes(5)))
  func cancelledLoop() async {
    let values = level.values(.latest(every: .seconds(3_600)))
    let task = Task { [seen] in for await next in values { seen.record([next.value]) } }
    #expect(await eventually { seen.all == [[0]] })
    level.value = 1
    task.cancel()
    await task.value
    #expect(seen.all == [[0]])
  }
}
