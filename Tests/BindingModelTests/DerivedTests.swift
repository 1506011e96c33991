import BindingModel
import Testing

@Suite("derived values")
struct DerivedTests {
  @Test("a derived value follows its sources, first value included")
  func follows() {
    let (first, last) = (Observable("Ann"), Observable("Lee"))
    let name = Derived(first.binding, last.binding) { "\($0) \($1)" }
    let received = Recorder<String>()
    let token = name.observe { received.record($0) }
    last.value = "Day"
    first.value = "Bob"
    #expect(received.all == ["Ann Lee", "Ann Day", "Bob Day"])
    #expect(name.value == "Bob Day")
    withExtendedLifetime(token) {}
  }

  @Test("several sources changed in one turn notify a derived value once, without a mixed state")
  func turn() {
    let (left, right) = (Observable(1), Observable(2))
    let pair = Derived(left.binding, right.binding) { [$0, $1] }
    let received = Recorder<[Int]>()
    let token = pair.observe { received.record($0) }
    Turn.run {
      left.value = 10
      right.value = 20
    }
    #expect(received.all == [[1, 2], [10, 20]])
    withExtendedLifetime(token) {}
  }

  @Test("a change that reaches a derived value on two paths notifies once, without a mixed state")
  func diamond() {
    let number = Observable(1)
    let (double, square) = (number.binding.derived { $0 * 2 }, number.binding.derived { $0 * $0 })
    let both = double.derived { $0 }
    let sum = Derived(number.binding) { $0 * 2 + $0 * $0 }
    let received = Recorder<Int>()
    let token = sum.observe { received.record($0) }
    number.value = 3
    #expect(double.value == 6 && square.value == 9 && both.value == 6)
    #expect(received.all == [3, 15])
    withExtendedLifetime(token) {}
  }

  @Test("an unchanged result of a derived value notifies nobody")
  func same() {
    let number = Observable(1)
    let isEven = number.binding.derived { $0.isMultiple(of: 2) }
    let received = Recorder<Bool>()
    let token = isEven.observe { received.record($0) }
    for next in [3, 5, 6, 8] { number.value = next }
    #expect(received.all == [false, true])
    withExtendedLifetime(token) {}
  }

  @Test("a derived value keeps no source's owner alive and is kept alive only by its holder")
  func lifetimes() {
    var number: Observable<Int>? = Observable(1)
    weak let source = number
    var double = number?.binding.derived { $0 * 2 }
    weak let derived = double
    number?.value = 2
    number = nil
    #expect(source == nil)
    #expect(double?.value == 4)
    double = nil
    #expect(derived == nil)
  }

  @Test("holding the end of a chain of derived values keeps the whole chain")
  func chain() {
    let number = Observable(1)
    let end = number.binding.derived { $0 + 1 }.derived { $0 * 10 }
    number.value = 4
    #expect(end.value == 50)
  }

  @Test("a derived value written concurrently by many threads ends with the value of its sources")
  func threads() {
    let (left, right) = (Observable(0), Observable(0))
    let sum = Derived(left.binding, right.binding) { $0 + $1 }
    onThreads(4) { thread in
      for _ in 0..<500 { (thread.isMultiple(of: 2) ? left : right).update { $0 += 1 } }
    }
    #expect(sum.value == 2_000)
  }

  @Test("a derived value of derived values shows no mixed state")
  func derivedFromDerived() {
    let number = Observable(1)
    let double = number.derived { $0 * 2 }
    let square = number.derived { $0 * $0 }
    let sum = Derived(double, square) { [$0, $1] }
    let seen = Recorder<[Int]>()
    let token = sum.observe { seen.record($0) }
    number.value = 3
    #expect(seen.all == [[2, 1], [6, 9]])
    token.cancel()
  }

  @Test("a derived value refuses writes and says to write its sources instead")
  func readOnly() {
    let number = Observable(1)
    let double = number.derived { $0 * 2 }
    let error = #expect(throws: BindingError.self) { try double.location.write(5, by: .unnamed) }
    #expect(error?.message == "this value is derived from others: write to those")
    #expect(double.value == 2)
  }

  @Test("a derived value is shown by a label on the main actor, and its sequence keeps it alive")
  @MainActor
  func shown() async {
    final class Sign { var text = "" }
    let number = Observable(1)
    let sign = Sign()
    let double = number.derived { $0 * 2 }
    double.show(\.self, in: sign, \.text) { "\($0)" }
    number.value = 4
    #expect(sign.text == "8")
    var iterator = number.derived { $0 + 1 }.values.makeAsyncIterator()
    #expect(await iterator.next() == 5)
    number.value = 9
    #expect(await iterator.next() == 10)
  }
}

@Suite("values derived from many sources")
struct DerivedSourcesTests {
  @Test("a value derived from sources of different types is notified once per turn, with all of them current")
  func many() {
    let (street, number, isHome, scale) = (Observable("Elm"), Observable(4), Observable(true), Observable(1.5))
    let line = Derived(street, number.binding, isHome, scale.derived { $0 * 2 }) { "\($0) \($1) \($2) \($3)" }
    let seen = Recorder<String>()
    let token = line.observe { seen.record($0) }
    Turn.run {
      street.value = "Oak"
      number.value = 5
      scale.value = 2
    }
    #expect(seen.all == ["Elm 4 true 3.0", "Oak 5 true 4.0"])
    withExtendedLifetime(token) {}
  }
}
