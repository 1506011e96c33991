import BindingModel
import Testing

private struct Address: Equatable, Sendable {
  var street = "Main"
  var number = 1
}

private struct Person: Equatable, Sendable {
  var name = "Ann"
  var address = Address()
}

/// Shows a whole number as text. The mapping does not round-trip: `"007"` comes back as `"7"`.
private struct Text: Mapping {
  func forward(_ source: Int) -> String { String(source) }

  func back(_ target: String) throws(BindingError) -> Int {
    guard let number = Int(target) else { throw BindingError(.unmappable, "\"\(target)\" is not a whole number") }
    return number
  }
}

/// Rounds down to tens on the way to the control.
private struct Tens: Mapping {
  func forward(_ source: Int) -> Int { source / 10 * 10 }
  func back(_ target: Int) throws(BindingError) -> Int { target }
}

@Suite("bindings")
struct BindingTests {
  @Test("a binding reads and writes its observable, and both sides see each other's changes immediately")
  func readAndWrite() {
    let level = Observable(1)
    let binding = level.binding
    let other = level.binding
    binding.value = 2
    #expect(level.value == 2)
    #expect(other.value == 2)
    level.value = 3
    #expect(binding.value == 3)
    #expect(
      (try? binding.update {
        $0 += 1
        return $0
      }) == 4)
  }

  @Test("writing a nested member through its binding leaves the other members unchanged")
  func members() {
    let person = Observable(Person())
    let street = person.binding.address.street
    person.value.name = "Bob"
    street.value = "High"
    #expect(person.value == Person(name: "Bob", address: Address(street: "High", number: 1)))
    #expect(street.value == "High")
  }

  @Test("an observer of a member is notified of that member's changes only")
  func memberObservers() {
    let person = Observable(Person())
    let names = Recorder<String>()
    let numbers = Recorder<Int>()
    let tokens = [
      person.binding.name.observe { names.record($0) },
      person.binding.address.number.observe { numbers.record($0) },
    ]
    person.binding.name.value = "Bob"
    person.binding.address.number.value = 2
    person.binding.address.street.value = "High"
    person.value = Person()
    #expect(names.all == ["Ann", "Bob", "Ann"])
    #expect(numbers.all == [1, 2, 1])
    withExtendedLifetime(tokens) {}
  }

  @Test("an observer that skips its own writes of a member is notified when another writer restores the old value")
  func memberEcho() {
    let person = Observable(Person())
    let me = Writer()
    let names = Recorder<String>()
    let token = person.binding.name.observe(from: .others(than: me)) { names.record($0) }
    try? person.binding.name.set("Bob", by: me)
    person.binding.name.value = "Ann"
    #expect(names.all == ["Ann", "Ann"])
    withExtendedLifetime(token) {}
  }

  @Test("an equal write to a member is no change, even where the whole value is not comparable")
  func equalMemberWrite() {
    struct Whole: Sendable { var part = 1 }
    let whole = Observable(Whole())
    let seen = Recorder<Int>()
    let token = whole.observe { seen.record($0.part) }
    whole.binding.part.value = 1
    whole.binding.part.value = 2
    #expect(seen.all == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("behaviours 4, 8: a binding whose owner died shows the last value, refuses writes and notifies nobody")
  func ownerDies() {
    var level: Observable<Int>? = Observable(1)
    weak let gone = level
    guard let binding = level?.binding else { return }
    let seen = Recorder<Int>()
    let token = binding.observe { seen.record($0) }
    level?.value = 2
    level = nil
    #expect(gone == nil)
    #expect(throws: BindingError.self) { try binding.set(3) }
    binding.value = 4
    #expect(binding.value == 2)
    let late = binding.observe { seen.record($0) }
    #expect(seen.all == [1, 2])
    withExtendedLifetime((token, late)) {}
  }

  @Test("removing an owner through one binding ends its observations through all bindings of that observable")
  func removeOwner() {
    let person = Observable(Person())
    let owner = Owner()
    let seen = Recorder<String>()
    person.binding.name.observe(on: owner) { seen.record($0) }
    person.binding.address.number.map(Text()).observe(on: owner) { seen.record($0) }
    person.binding.address.street.remove(observer: owner)
    person.value = Person(name: "Bob", address: Address(street: "High", number: 2))
    #expect(seen.all == ["Ann", "1"])
    withExtendedLifetime(owner) {}
  }

  @Test("a mapped binding shows the value in another form and writes it back")
  func mapping() throws {
    let number = Observable(1)
    let text = number.binding.map(Text())
    let seen = Recorder<String>()
    let token = text.observe { seen.record($0) }
    try text.set("12")
    #expect(number.value == 12)
    try text.update { $0 += "3" }
    #expect(number.value == 123)
    #expect(seen.all == ["1", "12", "123"])
    withExtendedLifetime(token) {}
  }

  @Test("a write that the mapping rejects changes nothing and throws the reason")
  func unmappable() {
    let number = Observable(1)
    let text = number.binding.map(Text())
    #expect(throws: BindingError(.unmappable, "\"abc\" is not a whole number")) { try text.set("abc") }
    #expect(throws: BindingError(.unmappable, "\"1x\" is not a whole number")) { try text.update { $0 += "x" } }
    text.value = "abc"
    #expect(number.value == 1)
    #expect(text.value == "1")
  }

  @Test("an observer of a mapped value is notified only when the mapped form changes")
  func mappedRepeats() {
    let number = Observable(11)
    let seen = Recorder<Int>()
    let token = number.binding.map(Tens()).observe { seen.record($0) }
    number.value = 12
    number.value = 25
    #expect(seen.all == [10, 20])
    withExtendedLifetime(token) {}
  }

  @Test("a custom location can be bound, observed and linked like any other")
  func ownLocation() throws {
    let shown = Observable(5)
    let sent = Recorder<Int>()
    let field = Binding(LimitedField(shown: shown.binding.location, sent: sent))
    let plain = Observable(0)
    let link = plain.binding.bind(to: field)
    #expect(plain.value == 5)
    plain.value = 7
    #expect(sent.all == [7])
    #expect(throws: BindingError.self) { try field.set(11) }
    try field.update { $0 += 1 }
    #expect(plain.value == 8)
    #expect(sent.all == [7, 8])
    link.cancel()
  }
}

/// Stands for a network layer: checks writes, sends them on, and keeps the shown value in an inner observable.
private struct LimitedField: BindingLocation {
  let shown: any BindingLocation<Int>
  let sent: Recorder<Int>

  func read() -> Int { shown.read() }

  func write(_ value: Int, by writer: Writer) throws(BindingError) {
    guard value <= 10 else { throw BindingError(.refused, "\(value) is above 10") }
    sent.record(value)
    try shown.write(value, by: writer)
  }

  func modify(by writer: Writer, _ body: (inout Int) -> Bool) throws(BindingError) {
    var value = read()
    if body(&value) { try write(value, by: writer) }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Int, Writer) -> Void) -> ObserverToken {
    shown.observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { shown.remove(observer: owner) }
}
