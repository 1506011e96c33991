import BindingModel
import Testing

@Suite("read-only views")
struct ReadOnlyTests {
  struct Person: Equatable, Sendable {
    let id = 7
    var name = "Ada"
    var age = 36
    var isAdult: Bool { age >= 18 }
  }

  private let person = Observable(Person())
  private let seen = Recorder<String>()

  @Test("a read-only view shows the value and each change, and refuses writes")
  func view() {
    let view = person.readOnly
    let token = view.name.observe { [seen] in seen.record($0) }
    person.value.name = "Eve"
    person.value.age = 37
    #expect(seen.all == ["Ada", "Eve"])
    #expect(view.value.age == 37)
    #expect(throws: BindingError(.refused, "this binding is read-only")) {
      try view.location.write(Person(), by: .unnamed)
    }
    #expect(throws: BindingError.self) {
      try view.name.location.modify(by: .unnamed) {
        $0 = "x"
        return true
      }
    }
    #expect(person.value.name == "Eve")
    withExtendedLifetime(token) {}
  }

  @Test("a binding to a computed member notifies only when that member changes")
  func computedMember() {
    let token = person.binding.isAdult.observe { [seen] in seen.record("\($0)") }
    person.value.age = 40
    person.value.age = 12
    #expect(seen.all == ["true", "false"])
    #expect(person.binding.id.value == 7)
    withExtendedLifetime(token) {}
  }

  @Test("a read-only view can be derived from and read as a sequence")
  func source() async {
    let upper = person.readOnly.name.derived { $0.uppercased() }
    person.value.name = "Eve"
    #expect(upper.value == "EVE")
    var values = person.readOnly.age.values.makeAsyncIterator()
    #expect(await values.next() == 36)
  }

  @Test("a read-only view keeps no owner alive and shows the last value")
  func owner() {
    var count: Observable<Int>? = Observable(3)
    weak let watched = count
    let view = count?.readOnly
    count = nil
    #expect(watched == nil)
    #expect(view?.value == 3)
  }

  @Test("a value known only as a source can be read and observed")
  func anySource() {
    let sources: [any ValueSource<Int>] = [Observable(1), Observable(2).binding, Observable(3).derived { $0 }]
    let owner = Owner()
    var tokens: Set<ObserverToken> = []
    for source in sources {
      source.observe { [seen] in seen.record("\($0)") }.store(in: &tokens)
      source.observe(on: owner) { [seen] in seen.record("on \($0)") }
    }
    #expect(sources.map { $0.value } == [1, 2, 3])
    #expect(seen.all == ["1", "on 1", "3", "on 3"])
  }
}

@Suite("assigning a value to another")
struct AssigningTests {
  @Test("an assigned value is written to its target now and at each change, one way")
  func oneWay() {
    let (celsius, fahrenheit) = (Observable(20.0), Observable(0.0))
    let token = celsius.derived { $0 * 9 / 5 + 32 }.assign(to: fahrenheit)
    #expect(fahrenheit.value == 68)
    celsius.value = 100
    #expect(fahrenheit.value == 212)
    fahrenheit.value = 1
    #expect(celsius.value == 100)
    token.cancel()
    celsius.value = 0
    #expect(fahrenheit.value == 1)
  }

  @Test("an assignment passes on the writer and reports what its target refuses")
  func problems() {
    let (text, age) = (Observable("1"), Observable(0))
    let seen = Recorder<String>()
    let me = Writer()
    let others = age.observe(from: .others(than: me)) { seen.record("\($0)") }
    let token = text.assign(to: age.binding.map(NumberText())) { seen.record($0.message) }
    text.set("2", by: me)
    text.value = "x"
    text.value = "3"
    #expect(seen.all == ["0", "1", "\"x\" is not a valid Int", "3"])
    withExtendedLifetime((token, others)) {}
  }

  @Test("a ring of assignments settles, and an assignment ends with the last value under many threads")
  func ring() {
    let (left, right) = (Observable(0), Observable(0))
    let tokens = [left.assign(to: right), right.assign(to: left)]
    left.value = 5
    #expect(right.value == 5)
    let (from, to) = (Observable(0), Observable(0))
    let token = from.assign(to: to)
    onThreads(8) { _ in for _ in 0..<1_000 { from.update { $0 += 1 } } }
    #expect(to.value == 8_000)
    withExtendedLifetime((tokens, token)) {}
  }
}

@Suite("elements selected by identity")
struct SelectedTests {
  struct Todo: Identifiable, Equatable, Sendable {
    let id: Int
    var title: String
  }

  private let todos = Observable([Todo(id: 1, title: "one"), Todo(id: 2, title: "two")])
  private let selection = Observable<Int?>(nil)
  private let seen = Recorder<String>()

  @Test("a selected element is nil while there is none, and follows selection and list")
  func follows() {
    let token = todos.binding[id: selection].title.observe { [seen] in seen.record($0 ?? "nil") }
    selection.value = 2
    todos.value[1].title = "TWO"
    todos.value[0].title = "ONE"
    todos.value.swapAt(0, 1)
    selection.value = 1
    todos.value.removeAll { $0.id == 1 }
    selection.value = nil
    #expect(seen.all == ["nil", "two", "TWO", "ONE", "nil"])
    withExtendedLifetime(token) {}
  }

  @Test("a selected element is written in its list, and a refused write says why")
  func writes() throws {
    let title = todos.binding[id: selection].title
    #expect(throws: BindingError.self) { try title.set("x") }
    selection.value = 2
    try title.set("zwei")
    #expect(todos.value.map(\.title) == ["one", "zwei"])
    #expect(throws: BindingError(.refused, "the element 2 is in the list: remove it there")) {
      try todos.binding[id: selection].set(nil)
    }
    selection.value = 9
    #expect(throws: BindingError(.refused, "there is no element 9 to write to")) {
      try todos.binding[id: selection].set(Todo(id: 9, title: ""))
    }
  }

  @Test("a selected element ends with the right value while many threads write list and selection")
  func threads() {
    selection.value = 1
    let last = Protected("")
    let token = todos.binding[id: selection].title.observe { title in last.withLock { $0 = title ?? "nil" } }
    onThreads(8) { [todos, selection] thread in
      for step in 0..<300 {
        if thread % 2 == 0 {
          selection.value = step % 3
        } else {
          todos.update { $0[step % 2].title = "\(thread) \(step)" }
        }
      }
    }
    let title = todos.binding[id: selection].value?.title ?? "nil"
    #expect(last.withLock { $0 } == title)
    withExtendedLifetime(token) {}
  }

  @Test("each element of a list has a binding that follows it")
  func elements() throws {
    let elements = todos.binding.elements
    todos.value.swapAt(0, 1)
    try elements[0].title.set("eins")
    #expect(todos.value.map(\.title) == ["two", "eins"])
  }

  @Test("a binding presented as optional refuses nil")
  func optional() throws {
    let name = Observable("Ada")
    let lent = name.binding.optional()
    try lent.set("Eve")
    #expect(name.value == "Eve" && lent.value == "Eve")
    #expect(throws: BindingError.self) { try lent.set(nil) }
    #expect(name.value == "Eve")
  }
}
