import BindingControls
import BindingModel
import Testing

/// Expectations of users of other libraries' control bindings for a whole form.
@Suite("forms of bound controls")
@MainActor
struct FormTests {
  private struct Person: Equatable, Sendable {
    var first = "Ada"
    var last = "Li"
    var nick: String?
    var age = 36
    var colour = Colour.red
    var isMember = true
  }

  private enum Colour: Int, CaseIterable, Sendable { case red, green, blue }

  private struct ColourIndex: Mapping {
    func forward(_ source: Colour) -> Int { source.rawValue }
    func back(_ target: Int) throws(BindingError) -> Colour {
      guard let colour = Colour(rawValue: target) else { throw BindingError(.refused, "there is no such colour") }
      return colour
    }
  }

  private let person = Observable(Person())

  @Test("resetting the model updates all fields of the form")
  func reset() {
    let fields = (0..<10).map { _ in TextField() }
    for (number, field) in fields.enumerated() {
      field.bind(to: number.isMultiple(of: 2) ? person.binding.first : person.binding.last)
    }
    fields[0].enter("Eva")
    fields[1].enter("Ott")
    #expect(person.value.first == "Eva" && person.value.last == "Ott")
    person.value = Person()
    #expect(fields.map(\.text) == (0..<10).map { $0.isMultiple(of: 2) ? "Ada" : "Li" })
  }

  @Test("a segmented control chooses an enumeration case and shows one that others choose", arguments: 0..<3)
  func picker(index: Int) {
    let segments = SegmentedControl(segments: ["red", "green", "blue"])
    segments.bind(to: person.binding.colour, map: ColourIndex())
    #expect(segments.selectedSegmentIndex == 0)
    segments.choose(index)
    #expect(person.value.colour.rawValue == index)
    person.value.colour = .blue
    #expect(segments.selectedSegmentIndex == 2)
  }

  @Test("an edit inside a turn reaches the other controls when the turn ends")
  func turn() {
    let (field, copy, label) = (TextField(), TextField(), Label())
    field.bind(to: person.binding.first)
    copy.bind(to: person.binding.first)
    person.show(\.first, in: label, \.text) { "Hello, \($0)" }
    Turn.run {
      field.enter("Eva")
      #expect(person.value.first == "Eva")
      #expect(copy.text == "Ada")
    }
    #expect(copy.text == "Eva")
    #expect(label.text == "Hello, Eva")
  }

  @Test("a field whose observer upper-cases the value ends in upper case while a person types")
  func upperCase() {
    let field = TextField()
    let token = person.binding.first.observe { [person] in person.value.first = $0.uppercased() }
    field.bind(to: person.binding.first)
    for letter in ["x", "y", "z"] { field.type(letter) }
    #expect(person.value.first == "ADAXYZ")
    #expect(field.text == "ADAXYZ")
    token.cancel()
  }

  @Test("a trimming field keeps the blank between two words while it has the focus")
  func trimmed() {
    let field = TextField()
    person.value.first = ""
    field.bind(to: person.binding.first, map: Trimmed())
    _ = field.becomeFirstResponder()
    for letter in "a b " { field.type(String(letter)) }
    #expect(person.value.first == "a b")
    _ = field.resignFirstResponder()
    #expect(field.text == "a b")
  }

  @Test("a field unbound while it reports a problem is independent from then on")
  func unboundInProblem() {
    let field = TextField()
    var problems = 0
    field.bind(to: person.binding.age, map: NumberText()) { [weak field] problem in
      guard problem != nil else { return }
      problems += 1
      field?.unbind()
    }
    field.enter("x")
    field.enter("y")
    field.enter("40")
    #expect(problems == 1)
    #expect(person.value.age == 36)
    #expect(field.text == "40")
  }

  @Test("a field shows the placeholder for nil, and writes nil for the placeholder")
  func placeholder() {
    let field = TextField()
    field.bind(to: person.binding.nick, map: Placeholder("none"))
    #expect(field.text == "none")
    field.enter("addy")
    #expect(person.value.nick == "addy")
    field.enter("none")
    #expect(person.value.nick == nil)
  }

  @Test("a button is enabled by two conditions together", arguments: [false, true], [0, 18])
  func twoConditions(isMember: Bool, age: Int) {
    let button = Button()
    let may = Derived(person.binding.isMember, person.binding.age) { $0 && $1 >= 18 }
    may.show(in: button, \.isEnabled)
    person.value.isMember = isMember
    person.value.age = age
    #expect(button.isEnabled == (isMember && age >= 18))
  }

  @Test("a label keeps showing a derived value that nothing else holds")
  func shownDerived() {
    let label = Label()
    person.derived { "\($0.first) \($0.last)" }.show(in: label, \.text)
    person.value.first = "Eva"
    #expect(label.text == "Eva Li")
  }

  @Test("showing a model in two forms does not write it")
  func twoForms() {
    let writes = Recorder<Int>()
    let token = person.binding.age.observe { writes.record($0) }
    let (field, slider) = (TextField(), Slider())
    field.bind(to: person.binding.age, map: NumberText())
    slider.bind(
      to: person.binding.age,
      map: Conversion(forward: { Float($0) / 100 }, back: { Int(($0 * 100).rounded()) }))
    #expect(writes.all == [36])
    slider.drag(to: 0.5)
    #expect(person.value.age == 50)
    #expect(field.text == "50")
    token.cancel()
  }
}

/// Records what observers received, from any thread.
private final class Recorder<Element: Sendable>: Sendable {
  private let elements = Protected<[Element]>([])

  var all: [Element] { elements.withLock { $0 } }

  func record(_ element: Element) { elements.withLock { $0.append(element) } }
}
