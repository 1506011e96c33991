import BindingModel
import Dispatch
import Testing

/// A delivering thread is not kept busy by the writes of another. In each test a second thread writes until the
/// thread under test has returned, so a thread that is kept would wait forever.
@Suite("handover between delivering threads")
struct HandoverTests {
  /// Writes `1, 2, 3, …` on another thread between `start` and `stop`; `isLate` after 20 seconds.
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

    /// Starts writing, and returns after two writes.
    func start() {
      state.withLock { $0.isStarted = true }
      while state.withLock({ $0.written < 2 && !$0.isLate }) {}
    }

    /// Returns the number of writes, or nil if it was stopped too late.
    func stop() -> Int? {
      state.withLock { $0.isStopped = true }
      group.wait()
      return state.withLock { $0.isLate ? nil : $0.written }
    }
  }

  /// Busy work that makes an observer slower than a write.
  private static func work() {
    let end = ContinuousClock.now + .microseconds(20)
    while ContinuousClock.now < end {}
  }

  @Test("a write returns while another thread keeps writing, and each value is delivered once in order")
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

  @Test("observing returns while another thread keeps writing, and each value is delivered once in order")
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

  @Test("a write to a linked value returns while another thread keeps writing, and both sides end equal")
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

  @Test("a delivering thread continues alone when the other writers stop, and ends with the present value")
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

  @Test("delivery is handed over among ten concurrent writers without losing a value")
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
