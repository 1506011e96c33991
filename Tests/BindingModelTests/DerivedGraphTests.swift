import BindingModel
import Testing

/// From the tests of signal libraries: each value computed once, nothing stale, no mixed states, no needless work.
@Suite("graphs of derived values")
struct DerivedGraphTests {
  /// Counts computations.
  private final class Counter: Sendable {
    private let count = Protected(0)
    var value: Int { count.withLock { $0 } }

    func callAsFunction<Value>(_ value: Value) -> Value {
      count.withLock { $0 += 1 }
      return value
    }
  }

  @Test("a derived value is not computed before it is read, and once for many reads")
  func lazy() {
    let (number, counter) = (Observable(1), Counter())
    let double = number.derived { counter($0 * 2) }
    #expect(counter.value == 0)
    #expect(double.value == 2 && double.value == 2)
    #expect(counter.value == 1)
    for next in 2...9 { number.value = next }
    #expect(counter.value == 1, "computed though nobody reads or observes it")
    #expect(double.value == 18)
    #expect(counter.value == 2)
  }

  @Test("a derived value finds its dependencies by itself, through bindings and values")
  func automatic() {
    struct Person: Equatable { var name = "Ann", age = 7 }
    let (person, isShort) = (Observable(Person()), Observable(false))
    let counter = Counter()
    let text = Derived {
      counter(isShort.value ? person.binding.name.value : "\(person.binding.name.value), \(person.value.age)")
    }
    #expect(text.value == "Ann, 7")
    person.value.age = 8
    #expect(text.value == "Ann, 8")
    isShort.value = true
    #expect(text.value == "Ann")
    #expect(counter.value == 3)
  }

  @Test("a derived value drops a source that it no longer reads and is not recomputed for it")
  func conditional() {
    let (isLeft, left, right) = (Observable(true), Observable(1), Observable(10))
    let counter = Counter()
    let chosen = Derived { counter(isLeft.value ? left.value : right.value) }
    let seen = Recorder<Int>()
    let token = chosen.observe { seen.record($0) }
    right.value = 11
    #expect(counter.value == 1)
    isLeft.value = false
    left.value = 2
    #expect(counter.value == 2)
    right.value = 12
    #expect(seen.all == [1, 11, 12])
    token.cancel()
  }

  @Test("derived arms of unequal length show no mixed state and compute once per change", arguments: 1...4)
  func jagged(length: Int) {
    let number = Observable(1)
    let counter = Counter()
    var arm = number.derived { $0 }
    for _ in 1..<length { arm = arm.derived { $0 } }
    let both = Derived(number, arm) { counter([$0, $1]) }
    let seen = Recorder<[Int]>()
    let token = both.observe { seen.record($0) }
    number.value = 2
    number.value = 3
    #expect(seen.all == [[1, 1], [2, 2], [3, 3]])
    #expect(counter.value == 3)
    token.cancel()
  }

  @Test("a derived full name with a fallback shows no intermediate value")
  func fullName() {
    let (first, last) = (Observable("Max"), Observable("Li"))
    let name = Derived(first, last) { "\($0) \($1)" }
    let isShort = first.derived { $0.count < 10 }
    let shown = Derived(isShort, name, first) { $0 ? $1 : $2 }
    let seen = Recorder<String>()
    let token = shown.observe { seen.record($0) }
    first.value = "Maximiliane"
    Turn.run {
      first.value = "Eva"
      last.value = "Ott"
    }
    #expect(seen.all == ["Max Li", "Maximiliane", "Eva Ott"])
    token.cancel()
  }

  @Test("a derived value is never computed from an impossible state such as an index past the end")
  func impossibleInputs() {
    let list = Observable([1, 2, 3])
    let last = list.derived { $0.count }.derived { $0 - 1 }
    let element = Derived(list, last) { $0[$1] }
    let seen = Recorder<Int>()
    let token = element.observe { seen.record($0) }
    list.value = [7]
    list.value = [8, 9]
    #expect(seen.all == [3, 7, 9])
    token.cancel()
  }

  @Test("a derived value is not computed when the result that it depends on is unchanged")
  func unchangedInBetween() {
    let number = Observable(1)
    let counter = Counter()
    let isEven = number.derived { $0.isMultiple(of: 2) }
    let word = isEven.derived { counter($0 ? "even" : "odd") }
    let seen = Recorder<String>()
    let token = word.observe { seen.record($0) }
    number.value = 3
    number.value = 5
    #expect(counter.value == 1)
    number.value = 6
    #expect(seen.all == ["odd", "even"])
    #expect(counter.value == 2)
    token.cancel()
  }

  @Test("a derived value read inside a turn reflects the writes made so far")
  func insideTurn() {
    let (left, right) = (Observable(1), Observable(2))
    let sum = Derived(left, right) { $0 + $1 }
    let double = sum.derived { $0 * 2 }
    let seen = Recorder<Int>()
    let token = double.observe { seen.record($0) }
    let between = Turn.run {
      left.value = 10
      let between = double.value
      right.value = 20
      return between
    }
    #expect(between == 24)
    #expect(double.value == 60)
    #expect(seen.all == [6, 60])
    token.cancel()
  }

  @Test("a turn that ends with the original value does not notify a derived value's observers")
  func backAgain() {
    let number = Observable(1)
    let double = number.derived { $0 * 2 }
    let seen = Recorder<Int>()
    let token = double.observe { seen.record($0) }
    Turn.run {
      number.value = 5
      #expect(double.value == 10)
      number.value = 1
    }
    #expect(seen.all == [2])
    token.cancel()
  }

  @Test("a derived value is up to date in an observer of its source, at any depth and after a write there")
  func insideObservers() {
    let number = Observable(1)
    let deep = number.derived { $0 + 1 }.derived { $0 + 1 }
    let other = Observable(0)
    let tenfold = other.derived { $0 * 10 }
    let seen = Recorder<[Int]>()
    let token = number.observe {
      other.value = $0
      seen.record([deep.value, tenfold.value])
    }
    number.value = 5
    #expect(seen.all == [[3, 10], [7, 50]])
    token.cancel()
  }

  @Test("twelve jagged layers of derived values compute each layer once per change")
  func layers() {
    let (number, counter) = (Observable(0), Counter())
    var before = number.derived { $0 }
    var last = number.derived { $0 }
    for _ in 0..<12 {
      let next = Derived(before, last) { counter(($0 + $1) % 1_000_003) }
      (before, last) = (last, next)
    }
    let token = last.observe { _ in }
    #expect(counter.value == 12)
    number.value = 1
    #expect(counter.value == 24)
    token.cancel()
  }

  @Test("a derived value of a hundred sources is computed once in a turn that writes them all")
  func manySources() {
    let sources = (0..<100).map { Observable($0) }
    let counter = Counter()
    let sum = Derived(of: sources.map { $0 as any ValueSource<Int> }) { counter($0.reduce(0, +)) }
    let token = sum.observe { _ in }
    Turn.run { for source in sources { source.value += 1 } }
    #expect(sum.value == 5_050)
    #expect(counter.value == 2)
    token.cancel()
  }

  @Test("a derived result that is NaN notifies once, not at each computation")
  func notANumber() {
    let number = Observable(1.0)
    let root = number.derived { $0.squareRoot() }
    let seen = Recorder<Bool>()
    let token = root.observe { seen.record($0.isNaN) }
    number.value = -1
    number.value = -2
    #expect(seen.all == [false, true])
    number.value = .nan
    let received = Recorder<Double>()
    let other = number.observe { received.record($0) }
    number.value = .nan
    #expect(received.all.count == 1)
    token.cancel()
    other.cancel()
  }

  @Test("a changed result that contains NaN notifies observers, although it is not equal to itself")
  func partlyNotANumber() {
    struct Point: Equatable, Sendable { var x = Double.nan, y = 0.0 }
    let height = Observable(1.0)
    let point = height.derived { Point(y: $0) }
    let optional = height.derived { $0 > 1 ? Double?.some(.nan) : nil }
    let (seen, options) = (Recorder<Double>(), Recorder<Bool>())
    let tokens = [point.observe { seen.record($0.y) }, optional.observe { options.record($0 == nil) }]
    height.value = 2
    height.value = 3
    #expect(seen.all == [1, 2, 3])
    #expect(options.all == [true, false], "the same optional not a number was told again")
    withExtendedLifetime(tokens) {}
  }

  @Test("a chain of 100,000 derived values is released, and one of 10,000 is read", .timeLimit(.minutes(3)))
  func longChains() {
    let number = Observable(0)
    var end = number.derived { $0 }
    for _ in 0..<100_000 { end = end.derived { $0 + 1 } }
    end = number.derived { $0 }
    for _ in 0..<10_000 { end = end.derived { $0 + 1 } }
    #expect(end.value == 10_000)
    number.value = 1
    #expect(end.value == 10_001)
  }
}
