import BindingModel
import Testing

@Suite("bindings to parts")
struct PartsTests {
  struct Address: Equatable, Sendable {
    var street = "Main St"
    var number = 1
  }

  struct Place: Equatable, Sendable {
    var latitude = 0.0
    var label: String?
  }

  struct Home: Equatable, Sendable {
    var place: Place?
  }

  struct Person: Equatable, Sendable {
    var home: Home?
  }

  struct Item: Identifiable, Equatable, Sendable {
    let id: Int
    var name: String
  }

  @Test("a binding with a fallback shows it for nil, and a write fills the optional")
  func fallbacks() {
    let name = Observable<String?>(nil)
    let text = name.binding.or("--")
    #expect(text.value == "--")
    text.value = "Ada"
    #expect(name.value == "Ada")
    name.value = nil
    #expect(text.value == "--")
  }

  @Test("unwrapping nil gives no binding; one whose optional becomes nil shows the last value and refuses writes")
  func unwrapped() throws {
    let name = Observable<String?>(nil)
    #expect(name.binding.unwrapped()?.value == nil)
    name.value = "Ada"
    let text = try #require(name.binding.unwrapped())
    text.value = "Eve"
    #expect(name.value == "Eve")
    name.value = nil
    #expect(text.value == "Eve")
    let error = #expect(throws: BindingError.self) { try text.set("Bob") }
    #expect(error?.reason == .refused)
    #expect(error?.message == "there is no value to write to")
    #expect(name.value == nil)
  }

  @Test("a binding through an optional reads nil and refuses writes while the optional is nil")
  func throughOptionals() throws {
    struct Person: Sendable { var address: Address? }
    let person = Observable(Person(address: nil))
    let street = person.binding.address.street
    #expect(street.value == nil)
    #expect(throws: BindingError.self) { try street.set("Side St") }
    person.value.address = Address()
    #expect(street.value == "Main St")
    try street.set("Side St")
    #expect(person.value.address == Address(street: "Side St"))
  }

  @Test("a binding by index follows that index, and there is none past the end")
  func byIndex() throws {
    let names = Observable(["a", "b"])
    #expect(names.binding[2]?.value == nil)
    let second = try #require(names.binding[1])
    let seen = Recorder<String>()
    let token = second.observe { seen.record($0) }
    names.value[0] = "x"
    second.value = "y"
    #expect(names.value == ["x", "y"])
    #expect(seen.all == ["b", "y"])
    names.value = []
    #expect(second.value == "y")
    #expect(throws: BindingError.self) { try second.set("z") }
    token.cancel()
  }

  @Test("a binding to an optional's member shows nil, notified once, when the optional becomes nil")
  func membersOfWhatGoes() {
    let address = Observable<Address?>(Address())
    let street = address.binding.street
    let seen = Recorder<String?>()
    let token = street.observe { seen.record($0) }
    address.value = nil
    #expect(street.value == nil)
    #expect(throws: BindingError.self) { try street.set("typed into nothing") }
    #expect(address.value == nil)
    address.value = Address(street: "Side St")
    #expect(seen.all == ["Main St", nil, "Side St"])
    token.cancel()
  }

  @Test("a binding through a chain of optionals is flat and follows each of them")
  func chainsOfOptionals() throws {
    let person = Observable(Person())
    let latitude = person.binding.home.place.latitude
    let label = person.binding.home.place.label
    #expect(latitude.value == nil)
    #expect(throws: BindingError.self) { try latitude.set(1) }
    person.value.home = Home(place: Place(latitude: 2, label: "shed"))
    #expect(latitude.value == 2)
    try latitude.set(3)
    try label.set(nil)
    #expect(person.value.home?.place == Place(latitude: 3, label: nil))
    let seen = Recorder<Double?>()
    let token = latitude.observe { seen.record($0) }
    person.value.home?.place = nil
    person.value.home = nil
    #expect(seen.all == [3, nil])
    token.cancel()
  }

  @Test("a binding by identity follows the element wherever it moves")
  func identities() throws {
    let items = Observable([Item(id: 1, name: "a"), Item(id: 2, name: "b")])
    let second = try #require(items.binding[id: 2])
    items.update { $0.reverse() }
    second.name.value = "renamed"
    #expect(items.value == [Item(id: 2, name: "renamed"), Item(id: 1, name: "a")])
    items.update { $0.removeAll { $0.id == 2 } }
    #expect(second.value.name == "renamed")
    second.name.value = "ghost"
    #expect(items.value == [Item(id: 1, name: "a")])
    #expect(items.binding[id: 9]?.value == nil)
  }

  @Test("a binding by key reads nil or a default, adds, changes and removes")
  func keys() {
    let stock = Observable(["apples": 3])
    let (apples, pears) = (stock.binding["apples"], stock.binding["pears", default: 0])
    #expect(pears.value == 0)
    pears.value = 2
    apples.value = nil
    #expect(stock.value == ["pears": 2])
    _ = try? pears.update { $0 += 1 }
    #expect(stock.value == ["pears": 3])
  }

  @Test("an observer of a binding by key is notified of that key's changes only")
  func ownChanges() {
    let stock = Observable(["a": 1, "b": 1])
    let seen = Recorder<Int>()
    let token = stock.binding["a", default: 0].observe { seen.record($0) }
    stock.value["b"] = 2
    stock.value["a"] = 2
    #expect(seen.all == [1, 2])
    token.cancel()
  }

  @Test("ten writers of different parts lose no increment")
  func concurrentParts() throws {
    let counts = Observable(Array(repeating: 0, count: 10))
    onThreads(10) { index in
      for _ in 0..<1_000 { _ = try? counts.binding[index]?.update { $0 += 1 } }
    }
    #expect(counts.value == Array(repeating: 1_000, count: 10))
  }
}
