import BindingControls
import BindingModel
import Testing

@Suite("key path bindings")
@MainActor
struct KeyPathBindingTests {
  struct Person: Equatable {
    var name = "Ada"
    var age = 36
    var isActive = true
  }

  let person = Observable(Person())

  @Test("a key path binding carries a member to a property of any object, and back from a control")
  func partsOfAModel() {
    let field = TextField()
    let badge = Badge()
    person.bind(\.name, to: field, \.text)
    person.bind(\.name, to: badge, \.title)
    field.type("!")
    #expect(person.value.name == "Ada!")
    #expect(badge.title == "Ada!")
    #expect(person.value.age == 36)
  }

  /// Any class: neither a control nor `Bindable`.
  final class Badge {
    var title = ""
    var isHidden = false
  }

  @Test("a key path binding maps in both directions")
  func mappings() {
    let field = TextField()
    var problem: BindingError?
    person.bind(\.age, to: field, \.text, map: NumberText()) { problem = $0 }
    #expect(field.text == "36")
    field.enter("x")
    #expect(problem?.reason == .unmappable)
    field.enter("37")
    #expect(person.value.age == 37)
    #expect(problem == nil)
  }

  @Test("key path bindings enable a button, show a label and hide a view")
  func derivedProperties() {
    let (button, label, badge) = (Button(), Label(), Badge())
    person.bind(\.isActive, to: button, \.isEnabled)
    person.show(\.age, in: label, \.text) { "\($0) years" }
    person.bind(\.isActive, to: badge, \.isHidden, map: Opposite())
    #expect(label.text == "36 years")
    person.update { $0 = Person(name: "Eve", age: 1, isActive: false) }
    #expect(!button.isEnabled)
    #expect(label.text == "1 years")
    #expect(badge.isHidden)
  }

  @Test("a key path binding replaces that of the same property and leaves other properties bound")
  func propertiesAreTheirOwn() {
    let other = Observable(Person(name: "Bob"))
    let badge = Badge()
    person.bind(\.name, to: badge, \.title)
    person.bind(\.isActive, to: badge, \.isHidden)
    other.bind(\.name, to: badge, \.title)
    person.update { $0 = Person(name: "stale", isActive: false) }
    #expect(badge.title == "Bob")
    #expect(!badge.isHidden)
  }

  @Test("a key path binding keeps neither object nor model alive")
  func nothingIsKeptAlive() {
    weak var badge: Badge?
    weak var model: Observable<Person>?
    do {
      let (object, value) = (Badge(), Observable(Person()))
      (badge, model) = (object, value)
      value.bind(\.name, to: object, \.title)
      value.show(\.age, in: object, \.title) { "\($0)" }
    }
    #expect(badge == nil)
    #expect(model == nil)
  }

  @Test("a key path binding to a released object writes nothing more")
  func objectsThatAreGone() {
    var shown = 0
    final class Probe {
      let seen: () -> Void
      init(_ seen: @escaping () -> Void) { self.seen = seen }
      var age = 0 { didSet { seen() } }
    }
    var probe: Probe? = Probe { shown += 1 }
    person.bind(\.age, to: probe!, \.age)
    probe = nil
    person.update { $0.age = 50 }
    #expect(shown == 1)
  }
}
