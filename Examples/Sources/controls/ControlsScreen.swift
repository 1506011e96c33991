import BindingControls
import BindingModel
import BindingPeer
import Screens

/// The settings as the screen borrows them, from this process or from a hub.
struct LentSettings {
  let text: Binding<String>
  let level: Binding<Float>
  let choice, sent: Binding<Int>
  let isReady, isOn: Binding<Bool>

  init(_ settings: Binding<Settings>) {
    (text, level, choice, sent) = (settings.text, settings.level, settings.choice, settings.sent)
    (isReady, isOn) = (settings.isReady, settings.isOn)
  }

  init(_ settings: SharedSettings) {
    (text, level) = (settings.$text.binding, settings.$level.binding)
    (choice, sent) = (settings.$choice.binding, settings.$sent.binding)
    (isReady, isOn) = (settings.$isReady.binding, settings.$isOn.binding)
  }

  init(_ settings: SecondSettings) {
    (text, level) = (settings.$text.binding, settings.$brightness.binding)
    (choice, sent) = (settings.$choice.binding, settings.$sent.binding)
    (isReady, isOn) = (settings.$isReady.binding, settings.$isOn.binding)
  }
}

@MainActor
final class ControlsScreen: Screen {
  let settings: LentSettings
  let (field, fieldLabel) = (TextField(), Label())
  let (slider, sliderLabel) = (Slider(), Label())
  let (segments, segmentsLabel) = (SegmentedControl(segments: ["One", "Two", "Three"]), Label())
  let (toggle, toggleLabel) = (Switch(), Label())
  let (send, sendLabel) = (Button(), Label())
  let (logButton, log) = (Button(), Label())

  init(_ settings: LentSettings) {
    self.settings = settings
    field.bind(to: settings.text)
    fieldLabel.bind(to: settings.text)
    slider.bind(to: settings.level)
    sliderLabel.bind(to: settings.level, map: NumberText())
    segments.bind(to: settings.choice)
    segmentsLabel.bind(to: settings.choice, map: NumberText())
    toggle.bind(to: settings.isOn)
    toggleLabel.bind(to: settings.isOn, map: BooleanText("true", "false"))
    send.title = "Send"
    settings.isReady.bind(\.self, to: send, \.isEnabled)
    send.addAction(for: .touchUpInside) { try? settings.sent.update { $0 += 1 } }
    settings.sent.show(\.self, in: sendLabel, \.text) { "sent \($0)" }
    logButton.title = "Log view model values"
    logButton.addAction(for: .touchUpInside) { [unowned self] in
      log.text = """
        text \(settings.text.value), level \(settings.level.value), choice \(settings.choice.value)
        ready \(settings.isReady.value), on \(settings.isOn.value), sent \(settings.sent.value)
        """
    }
  }

  var lines: [String] {
    [
      row("Text", field.drawing, fieldLabel.drawing), row("Slider", slider.drawing, sliderLabel.drawing),
      row("Segments", segments.drawing, segmentsLabel.drawing), row("Switch", toggle.drawing, toggleLabel.drawing),
      row("Button", send.drawing, sendLabel.drawing), row("Log", logButton.drawing),
    ] + (log.text.map { [$0] } ?? [])
  }
}
