import BindingModel
import Testing

/// What those who come from properties, shared state and observed keys rely on.
@Suite("a value used as a property")
struct PropertyTests {
  private struct Address: Equatable, Sendable { var street = "", number = 0 }
  private struct Person: Equatable, Sendable {
    var first = "Ada", last = "Li"
    var address: Address?
    var tags = ["a", "b"]
    var full: String {
      get { "\(first) \(last)" }
      set {
        let words = newValue.split(separator: " ").map(String.init)
        (first, last) = (words.first ?? "", words.last ?? "")
      }
    }
  }

  @Test("modified gives back the body's result and tells once")
  func modify() {
    let count = Observable(1)
    let seen = Recorder<Int>()
    let token = count.observe { seen.record($0) }
    let former = count.update { value -> Int in
      defer { value += 5 }
      return value
    }
    #expect(former == 1)
    #expect(seen.all == [1, 6])
    token.cancel()
  }

  @Test("swapped by many threads gives each former value to exactly one of them")
  func swap() {
    let slot = Observable(0)
    let got = Recorder<Int>()
    onThreads(4) { thread in
      for number in 1...100 {
        let mine = thread * 100 + number
        got.record(
          slot.update { value -> Int in
            defer { value = mine }
            return value
          })
      }
    }
    #expect(Set(got.all + [slot.value]).count == 401)
  }

  @Test("read in its own observer is what is told there")
  func readInObserver() {
    let count = Observable(0)
    let seen = Recorder<Bool>()
    let token = count.observe { seen.record($0 == count.value) }
    count.value = 1
    #expect(seen.all == [true, true])
    token.cancel()
  }

  @Test("read in its own modification shows the value before it")
  func readInModify() {
    let count = Observable(1)
    let inside = count.update { value -> Int in
      value = 2
      return count.value
    }
    #expect(inside == 1)
    #expect(count.value == 2)
  }

  @Test("modifies another inside its modification, whose observer reads it")
  func modifyAnother() {
    let (left, right) = (Observable(1), Observable(1))
    let seen = Recorder<Int>()
    let token = right.observe { _ in seen.record(left.value) }
    left.update { value in
      value = 2
      right.value = 7
    }
    #expect(seen.all == [1, 1])
    #expect(left.value == 2 && right.value == 7)
    token.cancel()
  }

  @Test("written once inside its own modification loses neither change")
  func writeInModify() {
    let count = Observable(0)
    let isFirst = Protected(true)
    count.update { value in
      if isFirst.withLock({ first in
        defer { first = false }
        return first
      }) {
        count.value = 10
      }
      value += 1
    }
    #expect(count.value == 11)
  }

  @Test("observed by what writes another that writes it comes to rest")
  func mutual() {
    let (celsius, fahrenheit) = (Observable(0), Observable(32))
    let tokens = [
      celsius.observe { fahrenheit.value = $0 * 9 / 5 + 32 }, fahrenheit.observe { celsius.value = ($0 - 32) * 5 / 9 },
    ]
    celsius.value = 100
    #expect(fahrenheit.value == 212)
    fahrenheit.value = 50
    #expect(celsius.value == 10)
    withExtendedLifetime(tokens) {}
  }

  @Test("composed outlives its source with the last value")
  func composedOutlives() {
    var source: Observable<Int>? = Observable(2)
    let double = source?.derived { $0 * 2 }
    #expect(double?.value == 4)
    source?.value = 3
    source = nil
    #expect(double?.value == 6)
  }

  @Test("composed is up to date before any observer of it, or of its source, is told", arguments: 1...4)
  func composedInTime(depth: Int) {
    let source = Observable(1)
    var end = source.derived { $0 + 1 }
    for _ in 1..<depth { end = end.derived { $0 + 1 } }
    let composed = end
    let seen = Recorder<Bool>()
    let tokens = [
      source.observe { seen.record(composed.value == $0 + depth) },
      composed.observe { seen.record($0 == source.value + depth) },
    ]
    source.value = 5
    source.value = 6
    #expect(seen.all.count == 6)
    #expect(seen.all.allSatisfy { $0 })
    withExtendedLifetime(tokens) {}
  }

  @Test("combined from none, or from many truth values", arguments: [[], [true], [true, false], [false, false]])
  func combined(bits: [Bool]) {
    let sources: [any ValueSource<Bool>] = bits.map { Observable($0) }
    #expect(Derived(of: sources) { !$0.contains(false) }.value == bits.allSatisfy { $0 })
    #expect(Derived(of: sources) { $0.contains(true) }.value == bits.contains(true))
  }

  @Test("keeps its owner alive throughout the callback in which the last reference to it goes")
  func ownerInCallback() {
    final class Screen: Sendable {
      let seen = Recorder<Int>()
    }
    let count = Observable(0)
    let held = Protected<Screen?>(Screen())
    let seen = held.withLock { $0?.seen }
    if let screen = held.withLock({ $0 }) {
      count.observe(on: screen) { screen, value in
        if value == 1 { held.withLock { $0 = nil } }
        screen.seen.record(value)
      }
    }
    count.value = 1
    count.value = 2
    #expect(seen?.all == [0, 1])
  }

  @Test("lends members that see each other's writes, and the whole")
  func projections() {
    let person = Observable(Person())
    let (first, full) = (person.binding.first, person.binding.full)
    full.value = "Eva Ott"
    #expect(first.value == "Eva")
    first.value = "Max"
    #expect(full.value == "Max Ott")
    #expect(person.value.last == "Ott")
  }

  @Test("tells of a computed member once when all that it is made of changes in one write")
  func computedMember() {
    let person = Observable(Person())
    let seen = Recorder<String>()
    let token = person.binding.full.observe { seen.record($0) }
    person.update {
      $0.first = "Eva"
      $0.last = "Ott"
    }
    person.update { $0.tags = [] }
    #expect(seen.all == ["Ada Li", "Eva Ott"])
    token.cancel()
  }

  @Test("tells two observers of different keys of their own key only")
  func keys() {
    let person = Observable(Person())
    let (firsts, lasts) = (Recorder<String>(), Recorder<String>())
    let tokens = [
      person.binding.first.observe { firsts.record($0) }, person.binding.last.observe { lasts.record($0) },
    ]
    person.value.first = "Eva"
    person.value.last = "Ott"
    #expect(firsts.all == ["Ada", "Eva"])
    #expect(lasts.all == ["Li", "Ott"])
    withExtendedLifetime(tokens) {}
  }

  @Test("tells the observer of a path once for each replacement of its head and its tail")
  func headAndTail() {
    let person = Observable(Person())
    let seen = Recorder<String?>()
    let token = person.binding.address.street.observe { seen.record($0) }
    person.value.address = Address(street: "Mill Lane", number: 1)
    person.value.address?.number = 2
    person.value.address?.street = "High Street"
    person.value.address = Address(street: "High Street", number: 3)
    person.value.address = nil
    #expect(seen.all == [nil, "Mill Lane", "High Street", nil])
    token.cancel()
  }

  @Test("lends an element by its place inside a key path, and shows the last once it is gone")
  func element() {
    let person = Observable(Person())
    let tag = person.binding.tags[1]
    tag?.value = "z"
    #expect(person.value.tags == ["a", "z"])
    person.value.tags = []
    #expect(tag?.value == "z")
    tag?.value = "y"
    #expect(person.value.tags == [])
  }

  @Test("bears that an observer is removed that was never added, and that a value goes while it is observed")
  func removedNeverAdded() {
    var person: Observable<Person>? = Observable(Person())
    let stranger = Owner()
    person?.remove(observer: stranger)
    let token = person?.observe { _ in }
    person = nil
    token?.cancel()
    #expect(token?.isCancelled == true)
  }

  @Test("is observed and let go of by many threads while others write it")
  func churn() {
    let count = Observable(0)
    let last = Recorder<Int>()
    let standing = count.observe { last.record($0) }
    onThreads(6) { thread in
      for _ in 0..<300 {
        if thread.isMultiple(of: 2) { count.update { $0 += 1 } } else { count.observe { _ in }.cancel() }
      }
    }
    #expect(last.all == Array(0...900))
    standing.cancel()
  }

  private final class Account: Equatable, Sendable {
    let balance = Protected(0)
    static func == (left: Account, right: Account) -> Bool { left === right }
  }

  @Test("of a class that is equal by identity tells nobody when the object changes inside, as before and after are one")
  func equalByIdentity() {
    let account = Observable(Account())
    let always = Observable(account.value, filter: .everyWrite)
    let (seen, all) = (Recorder<Int>(), Recorder<Int>())
    let tokens = [
      account.observe { seen.record($0.balance.withLock { $0 }) },
      always.observe { all.record($0.balance.withLock { $0 }) },
    ]
    account.update { $0.balance.withLock { $0 = 5 } }
    always.update { $0.balance.withLock { $0 = 7 } }
    #expect(seen.all == [0])
    #expect(all.all == [0, 7])
    withExtendedLifetime(tokens) {}
  }

  @Test("changes through 300 members and mappings, both ways")
  func deepBinding() throws {
    let person = Observable(Person())
    var binding = person.binding.first
    for _ in 0..<150 { binding = binding.map(Conversion(forward: { $0 + "!" }, back: { String($0.dropLast()) })) }
    try binding.set("Eva" + String(repeating: "!", count: 150))
    #expect(person.value.first == "Eva")
  }
}
