import BindingControls
import BindingModel
import Testing

@Suite("controls that commit when they are left")
@MainActor
struct CommitTests {
  private let level = Observable(20)

  private func field(_ commit: CommitTrigger, _ onProblem: ProblemReport? = nil) -> TextField {
    let field = TextField()
    field.bind(to: level, map: NumberText(), commit: commit, onProblem: onProblem)
    field.becomeFirstResponder()
    return field
  }

  @Test("a field that commits on leave writes nothing during the edit and the whole when it is left")
  func onLeave() {
    let seen = Seen()
    level.observe(on: seen, initial: false) { seen, _, new in seen.values.withLock { $0.append(new) } }
    let field = field(.onLeave)
    field.enter("")
    for character in ["1", "5", "0"] { field.type(character) }
    #expect(level.value == 20)
    #expect(field.hasUncommittedEdit)
    field.resignFirstResponder()
    #expect(seen.values.withLock { $0 } == [150])
    #expect(!field.hasUncommittedEdit)
  }

  private final class Seen: Sendable {
    let values = Protected<[Int]>([])
  }

  @Test("Return commits the edit and keeps the focus")
  func pressReturn() {
    let field = field(.onLeave)
    field.enter("150")
    field.pressReturn()
    #expect(level.value == 150)
    #expect(field.isFirstResponder)
    field.enter("7")
    field.resignFirstResponder()
    #expect(level.value == 7)
  }

  @Test("Escape restores the model's value, and leaving the field then writes nothing")
  func pressEscape() {
    let field = field(.onLeave)
    field.enter("150")
    level.value = 21
    #expect(field.text == "150")
    field.pressEscape()
    #expect(field.text == "21")
    field.resignFirstResponder()
    #expect(level.value == 21)
  }

  @Test("a rejected edit is reported on leaving and kept; Escape clears edit and problem")
  func refused() {
    var problem: BindingError?
    let field = field(.onLeave) { problem = $0 }
    field.enter("x")
    #expect(problem == nil)
    field.resignFirstResponder()
    #expect(problem?.message == "\"x\" is not a valid Int")
    #expect(field.text == "x" && field.hasUncommittedEdit)
    field.pressEscape()
    #expect(problem == nil)
    #expect(field.text == "20" && !field.hasUncommittedEdit)
  }

  @Test(
    "a field left without an edit shows others' writes and makes none", arguments: [CommitTrigger.onLeave, .onDemand])
  func noEdit(commit: CommitTrigger) {
    let field = field(commit)
    level.value = 5
    #expect(field.text == "20")
    field.resignFirstResponder()
    #expect(field.text == "5" && level.value == 5)
  }

  @Test("a field that commits on demand writes only then and keeps its edit over others' writes")
  func onDemand() {
    let field = field(.onDemand)
    field.enter("150")
    field.resignFirstResponder()
    #expect(level.value == 20)
    level.value = 5
    #expect(field.text == "150")
    field.commitEdit()
    #expect(level.value == 150)
    level.value = 6
    #expect(field.text == "6")
  }

  @Test("rebinding a field with an uncommitted edit writes it to neither model")
  func boundAgain() {
    let other = Observable(1)
    let field = field(.onLeave)
    field.enter("150")
    field.bind(to: other, map: NumberText(), commit: .onLeave)
    field.resignFirstResponder()
    #expect(level.value == 20 && other.value == 1)
    #expect(field.text == "1")
  }

  @Test("a change of the selection shows the next choice and writes an uncommitted edit to neither")
  func anotherChoice() {
    let other = Observable(1)
    let chosen = Observable(level.binding)
    let field = TextField()
    field.bind(to: chosen.flattened(), map: NumberText(), commit: .onLeave)
    field.becomeFirstResponder()
    field.enter("150")
    chosen.value = other.binding
    #expect(field.text == "1")
    field.resignFirstResponder()
    #expect(level.value == 20 && other.value == 1)
  }

  @Test("a slider that commits on leave writes when it is released")
  func slider() {
    let level = Observable(0.2)
    let slider = Slider()
    slider.bind(to: level, map: Precision(), commit: .onLeave)
    slider.grab()
    slider.drag(to: 0.5)
    slider.drag(to: 0.75)
    #expect(level.value == 0.2)
    slider.letGo()
    #expect(level.value == 0.75)
  }

  @Test("a key path binding can commit on leave")
  func keyPath() {
    struct Person: Equatable, Sendable { var name = "Ada" }
    let person = Observable(Person())
    let field = TextField()
    person.bind(\.name, to: field, \.text, commit: .onLeave)
    field.becomeFirstResponder()
    field.enter("Eve")
    #expect(person.value.name == "Ada")
    field.pressReturn()
    #expect(person.value.name == "Eve")
  }

  @Test("Escape in a field that writes each edit takes back only what was refused")
  func eachEdit() {
    let field = field(.eachEdit)
    field.enter("15")
    field.enter("x")
    field.pressEscape()
    #expect(field.text == "15" && level.value == 15)
  }

  @Test("Escape ends a composition before anything else")
  func composition() {
    let field = field(.onLeave)
    field.enter("7")
    field.compose("ni")
    field.pressEscape()
    #expect(field.composition.isEmpty && field.text == "7")
  }

  @Test("a form writes a valid draft immediately and shows the problem of an invalid one")
  func validated() {
    let name = Observable("Ada")
    let form = Validated(name) { $0.isEmpty ? "missing" : nil }
    let (field, hint, button) = (TextField(), Label(), Button())
    field.bind(to: form)
    form.problems.show(in: hint)
    form.validity.show(in: button, \.isEnabled)
    field.enter("")
    #expect(hint.text == "missing" && !button.isEnabled && name.value == "Ada")
    field.enter("Eve")
    #expect(hint.text == nil && button.isEnabled && name.value == "Eve")
  }

  @Test("a field shows the selected element, and the next one when the selection changes")
  func selected() {
    struct Todo: Identifiable, Equatable, Sendable {
      let id: Int
      var title: String
    }
    let todos = Observable([Todo(id: 1, title: "one"), Todo(id: 2, title: "two")])
    let selection = Observable<Int?>(1)
    let field = TextField()
    field.bind(to: todos.binding[id: selection].title)
    field.becomeFirstResponder()
    field.type("!")
    selection.value = 2
    #expect(field.text == "two")
    field.type("?")
    #expect(todos.value.map(\.title) == ["one!", "two?"])
    selection.value = nil
    #expect(field.text == "")
    field.type("x")
    #expect(todos.value.map(\.title) == ["one!", "two?"])
  }

  @Test("a label shows read-only and derived values and is cleared by nil")
  func label() {
    let name = Observable<String?>("Ada")
    let label = Label()
    label.bind(to: name.readOnly)
    #expect(label.text == "Ada")
    name.value = nil
    #expect(label.text == nil)
    label.bind(to: name.derived { "\($0 ?? "none")" })
    #expect(label.text == "none")
  }
}
