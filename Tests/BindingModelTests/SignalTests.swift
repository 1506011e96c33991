import BindingModel
import Testing

/// Cases from the suites of Solid, Vue and MobX that no other suite here covers.
@Suite("derived values as in signal libraries")
struct SignalTests {
  private let seen = Recorder<Int>()
  private let computed = Recorder<String>()

  @Test("a derived value that reads nothing is computed once, whatever else changes")
  func withoutSources() {
    let (other, computed) = (Observable(0), computed)
    let constant = Derived {
      computed.record("constant")
      return 7
    }
    #expect(constant.value == 7)
    other.value = 1
    #expect(constant.value == 7)
    #expect(computed.all == ["constant"])
  }

  @Test("a source dropped by one derived value still feeds another, and the first again when read again")
  func leftSource() {
    let (isOn, value) = (Observable(true), Observable(1))
    let middle = Derived { value.value }
    let first = Derived { isOn.value ? value.value + middle.value : 0 }
    let second = Derived { value.value }
    let token = first.observe { [seen] in seen.record($0) }
    #expect(second.value == 1)
    isOn.value = false
    value.value = 2
    #expect(second.value == 2)
    isOn.value = true
    value.value = 3
    #expect(seen.all == [2, 0, 4, 6])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value checks its sources in read order and does not compute those made needless")
  func inOrder() {
    let (number, computed) = (Observable(0), computed)
    let isBroken = Derived { number.value % 3 != 0 }
    let isCheap = Derived { number.value % 3 == 2 }
    let costly = Derived {
      computed.record("costly")
      return number.value
    }
    let end = Derived { isBroken.value && isCheap.value ? -1 : costly.value }
    let values = (0..<4).map { step in
      number.value = step
      return end.value
    }
    #expect(values == [0, 1, -1, 3])
    #expect(computed.all.count == 3)
  }

  @Test("a derived value that reads the same sources in another order recomputes none of them")
  func otherOrder() {
    let (isSwapped, left, right, computed) = (Observable(false), Observable(1), Observable(2), computed)
    let first = Derived {
      computed.record("first")
      return left.value * 10
    }
    let second = Derived {
      computed.record("second")
      return right.value * 100
    }
    let sum = Derived { isSwapped.value ? second.value + first.value : first.value - second.value }
    let token = sum.observe { [seen] in seen.record($0) }
    isSwapped.value = true
    right.value = 3
    #expect(seen.all == [-190, 210, 310])
    #expect(computed.all == ["first", "second", "second"])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value read inside a turn is recomputed only after a further write and notifies at its end")
  func readInside() {
    let (source, computed) = (Observable(0), computed)
    let half = Derived {
      computed.record("half")
      return source.value / 2
    }
    let end = Derived { half.value + 1 }
    let token = end.observe { [seen] in seen.record($0) }
    computed.clear()
    Turn.run {
      source.value = 2
      #expect(end.value == 2)
    }
    #expect(computed.all.count == 1)
    Turn.run {
      source.value = 4
      #expect(end.value == 3)
      source.value = 6
    }
    #expect(computed.all.count == 3)
    #expect(seen.all == [1, 2, 4])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value made inside another's computation feeds it, and its unchanged result notifies nobody")
  func madeInside() {
    let (factor, price, computed) = (Observable(0), Observable(100), computed)
    let total = Derived { () -> Int in
      computed.record("total")
      let inner = Derived { factor.value % 2 == 0 ? 1 : 3 }
      return price.value * inner.value
    }
    let token = total.observe { [seen] in seen.record($0) }
    price.value = 150
    for next in [7, 5, 3, 4] { factor.value = next }
    price.value = 20
    #expect(seen.all == [100, 150, 450, 150, 20])
    #expect(computed.all.count == 5)
    withExtendedLifetime(token) {}
  }

  @Test("thirty derived values that read all earlier ones compute once each, and none when switched off")
  func eachReadsAll() {
    let (base, isOn, computed) = (Observable(1), Observable(true), computed)
    var layers: [Derived<Int>] = []
    for _ in 0..<30 {
      let earlier = layers
      layers.append(
        Derived {
          computed.record("layer")
          return base.value + earlier.reduce(0) { $0 + $1.value }
        })
    }
    let last = layers[29]
    let tail = Derived { isOn.value ? last.value : 0 }
    let token = tail.observe { [seen] in seen.record($0) }
    #expect(seen.all == [1 << 29])
    #expect(computed.all.count == 30)
    isOn.value = false
    base.value = 2
    #expect(seen.all == [1 << 29, 0])
    #expect(computed.all.count == 30)
    withExtendedLifetime(token) {}
  }

  @Test("a derived value of four arms is computed once per change, and not when no arm changed")
  func fourArms() {
    let (number, isSet, computed) = (Observable(1), Observable(false), computed)
    let (first, second) = (Derived { number.value > 0 }, Derived { number.value > 0 })
    let third = Derived { number.value }
    let fourth = Derived { number.value > 0 && isSet.value }
    let end = Derived {
      computed.record("end")
      return first.value && second.value && third.value > 0 && fourth.value
    }
    let token = end.observe { _ in }
    isSet.value = true
    #expect(computed.all.count == 2)
    number.value = 2
    #expect(computed.all.count == 3)
    isSet.value = true
    #expect(computed.all.count == 3)
    withExtendedLifetime(token) {}
  }

  @Test("an observer that writes two sources of a derived value notifies it once")
  func writtenByObserver() {
    let (trigger, left, right, computed) = (Observable(0), Observable(0), Observable(0), computed)
    let sum = Derived(left, right) {
      computed.record("sum")
      return $0 + $1
    }
    let tokens = [
      sum.observe { [seen] in seen.record($0) },
      trigger.observe { value in
        left.value = value
        right.value = value
      },
    ]
    computed.clear()
    trigger.value = 17
    #expect(seen.all == [0, 34])
    #expect(computed.all.count == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("a derived value whose observer writes another of its sources is notified of that too")
  func answered() {
    let (first, second) = (Observable(0), Observable(0))
    let sum = Derived(first, second) { $0 + $1 }
    let token = sum.observe { [seen] in
      seen.record($0)
      second.value = 100
    }
    first.value = 1
    #expect(seen.all == [0, 100, 101])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value whose observer counts its source down settles at the limit")
  func countedDown() {
    let source = Observable(0)
    let copy = source.derived { $0 }
    let token = copy.observe { if $0 > 1 { source.value -= 1 } }
    source.value = 10
    #expect(source.value == 1 && copy.value == 1)
    withExtendedLifetime(token) {}
  }

  @Test("a derived value does not depend on what its observers read")
  func untrackedObserver() {
    let (source, factor) = (Observable(1), Observable(2))
    let copy = source.derived { $0 }
    let token = copy.observe { [seen] in seen.record($0 * factor.value) }
    source.value = 2
    factor.value = 7
    source.value = 3
    #expect(seen.all == [2, 4, 21])
    withExtendedLifetime(token) {}
  }

  @Test("observers of a derived value run after those of its source, in any registration order")
  func afterItsSource() {
    let (source, other, order) = (Observable(0), Observable(0), Recorder<String>())
    let sum = Derived(source, other) { $0 + $1 }
    let tokens = [
      source.observe { value in
        order.record("first \(value)")
        if value > 0 { other.value = 10 }
      },
      sum.observe { order.record("sum \($0)") },
      source.observe { order.record("last \($0)") },
    ]
    order.clear()
    source.value = 1
    #expect(order.all == ["first 1", "last 1", "sum 11"])
    withExtendedLifetime(tokens) {}
  }

  @Test("a derived value of a filtered source is computed only for changes that pass the filter")
  func filtered() {
    let (comparisons, computed) = (Recorder<String>(), computed)
    let name = Observable(
      "a",
      filter: .unless {
        comparisons.record("\($0)\($1)")
        return $0.lowercased() == $1.lowercased()
      })
    let length = name.derived {
      computed.record($0)
      return $0
    }
    let token = length.observe { _ in }
    #expect(comparisons.all.isEmpty)
    name.value = "A"
    name.value = "b"
    name.value = "B"
    #expect(comparisons.all == ["aA", "ab", "bB"])
    #expect(computed.all == ["a", "b"])
    withExtendedLifetime(token) {}
  }

  @Test("a thousand derived values observed and cancelled in turn are not notified again")
  func manyLetGo() {
    let source = Observable(1)
    for step in 0..<1_000 {
      let token = source.derived { $0 + step }.observe { [seen] in seen.record($0) }
      token.cancel()
    }
    seen.clear()
    source.value = 2
    #expect(seen.all.isEmpty)
  }
}
