import BindingModel
import Observation
import Testing

@Suite("derived values: sources and lifetimes")
struct DerivedFollowingTests {
  @Test("a derived value observed by an owner lives exactly as long as that observation")
  func ownedObservation() {
    final class Owner: Sendable {}
    let number = Observable(1)
    let seen = Recorder<Int>()
    weak var result: AnyObject?
    var owner: Owner? = Owner()
    do {
      let double = number.derived { $0 * 2 }
      result = double
      if let owner { double.observe(on: owner) { seen.record($0) } }
    }
    number.value = 2
    #expect(seen.all == [2, 4])
    owner = nil
    number.value = 3
    #expect(seen.all == [2, 4])
    #expect(result == nil)
  }

  @Test("a derived value follows the current choice of a flattened binding")
  func flattened() {
    let (first, second) = (Observable(1), Observable(10))
    let chosen = Observable(first.binding)
    let double = chosen.flattened().derived { $0 * 2 }
    let seen = Recorder<Int>()
    let token = double.observe { seen.record($0) }
    chosen.value = second.binding
    first.value = 2
    second.value = 11
    #expect(seen.all == [2, 20, 22])
    token.cancel()
  }

  @Test("a derived value follows a closure binding, whose sources are not tracked")
  @MainActor
  func foreignLocation() {
    let number = Observable(1)
    let location = Binding(get: { number.value }, set: { number.value = $0 })
    let double = location.derived { $0 * 2 }
    let seen = Recorder<Int>()
    let token = double.observe { seen.record($0) }
    location.value = 4
    #expect(seen.all == [2, 8])
    #expect(double.value == 8)
    token.cancel()
  }

  @Test("a derived value is never computed from mixed states while other threads write its sources")
  func noMixtureAcrossThreads() {
    let list = Observable([0])
    let last = list.derived { $0.count - 1 }
    let element = Derived(list, last) { list, last in last < list.count && list.count == last + 1 }
    let seen = Recorder<Bool>()
    let token = element.observe { seen.record($0) }
    onThreads(4) { thread in
      for step in 0..<500 {
        if thread.isMultiple(of: 2) {
          list.value = Array(repeating: 0, count: 1 + (step * 7 + thread) % 5)
        } else {
          #expect(element.value)
        }
      }
    }
    #expect(seen.all == [true])
    token.cancel()
  }

  @Test("a derived value observed under writes of many threads ends with the value of its sources")
  func observersAcrossThreads() {
    let (left, right) = (Observable(0), Observable(0))
    let sum = Derived { left.value + right.value }.derived { $0 }
    let seen = Recorder<Int>()
    let token = sum.observe { seen.record($0) }
    onThreads(4) { thread in
      for _ in 0..<500 { (thread.isMultiple(of: 2) ? left : right).update { $0 += 1 } }
    }
    #expect(sum.value == 2_000)
    #expect(seen.all.last == 2_000)
    token.cancel()
  }

  @Test("a derived value makes a tracking view read again once per turn")
  func tracked() async {
    let (left, right) = (Observable(1), Observable(2))
    let sum = Derived { left.value + right.value }
    let looks = Recorder<Int>()
    @Sendable func look() {
      looks.record(
        withObservationTracking {
          sum.value
        } onChange: {
          look()
        })
    }
    look()
    Turn.run {
      left.value = 10
      right.value = 20
    }
    #expect(looks.all.last == 30)
  }
}
