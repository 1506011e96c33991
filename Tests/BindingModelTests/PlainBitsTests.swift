import BindingModel
import Testing

@Suite("values that are read without a lock")
struct PlainBitsTests {
  enum Mode: UInt8, CaseIterable { case off, on, automatic }

  struct Pair: Equatable {
    var first: UInt8
    var second: UInt16
  }

  @Test("a value of any size is read as it was written, by every kind of write")
  func roundTrips() {
    check([0.0, -0.5, .infinity, 1e300])
    check([Float(0), -1.5])
    check([Int.min, 0, Int.max])
    check([Int32.min, Int32.max])
    check([UInt16.min, UInt16.max])
    check([false, true])
    check(Mode.allCases)
    check([nil, UInt8.max])
    check([Pair(first: 1, second: 2), Pair(first: .max, second: .max)])
    check(["", "longer than fits into two words"])
  }

  func check<Value: Equatable & Sendable>(_ values: [Value], sourceLocation: SourceLocation = #_sourceLocation) {
    let observable = Observable(values[0])
    let binding = observable.binding
    for value in values + values.reversed() {
      observable.value = value
      #expect(observable.value == value && binding.value == value, sourceLocation: sourceLocation)
    }
    for value in values + values.reversed() {
      observable.setSilently(value)
      #expect(observable.value == value, sourceLocation: sourceLocation)
    }
    let token = observable.observe { _ in }
    for value in values + values.reversed() {
      observable.update { $0 = value }
      #expect(observable.value == value && binding.value == value, sourceLocation: sourceLocation)
    }
    token.cancel()
  }

  @Test("of two threads that write one value each and read the other's, one reads the new one")
  func bothSeeNotTheFormer() {
    let values = [Observable(0), Observable(0)]
    let rounds = 20_000
    let seen = [Recorder<Int>(), Recorder<Int>()]
    onThreads(2) { thread in
      for round in 1...rounds {
        values[thread].value = round
        seen[thread].record(values[1 - thread].value)
      }
    }
    let (first, second) = (seen[0].all, seen[1].all)
    for round in 1...rounds {
      // The second thread had not written this when the first one looked: so it looked after the first had written.
      let next = first[round - 1] + 1
      if next <= rounds, second[next - 1] < round {
        Issue.record("\(round) and \(next) were written, and neither was seen")
        return
      }
    }
  }
}
