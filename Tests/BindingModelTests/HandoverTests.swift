import BindingModel
import Dispatch
import Testing

/// A thread is not kept delivering for as long as another writes. Each test has another thread write until the one
/// under test is through, so that it would wait for ever if it were kept.
@Suite("a thread that delivers for others")
struct HandoverTests {
  /// Writes `1, 2, 3, …` on another thread from when it is let go until it is stopped; `isLate` after 20 seconds.
  private final class Chatter: Sendable {
    private let state = Protected((isStarted: false, isStopped: false, written: 0, isLate: false))
    private let group = DispatchGroup()

    init(_ write: @escaping @Sendable (Int) -> Void) {
      let state = state
      DispatchQueue(label: "bindbus.test.chatter").async(group: group) {
        let deadline = ContinuousClock.now + .seconds(20)
        while !state.withLock({ $0.isStarted }) {}
        while !state.withLock({ $0.isStopped }) {
          let number = state.withLock { $0.written + 1 }
          write(number)
          state.withLock { $0.written = number }
          guard ContinuousClock.now < deadline else { return state.withLock { $0.isLate = true } }
        }
      }
    }

    /// Lets it begin, and returns when it has written twice.
    func start() {
      state.withLock { $0.isStarted = true }
      while state.withLock({ $0.written < 2 && !$0.isLate }) {}
    }

    /// How much it wrote; nil if it was stopped too late.
    func stop() -> Int? {
      state.withLock { $0.isStopped = true }
      group.wait()
      return state.withLock { $0.isLate ? nil : $0.written }
    }
  }

  /// An observer slower than a write.
  private static func work() {
    let end = ContinuousClock.now + .microseconds(20)
    while ContinuousClock.now < end {}
  }

  @Test("comes back from a write, and every value is told once and in order")
  func write() {
    let level = Observable(0)
    let chatter = Chatter { level.value = $0 }
    let seen = Recorder<Int>()
    let token = level.observe {
      seen.record($0)
      if $0 == -1 { chatter.start() }
      Self.work()
    }
    level.value = -1
    let written = chatter.stop()
    #expect(written != nil, "kept for as long as the other wrote")
    #expect(seen.all == [0, -1] + Array(1...(written ?? 1)))
    token.cancel()
  }

  @Test("comes back from observing, and the observer is told every value once and in order")
  func observing() {
    let level = Observable(0)
    let chatter = Chatter { level.value = $0 }
    let seen = Recorder<Int>()
    let token = level.observe {
      seen.record($0)
      if $0 == 0 { chatter.start() }
      Self.work()
    }
    let written = chatter.stop()
    #expect(written != nil, "kept for as long as the other wrote")
    #expect(seen.all == Array(0...(written ?? 0)))
    token.cancel()
  }

  @Test("comes back from a write to a linked value, and both sides end equal")
  func link() {
    let (left, right) = (Observable(0), Observable(0))
    let chatter = Chatter { right.value = $0 }
    let link = left.binding.bind(to: right.binding)
    let token = right.observe {
      if $0 == -1 { chatter.start() }
      Self.work()
    }
    left.value = -1
    #expect(chatter.stop() != nil, "kept for as long as the other wrote")
    #expect(left.value == right.value)
    token.cancel()
    link.cancel()
  }

  @Test("goes on itself where the others fall silent, and ends with what is there")
  func noSuccessor() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe {
      seen.record($0)
      if $0 == -1 { onThreads(3) { thread in for number in 0..<100 { level.value = thread * 100 + number } } }
    }
    level.value = -1
    #expect(seen.all.count == 302)
    #expect(seen.all.last == level.value)
    token.cancel()
  }

  @Test("hands over to whoever writes, ten at once, and loses nothing")
  func many() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe {
      seen.record($0)
      Self.work()
    }
    onThreads(10) { _ in for _ in 0..<300 { level.update { $0 += 1 } } }
    #expect(seen.all == Array(0...3_000))
    token.cancel()
  }
}
