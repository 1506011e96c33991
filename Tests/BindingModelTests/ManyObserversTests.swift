import BindingModel
import Foundation
import Testing

/// Work quadratic in the number of observers would exceed the time limits here.
@Suite("many observers")
struct ManyObserversTests {
  enum Order: CaseIterable { case newestFirst, oldestFirst, shuffled, fromTheMiddle }

  private static let count = 200_000

  @Test(
    "cancelling 200,000 observers leaves the last one notified", .timeLimit(.minutes(3)), arguments: Order.allCases)
  func cancel(order: Order) {
    let level = Observable(0)
    let calls = Protected(0)
    var tokens = (0..<Self.count).map { _ in level.observe { _ in } }
    let last = level.observe { value in calls.withLock { $0 += value } }
    switch order {
    case .newestFirst: tokens.reverse()
    case .oldestFirst: break
    case .shuffled: tokens.shuffle()
    case .fromTheMiddle:
      tokens = tokens[(Self.count / 2)...] + tokens[..<(Self.count / 2)].reversed()
    }
    for token in tokens { token.cancel() }
    level.value = 1
    #expect(calls.withLock { $0 } == 1)
    last.cancel()
  }

  @Test("200,000 observers are released with their value and with their owners", .timeLimit(.minutes(3)))
  func released() {
    var level: Observable<Int>? = Observable(0)
    let owners = (0..<Self.count).map { _ in Owner() }
    var brief: [Owner] = owners.map { _ in Owner() }
    for owner in owners { level?.observe(on: owner) { _ in } }
    for owner in brief { level?.observe(on: owner) { _ in } }
    brief = []
    level?.value = 1
    let tokens = (0..<Self.count).compactMap { _ in level?.observe { _ in } }
    level = nil
    #expect(tokens.count == Self.count)
  }

  @Test("observers are notified in registration order, whichever of them were cancelled")
  func order() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    var tokens = (0..<20).map { number in level.observe { if $0 > 0 { seen.record(number) } } }
    for number in [19, 3, 4, 0, 11, 7, 12, 13, 14] { tokens[number].cancel() }
    level.value = 1
    #expect(seen.all == [1, 2, 5, 6, 8, 9, 10, 15, 16, 17, 18])
    tokens.append(level.observe { if $0 > 1 { seen.record(20) } })
    tokens[1].cancel()
    seen.clear()
    level.value = 2
    #expect(seen.all == [2, 5, 6, 8, 9, 10, 15, 16, 17, 18, 20])
  }

  @Test("an observer registered inside the first callback of another is notified after it")
  func orderOfNested() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let inner = Protected<ObserverToken?>(nil)
    let outer = level.observe { value in
      if value > 0 { seen.record("outer") }
      if value == 0 {
        let token = level.observe { if $0 > 0 { seen.record("inner") } }
        inner.withLock { $0 = token }
      }
    }
    level.value = 1
    #expect(seen.all == ["outer", "inner"])
    outer.cancel()
    level.value = 2
    #expect(seen.all == ["outer", "inner", "inner"])
  }

  @Test("observers cancelled by another during a round are not notified again, the others are")
  func cancelledInARound() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let rest = Protected<[ObserverToken]>([])
    let first = level.observe { value in
      if value == 1 { for token in rest.withLock({ $0[10..<90] }) { token.cancel() } }
    }
    let tokens = (0..<100).map { number in level.observe { if $0 > 0 { seen.record(number) } } }
    rest.withLock { $0 = tokens }
    level.value = 1
    #expect(seen.all == Array(0..<10) + Array(90..<100))
    first.cancel()
  }

  /// A thread with the stack size of secondary threads on Apple's systems.
  private func onSmallThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      body()
      done.signal()
    }
    thread.stackSize = 512 * 1024
    thread.start()
    done.wait()
  }

  @Test("long chains of derived, observed and linked values need no deep stack", .timeLimit(.minutes(3)))
  func smallStack() {
    onSmallThread {
      let source = Observable(0)
      var end = source.derived { $0 + 1 }
      for _ in 1..<30_000 { end = end.derived { $0 + 1 } }
      #expect(end.value == 30_000)
      let token = end.observe { _ in }
      source.value = 1
      #expect(end.value == 30_001)
      token.cancel()
      end = source.derived { $0 }

      let chain = (0...10_000).map { _ in Observable(0) }
      let links = (0..<10_000).map { chain[$0].binding.bind(to: chain[$0 + 1].binding) }
      chain[5_000].value = 7
      #expect(chain.allSatisfy { $0.value == 7 })
      withExtendedLifetime(links) {}
    }
  }

  private struct PlusOne: Mapping {
    func forward(_ source: Int) -> Int { source + 1 }
    func back(_ target: Int) throws(BindingError) -> Int { target - 1 }
  }

  @Test("a binding mapped a thousand times is written and observed")
  func mappedOften() throws {
    let source = Observable(0)
    var binding = source.binding
    for _ in 0..<1_000 { binding = binding.map(PlusOne()) }
    let seen = Recorder<Int>()
    let token = binding.observe { seen.record($0) }
    try binding.set(1_005)
    #expect(source.value == 5)
    #expect(seen.all == [1_000, 1_005])
    token.cancel()
  }
}
