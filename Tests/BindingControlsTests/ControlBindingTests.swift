import BindingControls
import BindingModel
import Dispatch
import Testing

/// A field that records every assignment of its text (S0.39).
final class ReportingField: TextField {
  var assigned: [String] = []

  override var text: String? {
    didSet { assigned.append(text ?? "") }
  }
}

@Suite("bound controls")
@MainActor
struct ControlBindingTests {
  @Test("a bound control shows the present value and each later one, and writes edits back once")
  func bothWays() {
    let name = Observable("Ada")
    let field = ReportingField()
    field.bind(to: name)
    name.value = "Grace"
    #expect(field.assigned == ["Ada", "Grace"])
    var written: [String] = []
    let token = name.observeOnMain { written.append($0) }
    field.type("!")
    #expect(name.value == "Grace!")
    #expect(written == ["Grace", "Grace!"])
    #expect(field.assigned == ["Ada", "Grace"], "the control was written its own edit")
    token.cancel()
  }

  @Test("controls of every kind can be bound")
  func everyKind() {
    let isOn = Observable(true)
    let level = Observable<Float>(0.25)
    let years = Observable(3.0)
    let choice = Observable(1)
    let notes = Observable("a\nb")
    let (toggle, slider, stepper) = (Switch(), Slider(), Stepper())
    let (segments, view) = (SegmentedControl(segments: ["a", "b", "c"]), TextView())
    toggle.bind(to: isOn)
    slider.bind(to: level)
    stepper.bind(to: years)
    segments.bind(to: choice)
    view.bind(to: notes)
    #expect(toggle.isOn)
    #expect(slider.value == 0.25)
    #expect(stepper.value == 3)
    #expect(segments.selectedSegmentIndex == 1)
    #expect(view.text == "a\nb")
    toggle.flip()
    slider.drag(to: 0.75)
    stepper.increment()
    segments.choose(2)
    view.type("c")
    #expect(!isOn.value)
    #expect(level.value == 0.75)
    #expect(years.value == 4)
    #expect(choice.value == 2)
    #expect(notes.value == "a\nbc")
  }

  @Test("controls bound to one value follow each other's edits")
  func severalControlsOnOneValue() {
    let name = Observable("a")
    let (first, second, label) = (TextField(), TextField(), Label())
    first.bind(to: name)
    second.bind(to: name)
    label.bind(to: name)
    first.type("b")
    second.type("c")
    #expect([first.text, second.text, label.text] == ["abc", "abc", "abc"])
  }

  @Test("rebinding replaces a control's binding, so a row can be reused")
  func rebindingReplaces() {
    let (old, new) = (Observable("old"), Observable("new"))
    let field = TextField()
    field.bind(to: old)
    field.bind(to: new)
    old.value = "stale"
    #expect(field.text == "new")
    field.type("!")
    #expect(new.value == "new!")
    #expect(old.value == "stale")
  }

  @Test("an unbound control is independent, and so is one whose token was cancelled")
  func unbinding() {
    let name = Observable("a")
    let field = TextField()
    field.bind(to: name)
    field.unbind()
    field.unbind()
    name.value = "b"
    field.type("!")
    #expect(field.text == "a!")
    #expect(name.value == "b")
    let token = field.bind(to: name)
    token.cancel()
    name.value = "c"
    #expect(field.text == "b")
  }

  @Test("a bound field keeps its cursor when the same or another text is written")
  func cursorsStay() {
    let name = Observable("hello")
    let field = ReportingField()
    field.bind(to: name)
    field.moveCursor(to: 2)
    name.value = "hello"
    name.value = "hello, world"
    #expect(field.cursor == 2)
    #expect(field.assigned == ["hello", "hello, world"])
  }

  @Test("a focused field is not overwritten until the person leaves it")
  func focusedControlsAreLeftAlone() {
    let name = Observable("a")
    let field = TextField()
    field.bind(to: name)
    field.becomeFirstResponder()
    name.value = "b"
    #expect(field.text == "a")
    field.resignFirstResponder()
    #expect(field.text == "b")
  }

  @Test("an edit in a focused field overrides what others wrote meanwhile")
  func editsInFocusStand() {
    let name = Observable("a")
    let field = TextField()
    field.bind(to: name)
    field.becomeFirstResponder()
    name.value = "other"
    field.enter("mine")
    field.resignFirstResponder()
    #expect(name.value == "mine")
    #expect(field.text == "mine")
  }

  @Test("a field in composition writes nothing until the character is complete")
  func compositionIsLeftAlone() {
    let name = Observable("")
    let field = TextField()
    field.bind(to: name)
    field.compose("ni")
    name.value = "x"
    #expect(field.composition == "ni")
    field.compose("你")
    #expect(name.value == "x")
    field.commitComposition()
    #expect(name.value == "你")
  }

  @Test("a slider held by a person is not moved")
  func heldSlidersStay() {
    let level = Observable<Float>(0)
    let slider = Slider()
    slider.bind(to: level)
    slider.grab()
    slider.drag(to: 0.5)
    level.value = 0.9
    #expect(slider.value == 0.5)
    slider.letGo()
    #expect(slider.value == 0.9)
  }

  @Test("a field keeps text that the model rejects and reports why until it accepts")
  func refusedTextStays() {
    let age = Observable(30)
    let field = TextField()
    var problems: [String?] = []
    field.bind(to: age, map: NumberText()) { problems.append($0?.message) }
    field.enter("3x")
    #expect(field.text == "3x")
    #expect(age.value == 30)
    field.enter("31")
    #expect(age.value == 31)
    #expect(problems == ["\"3x\" is not a valid Int", nil])
  }

  @Test("a control shows the model's correction of an edit and reports it once")
  func correctedEditsAreShown() {
    let salary = Observable<Float>(0)
    let slider = Slider(0...100_000)
    var problems: [BindingError?] = []
    slider.bind(to: salary, map: Stepped(by: 1_000)) { problems.append($0) }
    slider.drag(to: 12_345)
    #expect(salary.value == 12_000)
    #expect(slider.value == 12_000)
    #expect(problems.map { $0?.reason } == [.corrected])
  }

  @Test("binding a control never changes the model, even where it cannot show the value")
  func bindingWritesNothing() {
    let level = Observable<Float>(7)
    let slider = Slider(0...1)
    slider.bind(to: level)
    #expect(slider.value == 1)
    #expect(level.value == 7)
  }

  @Test("a control keeps its content when bound to nil and is cleared when a value becomes nil")
  func missingValues() {
    let name = Observable<String?>(nil)
    let field = TextField()
    field.text = "draft"
    field.bind(to: name)
    #expect(field.text == "draft")
    field.type("!")
    #expect(name.value == "draft!")
    name.value = nil
    #expect(field.text == "")
    field.type("new")
    #expect(name.value == "new")
  }

  @Test("a binding ends with its control and keeps neither side alive")
  func nothingIsKeptAlive() {
    weak var name: Observable<String>?
    weak var field: TextField?
    do {
      let (model, control) = (Observable("a"), TextField())
      (name, field) = (model, control)
      control.bind(to: model)
    }
    #expect(name == nil)
    #expect(field == nil)
  }

  @Test("a control shows what other threads write and ends with the last value")
  func writesFromOtherThreads() async {
    let count = Observable(0)
    let label = CountLabel()
    label.bind(to: count)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<250 { count.update { $0 += 1 } } }
      }
    }
    while label.number != 1_000 { await Task.yield() }
    #expect(count.value == 1_000)
  }

  /// Shows a number, and expects to be written on the main actor only.
  final class CountLabel: Bindable {
    var number = 0

    func observingValue() -> Int? { number }

    func updateValue(with value: Int) {
      #expect(Lane.main.isCurrent)
      number = value
    }
  }

  @Test("a control whose model is gone shows the last value and reports that edits are lost")
  func modelsThatAreGone() {
    var name: Observable<String>? = Observable("a")
    let field = TextField()
    var problems: [BindingError.Reason?] = []
    field.bind(to: name!.binding) { problems.append($0?.reason) }
    name = nil
    field.type("!")
    #expect(field.text == "a!")
    #expect(problems == [.ended])
  }

  @Test("a control without events is written back by valueChanged()")
  func controlsWithoutEvents() {
    final class Dial: Bindable {
      var angle = 0
      func observingValue() -> Int? { angle }
      func updateValue(with value: Int) { angle = value }
    }
    let dial = Dial()
    let angle = Observable(10)
    dial.bind(to: angle)
    dial.angle = 20
    dial.valueChanged()
    #expect(angle.value == 20)
  }
}
