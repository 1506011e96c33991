import BindingModel
import Testing

@Suite("debounced values")
struct DebouncedTests {
  private let text = Observable("")
  private let clock = HandClock()
  private let seen = Recorder<String>()

  private func follow() -> (calm: ReadOnly<String>, token: ObserverToken) {
    let calm = text.debounced(for: .milliseconds(300), clock: clock.clock)
    return (calm, calm.observe { [seen] in seen.record($0) })
  }

  @Test("a debounced value is notified when the interval has passed since the last write")
  func rest() {
    let (calm, token) = follow()
    text.value = "b"
    clock.pass(200)
    text.value = "bi"
    clock.pass(299)
    #expect(seen.all == [""])
    #expect(calm.value == "")
    clock.pass(1)
    #expect(seen.all == ["", "bi"])
    #expect(calm.value == "bi")
    text.value = "bin"
    clock.pass(300)
    #expect(seen.all == ["", "bi", "bin"])
    withExtendedLifetime(token) {}
  }

  @Test("a debounced value has at most one timer, and none while nothing waits")
  func oneTimer() {
    let (_, token) = follow()
    #expect(clock.alarms == 0)
    for number in 0..<1_000 { text.value = "\(number)" }
    #expect(clock.alarms == 1)
    clock.pass(300)
    #expect(clock.alarms == 0)
    #expect(seen.all == ["", "999"])
    withExtendedLifetime(token) {}
  }

  @Test("a debounced value that returns to its old value notifies nobody")
  func back() {
    let (_, token) = follow()
    text.value = "b"
    text.value = ""
    clock.pass(1_000)
    #expect(seen.all == [""])
    withExtendedLifetime(token) {}
  }

  @Test("a cancelled observer of a debounced value gets no waiting value")
  func cancelled() {
    let (calm, token) = follow()
    text.value = "b"
    token.cancel()
    clock.pass(1_000)
    #expect(seen.all == [""])
    #expect(calm.value == "b")
  }

  @Test("an unheld, unobserved debounced value stops following its source and keeps no owner alive")
  func released() {
    var source: Observable<String>? = Observable("a")
    weak let watched = source
    do {
      let calm = source?.debounced(for: .seconds(1), clock: clock.clock)
      source?.value = "b"
      #expect(clock.alarms == 1)
      withExtendedLifetime(calm) {}
    }
    clock.pass(1_000)
    source?.value = "c"
    #expect(clock.alarms == 0)
    source = nil
    #expect(watched == nil)
  }

  @Test("a debounced value lives as long as its observation, even if nothing else holds it")
  func observationHolds() {
    let token = text.debounced(for: .milliseconds(300), clock: clock.clock).observe { [seen] in seen.record($0) }
    text.value = "b"
    clock.pass(300)
    #expect(seen.all == ["", "b"])
    token.cancel()
    text.value = "c"
    clock.pass(300)
    #expect(clock.alarms == 0)
    #expect(seen.all == ["", "b"])
  }

  @Test("a debounced value delivers what waits when its source ends, then ends", .timeLimit(.minutes(5)))
  func sourceEnds() async {
    var source: Observable<String>? = Observable("a")
    guard let calm = source?.debounced(for: .seconds(3_600), clock: clock.clock) else { return }
    var values = calm.values.makeAsyncIterator()
    #expect(await values.next() == "a")
    source?.value = "b"
    source = nil
    clock.pass(0)
    #expect(await values.next() == "b")
    #expect(await values.next() == nil)
    #expect(calm.value == "b")
  }

  @Test("a debounced value refuses writes")
  func readOnly() {
    let calm = text.debounced(for: .seconds(1), clock: clock.clock)
    #expect(throws: BindingError.self) { try calm.location.write("x", by: .unnamed) }
  }

  @Test("a debounced value can be a source of a derived value")
  func derived() {
    let calm = text.debounced(for: .milliseconds(300), clock: clock.clock)
    let length = Derived { calm.value.count }
    let token = length.observe { [seen] in seen.record("\($0)") }
    text.value = "abc"
    clock.pass(300)
    #expect(seen.all == ["0", "3"])
    withExtendedLifetime(token) {}
  }

  @Test("a debounced sequence delivers by the system clock", .timeLimit(.minutes(5)))
  func sequence() async {
    var values = text.values(debounce: .milliseconds(5)).makeAsyncIterator()
    #expect(await values.next() == "")
    for number in 0...50 { text.value = "\(number)" }
    #expect(await values.next() == "50")
  }

  @Test("a debounced value ends with the last and never overlaps calls under ten threads", .timeLimit(.minutes(5)))
  func threads() async {
    let count = Observable(0)
    let overlaps = Protected((running: 0, seen: 0))
    let last = Protected(-1)
    let token = count.debounced(for: .microseconds(20)).observe { value in
      overlaps.withLock {
        $0.running += 1
        if $0.running > 1 { $0.seen += 1 }
      }
      last.withLock { $0 = value }
      overlaps.withLock { $0.running -= 1 }
    }
    onThreads(10) { _ in for _ in 0..<1_000 { count.update { $0 += 1 } } }
    #expect(await eventually { last.withLock { $0 } == 10_000 })
    #expect(overlaps.withLock { $0.seen } == 0)
    withExtendedLifetime(token) {}
  }
}

@Suite("throttled values")
struct ThrottledTests {
  private let level = Observable(0)
  private let clock = HandClock()
  private let seen = Recorder<Int>()

  @Test("a throttled value notifies immediately after a pause, then the newest once an interval")
  func pace() {
    let token = level.throttled(for: .milliseconds(100), clock: clock.clock).observe { [seen] in seen.record($0) }
    clock.pass(100)
    for value in 1...5 { level.value = value }
    #expect(seen.all == [0, 1])
    clock.pass(99)
    #expect(seen.all == [0, 1])
    clock.pass(1)
    #expect(seen.all == [0, 1, 5])
    #expect(clock.alarms == 0)
    clock.pass(500)
    level.value = 6
    #expect(seen.all == [0, 1, 5, 6])
    withExtendedLifetime(token) {}
  }

  @Test("making a throttled value starts its first interval")
  func first() {
    let token = level.throttled(for: .milliseconds(100), clock: clock.clock).observe { [seen] in seen.record($0) }
    level.value = 1
    #expect(seen.all == [0])
    clock.pass(100)
    #expect(seen.all == [0, 1])
    withExtendedLifetime(token) {}
  }

  @Test("a throttled value ends with the last value and keeps order under ten threads", .timeLimit(.minutes(5)))
  func threads() async {
    let count = Observable(0)
    let token = count.throttled(for: .microseconds(50)).observe { [seen] in seen.record($0) }
    onThreads(10) { _ in for _ in 0..<1_000 { count.update { $0 += 1 } } }
    #expect(await eventually { seen.all.last == 10_000 })
    #expect(seen.all == seen.all.sorted())
    withExtendedLifetime(token) {}
  }
}
