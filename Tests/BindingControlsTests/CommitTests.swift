import BindingControls
import BindingModel
import Testing

@Suite("a control that writes when it is left")
@MainActor
struct CommitTests {
  private let level = Observable(20)

  private func field(_ commit: CommitTrigger, _ onProblem: ProblemReport? = nil) -> TextField {
    let field = TextField()
    field.bind(to: level, map: NumberText(), commit: commit, onProblem: onProblem)
    field.becomeFirstResponder()
    return field
  }

  @Test("writes nothing half way, and the whole once it is left")
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

  @Test("writes at Return, and stays where it is")
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

  @Test("shows the model again at Escape, and writes nothing when it is left then")
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

  @Test("tells what the model does not take when it is left, and keeps it; Escape takes both back")
  func refused() {
    var problem: BindingError?
    let field = field(.onLeave) { problem = $0 }
    field.enter("x")
    #expect(problem == nil)
    field.resignFirstResponder()
    #expect(problem?.message == "\"x\" is no Int")
    #expect(field.text == "x" && field.hasUncommittedEdit)
    field.pressEscape()
    #expect(problem == nil)
    #expect(field.text == "20" && !field.hasUncommittedEdit)
  }

  @Test(
    "left without an edit shows what others wrote, and writes nothing", arguments: [CommitTrigger.onLeave, .onDemand])
  func noEdit(commit: CommitTrigger) {
    let field = field(commit)
    level.value = 5
    #expect(field.text == "20")
    field.resignFirstResponder()
    #expect(field.text == "5" && level.value == 5)
  }

  @Test("on demand writes only then, and keeps what was typed from what others write")
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

  @Test("bound to another model writes what was typed to neither")
  func boundAgain() {
    let other = Observable(1)
    let field = field(.onLeave)
    field.enter("150")
    field.bind(to: other, map: NumberText(), commit: .onLeave)
    field.resignFirstResponder()
    #expect(level.value == 20 && other.value == 1)
    #expect(field.text == "1")
  }

  @Test("whose choice changes shows the next one, and writes what was typed to neither")
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

  @Test("is a slider that writes when it is let go of")
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

  @Test("is bound by key path like any other")
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

  @Test("that writes each edit takes back at Escape what was refused, and no more")
  func eachEdit() {
    let field = field(.eachEdit)
    field.enter("15")
    field.enter("x")
    field.pressEscape()
    #expect(field.text == "15" && level.value == 15)
  }

  @Test("ends a composition at Escape before anything else")
  func composition() {
    let field = field(.onLeave)
    field.enter("7")
    field.compose("ni")
    field.pressEscape()
    #expect(field.composition.isEmpty && field.text == "7")
  }

  @Test("of a form writes the valid draft at once, and the hint shows what is wrong")
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

  @Test("shows a selected element, and the next one when another is selected")
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

  @Test("that nobody edits shows what takes no writes; clears what goes")
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
