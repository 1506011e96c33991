import BindingControls
import BindingModel
import Testing

/// Behaviour 18: programmatic changes emit nothing, a person's edit emits once, nil text is "".
@Suite("headless controls")
@MainActor
struct HeadlessTests {
  /// Records the events that controls send.
  @MainActor
  final class Log {
    var events: [Control.Event] = []

    func listen(to control: Control) {
      for event in [
        Control.Event.editingDidBegin, .editingChanged, .editingDidEnd, .valueChanged, .touchUpInside,
      ] {
        control.addAction(for: event) { [weak self] in self?.events.append(event) }
      }
    }
  }

  let log = Log()

  @Test("programmatic changes of controls emit no events")
  func programmaticChangesAreSilent() {
    let field = TextField()
    let toggle = Switch()
    let slider = Slider()
    let stepper = Stepper()
    let segments = SegmentedControl(segments: ["a", "b"])
    for control in [field, toggle, slider, stepper, segments] { log.listen(to: control) }
    field.text = "x"
    toggle.isOn = true
    slider.value = 0.5
    stepper.value = 3
    segments.selectedSegmentIndex = 1
    #expect(log.events.isEmpty)
  }

  @Test("an edit by a person emits one event")
  func editsEmitOnce() {
    let field = TextField()
    let toggle = Switch()
    let slider = Slider()
    let stepper = Stepper()
    let segments = SegmentedControl(segments: ["a", "b"])
    for control in [field, toggle, slider, stepper, segments] { log.listen(to: control) }
    field.type("x")
    toggle.flip()
    slider.drag(to: 0.5)
    stepper.increment()
    segments.choose(1)
    #expect(log.events == [.editingChanged, .valueChanged, .valueChanged, .valueChanged, .valueChanged])
  }

  @Test("a disabled control ignores a person's edits")
  func disabledControlsIgnorePeople() {
    let field = TextField()
    let toggle = Switch()
    let button = Button()
    for control in [field, toggle, button] {
      log.listen(to: control)
      control.isEnabled = false
    }
    field.type("x")
    toggle.flip()
    button.press()
    #expect(log.events.isEmpty)
    #expect(field.text == "")
    #expect(!toggle.isOn)
    #expect(!field.becomeFirstResponder())
  }

  @Test("a field whose text is set to nil shows the empty text")
  func nilTextIsEmpty() {
    let field = TextField()
    field.text = "x"
    field.text = nil
    #expect(field.text == "")
    #expect(field.observingValue() == "")
  }

  @Test("typing and deleting happen at the cursor")
  func typingAtTheCursor() {
    let field = TextField()
    field.text = "ac"
    field.moveCursor(to: 1)
    field.type("b")
    #expect(field.text == "abc")
    #expect(field.cursor == 2)
    field.delete(5)
    #expect(field.text == "c")
    #expect(field.cursor == 0)
  }

  @Test("a composition changes the text and emits an event only when it is complete")
  func compositionIsOneEdit() {
    let field = TextField()
    log.listen(to: field)
    field.compose("n")
    field.compose("ni")
    #expect(field.text == "")
    #expect(field.editing == .composing)
    field.compose("你")
    field.commitComposition()
    #expect(field.text == "你")
    #expect(log.events == [.editingDidBegin, .editingChanged])
  }

  @Test("a control with a range stays within it and ignores NaN")
  func rangesHold() {
    let slider = Slider(10...20)
    slider.value = 99
    #expect(slider.value == 20)
    slider.value = .nan
    #expect(slider.value == 20)
    let stepper = Stepper(0...2)
    log.listen(to: stepper)
    for _ in 0..<5 { stepper.increment() }
    #expect(stepper.value == 2)
    #expect(log.events.count == 2)
  }

  @Test("a segmented control accepts only existing segments")
  func segmentsOutsideAreNone() {
    let segments = SegmentedControl(segments: ["a", "b"])
    log.listen(to: segments)
    segments.selectedSegmentIndex = 7
    #expect(segments.selectedSegmentIndex == SegmentedControl.noSegment)
    segments.choose(7)
    segments.choose(0)
    segments.choose(0)
    #expect(log.events == [.valueChanged])
  }

  @Test("an action whose token was cancelled is not called")
  func actionsEnd() {
    let button = Button()
    var presses = 0
    let token = button.addAction(for: .touchUpInside) { presses += 1 }
    button.press()
    token.cancel()
    button.press()
    #expect(presses == 1)
  }
}
