import BindingModel
import Testing

/// Expectations of users of properties, shared state and key-value observing.
@Suite("values used as properties")
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

  @Test("update returns its body's result and notifies once")
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

  @Test("values swapped by many threads give each former value to exactly one of them")
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

  @Test("an observer that reads its value gets the value that it is notified of")
  func readInObserver() {
    let count = Observable(0)
    let seen = Recorder<Bool>()
    let token = count.observe { seen.record($0 == count.value) }
    count.value = 1
    #expect(seen.all == [true, true])
    token.cancel()
  }

  @Test("a value read inside its own update shows the value before it")
  func readInModify() {
    let count = Observable(1)
    let inside = count.update { value -> Int in
      value = 2
      return count.value
    }
    #expect(inside == 1)
    #expect(count.value == 2)
  }

  @Test("an update can write another value, whose observer still reads the first as it was")
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

  @Test("a write inside the value's own update loses neither change")
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

  @Test("two values that write each other through observers settle")
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

  @Test("a derived value outlives its source with the last value")
  func composedOutlives() {
    var source: Observable<Int>? = Observable(2)
    let double = source?.derived { $0 * 2 }
    #expect(double?.value == 4)
    source?.value = 3
    source = nil
    #expect(double?.value == 6)
  }

  @Test("a derived value is up to date before any observer of it or of its source is notified", arguments: 1...4)
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

  @Test("derived truth values combine none or many sources", arguments: [[], [true], [true, false], [false, false]])
  func combined(bits: [Bool]) {
    let sources: [any ValueSource<Bool>] = bits.map { Observable($0) }
    #expect(Derived(of: sources) { !$0.contains(false) }.value == bits.allSatisfy { $0 })
    #expect(Derived(of: sources) { $0.contains(true) }.value == bits.contains(true))
  }

  @Test("an owner lives to the end of the callback in which its last reference goes")
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

  @Test("bindings to members see each other's writes and those of the whole")
  func projections() {
    let person = Observable(Person())
    let (first, full) = (person.binding.first, person.binding.full)
    full.value = "Eva Ott"
    #expect(first.value == "Eva")
    first.value = "Max"
    #expect(full.value == "Max Ott")
    #expect(person.value.last == "Ott")
  }

  @Test("a computed member notifies once when one write changes all that it is made of")
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

  @Test("observers of two members are notified of their own member only")
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

  @Test("an observer of a path is notified once for each change of its head and of its tail")
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

  @Test("a binding to an element by index in a key path shows the last value once the element is gone")
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

  @Test("removing an unknown observer and releasing an observed value are harmless")
  func removedNeverAdded() {
    var person: Observable<Person>? = Observable(Person())
    let stranger = Owner()
    person?.remove(observer: stranger)
    let token = person?.observe { _ in }
    person = nil
    token?.cancel()
    #expect(token?.isCancelled == true)
  }

  @Test("many threads can observe and cancel while others write")
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

  @Test("a class equal by identity does not notify when the object changes inside, unless every write notifies")
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

  @Test("a binding through 150 mappings writes back to its member")
  func deepBinding() throws {
    let person = Observable(Person())
    var binding = person.binding.first
    for _ in 0..<150 { binding = binding.map(Conversion(forward: { $0 + "!" }, back: { String($0.dropLast()) })) }
    try binding.set("Eva" + String(repeating: "!", count: 150))
    #expect(person.value.first == "Eva")
  }
}
