import BindingControls
import BindingModel
import Testing

@Suite("a change history and controls")
@MainActor
struct ControlHistoryTests {
  private let name = Observable("desk")
  private let history = ChangeHistory(merging: .zero)

  init() { history.track(name) }

  @Test("what a person types from focus to focus is one step; the control follows its undo")
  func session() {
    let field = TextField()
    field.bind(to: name)
    field.becomeFirstResponder()
    for character in ["1", "2", "3"] { field.type(character) }
    field.resignFirstResponder()
    #expect(name.value == "desk123")
    field.becomeFirstResponder()
    field.type("4")
    field.resignFirstResponder()
    history.undo()
    #expect(name.value == "desk123" && field.text == "desk123")
    history.undo()
    #expect(name.value == "desk" && field.text == "desk")
    #expect(!history.canUndo)
    history.redo()
    #expect(field.text == "desk123")
  }

  @Test("an assignment by the program during an edit is a step of its own")
  func interrupted() {
    let field = TextField()
    field.bind(to: name)
    field.becomeFirstResponder()
    field.type("1")
    name.value = "lamp"
    #expect(history.undo())
    #expect(name.value == "desk1")
    history.undo()
    #expect(name.value == "desk")
  }
}
