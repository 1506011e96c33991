import BindingModel
import Testing

@Suite("ten concurrent threads")
struct StressTests {
  static let threads = 10
  static let writes = 3_000

  @Test(
    "behaviour 7: a permanent observer gets every write in order, others a part up to the final value")
  func nothingLostNothingReordered() {
    let level = Observable(0)
    let all = Recorder<Int>()
    let standing = level.observe { all.record($0) }
    let parts = Recorder<Recorder<Int>>()
    let kept = Protected<[ObserverToken]>([])
    let owner = Owner()
    onThreads(Self.threads) { thread in
      for write in 0..<Self.writes {
        level.update { $0 += 1 }
        guard write % 100 == thread else { continue }
        let part = Recorder<Int>()
        let token = level.observe { part.record($0) }
        if write < Self.writes / 2 {
          token.cancel()
          let brief = Owner()
          level.observe(on: brief) { _ in }
          level.observe(on: owner) { _ in }
        } else {
          parts.record(part)
          kept.withLock { $0.append(token) }
        }
        if write == Self.writes - 100 + thread { level.remove(observer: owner) }
      }
    }
    #expect(all.all == Array(0...Self.threads * Self.writes))
    #expect(parts.all.count == Self.threads * Self.writes / 200)
    for part in parts.all {
      let seen = part.all
      #expect(seen.last == Self.threads * Self.writes)
      #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 + 1 == $1 }, "a value was lost, repeated or reordered")
    }
    withExtendedLifetime((standing, owner)) {}
  }

  @Test("plain writes reach all observers in the same order")
  func oneOrder() {
    let level = Observable(-1)
    let recorders = (0..<3).map { _ in Recorder<Int>() }
    let tokens = recorders.map { recorder in level.observe { recorder.record($0) } }
    onThreads(Self.threads) { thread in
      for write in 0..<Self.writes { level.value = thread * Self.writes + write }
    }
    let first = recorders[0].all
    #expect(first.count == Self.threads * Self.writes + 1)
    #expect(recorders.allSatisfy { $0.all == first })
    #expect(first.last == level.value)
    for thread in 0..<Self.threads {
      let own = first.filter { $0 / Self.writes == thread && $0 >= 0 }
      #expect(own == own.sorted(), "writes of one thread were reordered")
    }
    withExtendedLifetime(tokens) {}
  }

  @Test("behaviour 12: 1,000 concurrent increments give 1,000, also through a binding to a member")
  func atomicUpdate() async {
    struct Counter: Equatable, Sendable { var count = 0 }
    let plain = Observable(0)
    let member = Observable(Counter())
    let count = member.binding.count
    await withTaskGroup { group in
      for _ in 0..<1_000 {
        group.addTask {
          plain.update { $0 += 1 }
          try? count.update { $0 += 1 }
        }
      }
    }
    #expect(plain.value == 1_000)
    #expect(member.value.count == 1_000)
  }

  @Test("concurrent turns end with every observer having the final value")
  func turns() {
    let left = Observable(0)
    let right = Observable(0)
    let lefts = Recorder<Int>()
    let rights = Recorder<Int>()
    let tokens = [left.observe { lefts.record($0) }, right.observe { rights.record($0) }]
    onThreads(Self.threads) { _ in
      for _ in 0..<Self.writes / 10 {
        Turn.run {
          left.update { $0 += 1 }
          right.update { $0 += 1 }
          left.update { $0 += 1 }
        }
      }
    }
    #expect(left.value == Self.threads * Self.writes / 5)
    #expect(lefts.all.last == left.value)
    #expect(rights.all.last == right.value)
    #expect(lefts.all == lefts.all.sorted())
    #expect(Set(rights.all).count == rights.all.count)
    withExtendedLifetime(tokens) {}
  }

  @Test("observers cancelled by another thread stop, and what they captured is released")
  func cancelAcrossThreads() {
    let level = Observable(0)
    let held = Recorder<WeakBox>()
    onThreads(Self.threads) { thread in
      for _ in 0..<Self.writes / 10 {
        if thread % 2 == 0 {
          level.update { $0 += 1 }
        } else {
          let payload = Owner()
          held.record(WeakBox(payload))
          let token = level.observe { _ in withExtendedLifetime(payload) {} }
          onNextThread(token)
        }
      }
    }
    level.value = -1
    #expect(held.all.allSatisfy { !$0.isAlive })
  }

  private func onNextThread(_ token: ObserverToken) {
    onThreads(1) { _ in token.cancel() }
  }

  @Test("a value can be released by one thread while others read, write and observe through bindings")
  func ownerDiesUnderLoad() {
    for _ in 0..<50 {
      let level = Protected<Observable<Int>?>(Observable(0))
      guard let binding = level.withLock({ $0 })?.binding else { return }
      let calls = Recorder<Int>()
      onThreads(4) { thread in
        for write in 0..<50 {
          if thread == 0 && write == 25 { level.withLock { $0 = nil } }
          if thread == 1 { binding.observe { calls.record($0) }.cancel() }
          binding.value = write * 4 + thread
        }
      }
      let last = binding.value
      binding.value = -1
      #expect(binding.value == last)
    }
  }
}
