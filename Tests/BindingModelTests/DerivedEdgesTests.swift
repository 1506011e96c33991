import BindingModel
import Testing

/// Edge cases of computed values from the suites of signal libraries: branches, tails, unchanged results.
@Suite("derived values: edge cases")
struct DerivedEdgesTests {
  @Test("an untracked read makes no dependency")
  func peek() {
    let (tracked, peeked) = (Observable(1), Observable(10))
    let sum = Derived { tracked.value + peeked.binding.location.read() }
    let seen = Recorder<Int>()
    let token = sum.observe { seen.record($0) }
    peeked.value = 20
    tracked.value = 2
    #expect(seen.all == [11, 22])
    token.cancel()
  }

  @Test("a derived value without observers is not computed until it is read, and is then up to date")
  func unobserved() {
    let source = Observable(1)
    let computed = Recorder<Int>()
    let (first, other) = (
      source.derived { value -> Int in
        computed.record(value)
        return value
      }, source.derived { $0 }
    )
    let second = first.derived { $0 }
    second.observe { _ in }.cancel()
    computed.clear()
    source.value = 2
    #expect(computed.all.isEmpty)
    #expect(other.value == 2)
    #expect(second.value == 2)
  }

  @Test("a derived value is notified when one source changes and the others do not", arguments: 1...3)
  func oneOfMany(same: Int) {
    let source = Observable("a")
    let changing = source.derived { $0 }
    let constant = (0..<same).map { number in source.derived { _ in "\(number)" } }
    let all = Derived { ([changing.value] + constant.map(\.value)).joined(separator: " ") }
    let seen = Recorder<String>()
    let token = all.observe { seen.record($0) }
    source.value = "b"
    let rest = (0..<same).map { " \($0)" }.joined()
    #expect(seen.all == ["a" + rest, "b" + rest])
    token.cancel()
  }

  @Test("a derived value is not recomputed when none of its sources changed")
  func allTheSame() {
    let source = Observable("a")
    let computed = Recorder<Int>()
    let (left, right) = (source.derived { _ in 1 }, source.derived { _ in 2 })
    let sum = Derived(left, right) { left, right -> Int in
      computed.record(left + right)
      return left + right
    }
    let token = sum.observe { _ in }
    source.value = "b"
    source.value = "c"
    #expect(computed.all == [3])
    #expect(sum.value == 3)
    token.cancel()
  }

  @Test("a branch that was not taken can be taken and left again", arguments: [false, true])
  func lazyBranch(isObserved: Bool) {
    let source = Observable(0)
    let copy = source.derived { $0 }
    let chosen = Derived { source.value > 0 ? source.value : copy.value }
    let token = isObserved ? chosen.observe { _ in } : nil
    var read = [chosen.value]
    for next in [1, 0, -1, 5] {
      source.value = next
      read.append(chosen.value)
    }
    #expect(read == [0, 1, 0, -1, 5])
    withExtendedLifetime(token) {}
  }

  @Test("a source behind a branch that is not taken is not computed with inconsistent inputs")
  func guardedBranch() {
    let list = Observable([1, 2, 3])
    let index = Observable(2)
    let element = Derived { list.value[index.value] }
    let shown = Derived { index.value < list.value.count ? element.value : -1 }
    let seen = Recorder<Int>()
    let token = shown.observe { seen.record($0) }
    list.value = [1]
    index.value = 0
    #expect(seen.all == [3, -1, 1])
    token.cancel()
  }

  @Test("the tails of a jagged diamond are computed and notified once each")
  func tails() {
    let source = Observable("a")
    let computed = Recorder<String>()
    let short = source.derived { $0 }
    let long = source.derived { $0 }.derived { $0 }
    let both = Derived(short, long) { left, right -> String in
      computed.record("both")
      return "\(left) \(right)"
    }
    let tails = (0..<2).map { number in
      both.derived { value -> String in
        computed.record("tail \(number)")
        return value
      }
    }
    let seen = Recorder<String>()
    let tokens = tails.map { tail in tail.observe { seen.record($0) } }
    computed.clear()
    source.value = "b"
    #expect(computed.all == ["both", "tail 0", "tail 1"])
    #expect(seen.all == ["a a", "a a", "b b", "b b"])
    withExtendedLifetime(tokens) {}
  }

  @Test("a batch of source writes recomputes a derived value once, read or observed", arguments: [false, true])
  func batchOfSources(isObserved: Bool) {
    let (left, right) = (Observable("a"), Observable("b"))
    let computed = Recorder<String>()
    let both = Derived(left, right) { left, right -> String in
      computed.record(left + right)
      return left + right
    }
    let token = isObserved ? both.observe { _ in } : nil
    computed.clear()
    Turn.run {
      left.value = "aa"
      right.value = "bb"
    }
    #expect(both.value == "aabb")
    #expect(computed.all == ["aabb"])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value made inside an observer is ready before its dependents are notified")
  func madeLate() {
    let source = Observable(0)
    let late = Protected<Derived<Int>?>(nil)
    let seen = Recorder<Int>()
    let tokens = [
      source.observe { value in
        if value == 1 { late.withLock { $0 = source.derived { $0 * 100 } } }
      },
      source.observe { _ in if let late = late.withLock({ $0 }) { seen.record(late.value) } },
    ]
    source.value = 1
    source.value = 2
    #expect(seen.all == [100, 200])
    withExtendedLifetime(tokens) {}
  }
}
