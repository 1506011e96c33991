import BindingModel
import Dispatch
import Testing

/// An observer's write in answer to another process must carry the hops of that value, whatever path the value took.
@Suite("hops of a write in answer")
struct HopsTests {
  private let seen = Recorder<UInt8>()

  @Test("a write during an observer's first call keeps its own hops")
  func firstCall() {
    let level = Observable(0)
    let token = level.observe { [seen] value in
      seen.record(Hops.current)
      if value == 0 { elsewhere { Hops.answering(3) { level.value = 1 } } }
    }
    level.value = 2
    #expect(seen.all == [0, 3, 0])
    token.cancel()
  }

  @Test("a write deferred until an observer has returned keeps its hops")
  func waiting() {
    let (cause, effect) = (Observable(0), Observable(0))
    let tokens = [
      effect.observe { [seen] _ in seen.record(Hops.current) },
      cause.observe { value in if value > 0 { Hops.answering(UInt8(value)) { effect.value = value } } },
    ]
    cause.value = 2
    effect.value = 7
    #expect(seen.all == [0, 2, 0])
    withExtendedLifetime(tokens) {}
  }

  @Test("a write delivered by another thread keeps its hops")
  func otherThread() {
    let level = Observable(0)
    let token = level.observe { [seen] value in
      seen.record(Hops.current)
      if value == 1 { elsewhere { Hops.answering(4) { level.value = 2 } } }
    }
    level.value = 1
    #expect(seen.all == [0, 0, 4])
    #expect(Hops.current == 0)
    token.cancel()
  }

  @Test("a debounced or throttled value carries the highest hops of its coalesced writes", arguments: [false, true])
  func timed(isThrottled: Bool) {
    let (text, clock) = (Observable(""), HandClock())
    let second = Duration.seconds(1)
    let timed =
      isThrottled ? text.throttled(for: second, clock: clock.clock) : text.debounced(for: second, clock: clock.clock)
    let token = timed.observe { [seen] _ in seen.record(Hops.current) }
    Hops.answering(5) { text.value = "a" }
    Hops.answering(2) { text.value = "b" }
    clock.pass(1_000)
    text.value = "c"
    clock.pass(1_000)
    #expect(seen.all == [0, 5, 0])
    token.cancel()
  }

  @Test("a write deferred by a turn keeps its hops")
  func turn() {
    let level = Observable(0)
    let token = level.observe { [seen] _ in seen.record(Hops.current) }
    Turn.run {
      Hops.answering(6) { level.value = 1 }
      level.value = 2
    }
    Turn.run { level.value = 3 }
    #expect(seen.all == [0, 6, 0])
    token.cancel()
  }

  @Test("a derived value carries the hops of its cause, the highest of several")
  func derived() {
    let (first, second, trigger) = (Observable(0), Observable(0), Observable(0))
    let sum = Derived(first, second) { $0 + $1 }
    let tokens = [
      sum.observe { [seen] _ in seen.record(Hops.current) },
      trigger.observe { value in
        guard value > 0 else { return }
        Hops.answering(7) { first.value = value }
        second.value = value
      },
    ]
    trigger.value = 1
    first.value = 9
    #expect(seen.all == [0, 7, 0])
    withExtendedLifetime(tokens) {}
  }

  @Test("a write delivered later on a lane keeps its hops, paced or not", arguments: [false, true])
  func lane(isPaced: Bool) {
    let (level, queue) = (Observable(0), DispatchQueue(label: "bindbus.test.hops"))
    let body: @Sendable (Int) -> Void = { [seen] _ in seen.record(Hops.current) }
    final class Owner: Sendable {}
    let owner = Owner()
    queue.sync {
      if isPaced {
        level.observe(.latest(every: .zero), on: owner, lane: .queue(queue), body)
      } else {
        level.observe(on: owner, lane: .queue(queue), body)
      }
    }
    queue.suspend()
    Hops.answering(8) { level.value = 1 }
    Hops.answering(1) { level.value = 2 }
    queue.resume()
    queue.sync {}
    #expect(seen.all == [0, 8])
    withExtendedLifetime(owner) {}
  }

  /// The identity mapping, which runs a hook at one chosen read of the source.
  private struct Hooked: Mapping {
    /// The number of reads left until the hook runs.
    let looks: Protected<Int>
    let hook: @Sendable () -> Void

    func forward(_ source: Int) -> Int {
      let isThis = looks.withLock { looks in
        looks -= 1
        return looks == 0
      }
      if isThis { hook() }
      return source
    }

    func back(_ target: Int) throws(BindingError) -> Int { target }
  }

  @Test("a link keeps the hops of a write that another thread carries over")
  func link() {
    let (left, right) = (Observable(0), Observable(0))
    let looks = Protected(0)
    // While the link reads the value to carry over, another thread writes the other side, which wins.
    let hooked = Hooked(looks: looks) { elsewhere { Hops.answering(3) { right.value = 2 } } }
    let link = left.binding.map(hooked).bind(to: right.binding)
    let token = left.observe { [seen] _ in seen.record(Hops.current) }
    // The first read is that of the link's observer.
    looks.withLock { $0 = 2 }
    left.value = 1
    #expect(left.value == 2)
    #expect(seen.all == [0, 0, 3])
    withExtendedLifetime((link, token)) {}
  }
}

/// Runs `body` on another thread and waits for it.
private func elsewhere(_ body: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  DispatchQueue.global().async {
    body()
    done.signal()
  }
  done.wait()
}
