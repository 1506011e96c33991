import BindingModel
import Testing

@Suite("turns")
struct TurnTests {
  @Test("behaviour 9: a write inside an observer is delivered after the turn, to all observers in the same order")
  func reentrantWrite() {
    let level = Observable(0)
    let seen = Recorder<String>()
    let tokens = [
      level.observe { value in
        seen.record("a\(value)")
        if value == 1 {
          level.value = 2
          level.value = 3
        }
      },
      level.observe { seen.record("b\($0)") },
    ]
    seen.clear()
    level.value = 1
    #expect(seen.all == ["a1", "b1", "a2", "b2", "a3", "b3"])
    withExtendedLifetime(tokens) {}
  }

  @Test("a write to another observable inside an observer applies immediately and is delivered after the turn")
  func writeToAnother() {
    let source = Observable(0)
    let target = Observable(0)
    let seen = Recorder<String>()
    let tokens = [
      source.observe { value in
        target.value = value * 10
        seen.record("wrote \(target.value)")
      },
      source.observe { seen.record("source \($0)") },
      target.observe { seen.record("target \($0)") },
    ]
    seen.clear()
    source.value = 1
    #expect(seen.all == ["wrote 10", "source 1", "target 10"])
    withExtendedLifetime(tokens) {}
  }

  @Test("100,000 values that each write the next do not grow the stack")
  func longChain() {
    let values = (0...100_000).map { _ in Observable(0) }
    let tokens = (0..<100_000).map { index in values[index].observe { values[index + 1].value = $0 } }
    values[0].value = 1
    #expect(values[100_000].value == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("several writes in a turn notify each observer once, and observers read the new value of every other")
  func grouping() {
    let width = Observable(1)
    let height = Observable(1)
    let seen = Recorder<String>()
    let tokens = [
      width.observe { seen.record("width \($0)x\(height.value)") },
      height.observe { seen.record("height \(width.value)x\($0)") },
    ]
    seen.clear()
    Turn.run {
      height.value = 2
      width.value = 3
      height.value = 4
      #expect(height.value == 4)
      #expect(seen.all.isEmpty)
    }
    #expect(seen.all == ["height 3x4", "width 3x4"])
    withExtendedLifetime(tokens) {}
  }

  @Test("nested turns run observers when the outermost ends")
  func nesting() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    let result = Turn.run {
      Turn.run { level.value = 1 }
      #expect(seen.all == [0])
      level.value = 2
      return "done"
    }
    #expect(result == "done")
    #expect(seen.all == [0, 2])
    withExtendedLifetime(token) {}
  }

  @Test("a turn that throws delivers what it wrote")
  func throwing() {
    struct RefusalError: Error {}
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    #expect(throws: RefusalError.self) {
      try Turn.run { () throws(RefusalError) in
        level.value = 1
        throw RefusalError()
      }
    }
    #expect(seen.all == [0, 1])
    level.value = 2
    #expect(seen.all == [0, 1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("a turn inside an observer groups its writes and is delivered after the current turn")
  func turnInsideObserver() {
    let trigger = Observable(0)
    let level = Observable(0)
    let seen = Recorder<String>()
    let tokens = [
      trigger.observe { value in
        guard value == 1 else { return }
        Turn.run {
          level.value = 1
          level.value = 2
        }
        seen.record("grouped")
      },
      trigger.observe { seen.record("trigger \($0)") },
      level.observe { seen.record("level \($0)") },
    ]
    seen.clear()
    trigger.value = 1
    #expect(seen.all == ["grouped", "trigger 1", "level 2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("an observer registered inside a turn gets the new value once")
  func observeInsideTurn() {
    let level = Observable(0)
    let before = Recorder<Int>()
    let inside = Recorder<Int>()
    let again = Recorder<Int>()
    var tokens = [level.observe { before.record($0) }]
    Turn.run {
      level.value = 1
      tokens.append(level.observe { inside.record($0) })
    }
    Turn.run {
      tokens.append(level.observe { again.record($0) })
      level.value = 2
    }
    #expect(before.all == [0, 1, 2])
    #expect(inside.all == [1, 2])
    #expect(again.all == [1, 2])
  }

  @Test("a value deferred by one thread's turn and overwritten by another is delivered once, as the newer value")
  func overtakenByAnotherThread() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    Turn.run {
      level.value = 1
      onThreads(1) { _ in level.value = 2 }
      #expect(seen.all == [0, 2])
    }
    #expect(seen.all == [0, 2])
    Turn.run {
      level.value = 3
      onThreads(1) { _ in Turn.run { level.value = 4 } }
      level.value = 5
    }
    #expect(seen.all == [0, 2, 4, 5])
    withExtendedLifetime(token) {}
  }

  @Test("a turn without writes, or with equal ones, notifies nobody")
  func emptyTurn() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let token = level.observe { seen.record($0) }
    Turn.run {}
    Turn.run { level.value = 0 }
    #expect(seen.all == [0])
    withExtendedLifetime(token) {}
  }

  @Test("a silent write leaves values that wait for delivery unchanged")
  func silentWriteMeanwhile() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let tokens = [
      level.observe { value in
        guard value == 1 else { return }
        level.value = 2
        level.setSilently(9)
        level.value = 3
        level.setSilently(10)
      },
      level.observe { seen.record($0) },
    ]
    level.value = 1
    #expect(seen.all == [0, 1, 2, 3])
    #expect(level.value == 10)
    withExtendedLifetime(tokens) {}
  }

  @Test("a turn inside an observer delivers plain writes before it first and its own value once")
  func turnAfterPlainWrites() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let tokens = [
      level.observe { value in
        guard value == 1 else { return }
        level.value = 2
        Turn.run {
          level.value = 3
          level.value = 4
        }
        level.value = 5
      },
      level.observe { seen.record($0) },
    ]
    level.value = 1
    #expect(seen.all == [0, 1, 2, 4, 5])
    withExtendedLifetime(tokens) {}
  }

  @Test("a write released with its observable in one turn notifies nobody")
  func releasedInsideTurn() {
    var level: Observable<Int>? = Observable(0)
    let seen = Recorder<Int>()
    let token = level?.observe { seen.record($0) }
    Turn.run {
      level?.value = 1
      level = nil
    }
    #expect(seen.all == [0])
    withExtendedLifetime(token) {}
  }

  @Test("past its limit the backlog coalesces: the newest value arrives last, and coalesced writes are counted")
  func backlogLimit() {
    let level = Observable(0)
    let seen = Recorder<Int>()
    let last = Turn.backlogLimit + 10
    let token = level.observe { value in
      seen.record(value)
      if value == 1 { for next in 2...last + 1 { level.value = next } }
    }
    level.value = 1
    #expect(level.coalescedWrites == 10)
    #expect(seen.all.count == 2 + Turn.backlogLimit)
    #expect(seen.all.last == last + 1)
    #expect(seen.all == seen.all.sorted())
    withExtendedLifetime(token) {}
  }
}
