import BindingClassic
import BindingControls
import Dispatch
import Testing

/// The weaknesses that article 0 admits, and those it left: all of them are fixed here.
@Suite("article 0: weaknesses")
@MainActor
struct Article0WeaknessTests {
  @Test("S0.W1 S0.W3 S0.W4: a new control needs two lines and no delegate")
  func noDelegate() {
    final class Rating: Control, Bindable {
      var stars = 0
      func observingValue() -> Int? { stars }
      func updateValue(with value: Int) { stars = value }
    }
    let stars = Observable(3)
    let rating = Rating()
    rating.bind(with: stars)
    rating.stars = 5
    rating.sendActions(for: .valueChanged)
    #expect(stars.value == 5)
  }

  @Test("S0.W2 S0.W14: an edit is not assigned back to its field, and two bound models settle")
  func noEcho() {
    let text = Observable("")
    let field = Article0Tests.TestTF()
    field.bind(with: text)
    var assigned = 0
    field.closure = { _ in assigned += 1 }
    field.type("a")
    #expect(assigned == 0)
    let copy = Observable("")
    text.bind { _, value in copy.value = value }
    copy.bind { _, value in text.value = value }
    var notified = 0
    text.bind { _, _ in notified += 1 }
    text.value = "b"
    #expect(notified == 1)
    #expect(copy.value == "b")
  }

  @Test("S0.W5 S0.W8: each field has its own binder")
  func ownBinders() {
    let (one, other) = (Observable("1"), Observable("2"))
    let (first, second) = (TextField(), TextField())
    first.bind(with: one)
    second.bind(with: other)
    first.type("!")
    #expect(one.value == "1!")
    #expect(other.value == "2")
  }

  @Test("S0.W6 S0.W9: two controls on one value are both read back")
  func everyControlIsRead() {
    let text = MakeBindable("")
    let (first, second) = (TextField(), TextField())
    text.bind(\String.self, to: first, \.text)
    text.bind(\String.self, to: second, \.text)
    first.type("a")
    second.type("b")
    #expect(text.currentValue() == "ab")
    #expect(first.text == "ab")
  }

  @Test("S0.W10: a mapped control is written back, and text that cannot be mapped back stays as typed")
  func mappedControlsGoBack() {
    let count = MakeBindable(3)
    let field = TextField()
    count.bind(
      \Int.self, to: field, \.text, mapper: Mappers.transformIntToStringFunction,
      reverse: Mappers.transformStringToIntFunction)
    field.enter("42")
    #expect(count.currentValue() == 42)
    field.enter("many")
    #expect(count.currentValue() == 42)
    #expect(field.text == "many")
  }

  @Test("S0.W11: a bound object is not kept alive")
  func noLeak() {
    let text = MakeBindable("a")
    weak var field: TextField?
    do {
      let bound = TextField()
      field = bound
      text.bind(\String.self, to: bound, \.text)
      text.bind(\String.self, to: bound, \.placeholder)
    }
    #expect(field == nil)
  }

  @Test("S0.W12: the completion of a released owner is not called")
  func deadOwners() {
    let text = Observable("a")
    var test: Article0Tests.TestClass? = .init()
    var calls = 0
    text.observe(on: test!, completion: { _ in calls += 1 })
    test = nil
    text.value = "b"
    #expect(calls == 1)
  }

  @Test("S0.W13: bindings can be ended by token, by owner and by control")
  func everythingEnds() {
    let text = MakeBindable("a")
    let (one, two, three) = (TextField(), TextField(), TextField())
    let token = text.bind(\String.self, to: one, \.text)
    text.bind(\String.self, to: two, \.text)
    text.bind(\String.self, to: three, \.text)
    token.cancel()
    two.unbind()
    text.unbind(from: three)
    text.update(with: "b")
    for field in [one, two, three] { field.type("!") }
    #expect([one, two, three].map(\.text) == ["a!", "a!", "a!"])
    #expect(text.currentValue() == "b")
  }

  @Test("S0.W15: an observer of the binding is notified when a value is unset")
  func unsetIsSeen() {
    let text = Observable("a")
    var seen: [String?] = []
    let token = text.observeOnMain { seen.append($0) }
    text.value = nil
    #expect(seen == ["a", nil])
    token.cancel()
  }

  @Test("S0.8 S0.W16 S0.W18: values arrive in order on the main actor, coalesced while it is busy")
  func ordered() async {
    let number = Observable(0)
    let test = Article0Tests.TestClass()
    var seen: [Int] = []
    number.observe(
      on: test,
      completion: {
        #expect(Lane.main.isCurrent)
        seen.append($0)
      })
    number.value = 1
    #expect(seen == [0, 1])
    await Task.detached {
      for value in 2...500 { number.value = value }
    }.value
    while seen.last != 500 { await Task.yield() }
    #expect(seen == seen.sorted())
    #expect(seen.count <= 501)
  }

  @Test("S0.W16: writes made while the main actor is busy arrive as one, the newest")
  func coalescedWrites() async {
    let number = Observable(0)
    let test = Article0Tests.TestClass()
    var seen: [Int] = []
    number.observe(on: test, completion: { seen.append($0) })
    // The main actor waits here, so no notification can reach it meanwhile.
    DispatchQueue(label: "bindbus.test.writer").sync {
      for value in 1...100 { number.value = value }
    }
    while seen.last != 100 { await Task.yield() }
    #expect(seen == [0, 100])
  }

  @Test("S0.W17: deleting, inserting and pasting reach the model unchanged")
  func everyEdit() {
    let text = Observable("hello")
    let field = TextField()
    field.bind(with: text)
    field.moveCursor(to: 2)
    field.delete()
    #expect(text.value == "hllo")
    field.type("EY")
    #expect(text.value == "hEYllo")
    field.enter("pasted")
    #expect(text.value == "pasted")
  }
}
