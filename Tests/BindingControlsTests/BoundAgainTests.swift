import BindingControls
import BindingModel
import Testing

/// A control that a person is at while it is bound, bound again, or given another model to show.
@Suite("a control that is bound while a person is at it")
@MainActor
struct BoundAgainTests {
  @Test("shows the value it is bound to, and leaving it writes nothing")
  func firstBinding() {
    let name = Observable("Ada")
    let field = TextField()
    field.text = "junk"
    field.becomeFirstResponder()
    field.bind(to: name)
    #expect(field.text == "Ada")
    field.resignFirstResponder()
    #expect(name.value == "Ada")
  }

  @Test("again shows the new model, and what was typed before stays with the former one")
  func bindingAgain() {
    let (first, second) = (Observable("A"), Observable("B"))
    let field = TextField()
    field.bind(to: first)
    field.becomeFirstResponder()
    field.type("!")
    field.bind(to: second)
    #expect(field.text == "B")
    field.resignFirstResponder()
    #expect(first.value == "A!")
    #expect(second.value == "B")
  }

  @Test("again gives the new model the next character and nothing of the former text")
  func typingAfterBindingAgain() {
    let (first, second) = (Observable("A"), Observable("B"))
    let field = TextField()
    field.bind(to: first)
    field.becomeFirstResponder()
    field.bind(to: second)
    field.type("!")
    #expect(first.value == "A")
    #expect(second.value == "B!")
  }

  @Test("to a value that is missing keeps what it shows, which is no edit")
  func missingValue() {
    let (first, second) = (Observable<String?>("A"), Observable<String?>(nil))
    let field = TextField()
    field.bind(to: first)
    field.becomeFirstResponder()
    field.bind(to: second)
    field.resignFirstResponder()
    #expect(second.value == nil)
  }

  @Test("and held shows the other value, and letting go writes nothing")
  func heldSlider() {
    let (first, second) = (Observable<Float>(0), Observable<Float>(0.8))
    let slider = Slider()
    slider.bind(to: first)
    slider.grab()
    slider.drag(to: 0.2)
    slider.bind(to: second)
    #expect(slider.value == 0.8)
    slider.letGo()
    #expect(first.value == 0.2)
    #expect(second.value == 0.8)
  }

  @Test("to what is chosen shows the next choice, and typing edits that one alone")
  func anotherIsChosen() {
    let (first, second) = (Observable("A"), Observable("B"))
    let chosen = Observable(first.binding)
    let field = TextField()
    field.bind(to: chosen.flattened())
    field.becomeFirstResponder()
    field.type("1")
    chosen.value = second.binding
    #expect(field.text == "B")
    field.type("2")
    #expect(first.value == "A1")
    #expect(second.value == "B2")
  }

  @Test("to a member of what is chosen shows that of the next choice")
  func memberOfAnother() {
    struct Person: Equatable { var name = "" }
    let (first, second) = (Observable(Person(name: "A")), Observable(Person(name: "B")))
    let chosen = Observable(first.binding)
    let field = TextField()
    field.bind(to: chosen.flattened().name)
    field.becomeFirstResponder()
    chosen.value = second.binding
    field.type("!")
    #expect(first.value.name == "A")
    #expect(second.value.name == "B!")
  }

  @Test("to another model by an observer of its own edit shows that one, and writes to it alone")
  func boundAgainDuringItsWrite() {
    let (first, second) = (Observable("a"), Observable("b"))
    let field = TextField()
    field.bind(to: first)
    let token = first.observeOnMain { [weak field] value in
      if value == "a!" { field?.bind(to: second) }
    }
    field.type("!")
    #expect(field.text == "b")
    field.type("?")
    #expect(first.value == "a!")
    #expect(second.value == "b?")
    token.cancel()
  }

  @Test("to another model has no problem that the former one had, and none after it is unbound")
  func problemsEnd() {
    let (first, second) = (Observable(1), Observable(2))
    let field = TextField()
    var problem: BindingError?
    field.bind(to: first, map: NumberText()) { problem = $0 }
    field.enter("x")
    #expect(problem != nil)
    field.bind(to: second, map: NumberText()) { problem = $0 }
    #expect(problem == nil)
    field.enter("y")
    #expect(problem != nil)
    field.unbind()
    #expect(problem == nil)
  }
}

@Suite("a number that is typed")
@MainActor
struct TypedNumberTests {
  @Test("raises no problem by its spelling, on the way and at its end", arguments: ["5", "1.", "1.50", "007", " 7 "])
  func spelling(text: String) {
    let level = Observable(0.25)
    let field = TextField()
    var problems: [BindingError] = []
    field.bind(to: level, map: NumberText<Double>()) { if let problem = $0 { problems.append(problem) } }
    field.becomeFirstResponder()
    field.enter(text)
    field.resignFirstResponder()
    #expect(problems.isEmpty)
    #expect(field.text == level.value.description)
  }

  @Test("and corrected is well again once the field is left and shows what the model has")
  func correctionEnds() {
    let level = Observable(0.0)
    let field = TextField()
    var problem: BindingError?
    field.bind(to: level, map: AtMostTen().then(NumberText())) { problem = $0 }
    field.becomeFirstResponder()
    field.enter("12")
    #expect(problem?.reason == .corrected)
    field.resignFirstResponder()
    #expect(field.text == "10.0")
    #expect(problem == nil)
  }

  /// Takes nothing above 10.
  private struct AtMostTen: Mapping {
    func forward(_ source: Double) -> Double { source }
    func back(_ target: Double) -> Double { min(target, 10) }
  }
}
