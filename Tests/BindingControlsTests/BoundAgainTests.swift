import BindingControls
import BindingModel
import Testing

/// A control that is bound, rebound, or given another model to show while a person edits it.
@Suite("controls bound while a person edits them")
@MainActor
struct BoundAgainTests {
  @Test("a focused field shows the value that it is bound to, and leaving it writes nothing")
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

  @Test("a rebound field shows the new model, and earlier typing stays in the former one")
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

  @Test("a rebound field writes the next character to the new model and none of the former text")
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

  @Test("a field rebound to a missing value keeps its text, which is no edit")
  func missingValue() {
    let (first, second) = (Observable<String?>("A"), Observable<String?>(nil))
    let field = TextField()
    field.bind(to: first)
    field.becomeFirstResponder()
    field.bind(to: second)
    field.resignFirstResponder()
    #expect(second.value == nil)
  }

  @Test("a held slider that is rebound shows the new value, and releasing it writes nothing")
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

  @Test("a field bound to a selection shows the next choice, and typing edits that one alone")
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

  @Test("a field bound to a member of a selection shows that of the next choice")
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

  @Test("a field rebound by an observer of its own edit shows the new model and writes to it alone")
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

  @Test("rebinding a field clears its problem, and so does unbinding")
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

@Suite("typed numbers")
@MainActor
struct TypedNumberTests {
  @Test("the spelling of a typed number raises no problem", arguments: ["5", "1.", "1.50", "007", " 7 "])
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

  @Test("a corrected number has no problem once the field is left and shows the model's value")
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

  /// Limits values to 10.
  private struct AtMostTen: Mapping {
    func forward(_ source: Double) -> Double { source }
    func back(_ target: Double) -> Double { min(target, 10) }
  }
}
