import ArgumentParser
import BindingControls
import BindingModel
import BindingPeer
import Screens

/// The view model of article 0's second screen, in one process.
struct Settings: Equatable {
  var text = "Text"
  var level: Float = 0.3
  var choice = 0
  var isReady = false
  var isOn = true
  var sent = 0
}

/// The settings, shared between processes.
struct SharedSettings: Model {
  @Field var text = "Text"
  @Field(0...1) var level: Float = 0.3
  @Field var choice = 0
  @Field var isReady = false
  @Field var isOn = true
  @Field var sent = 0
}

/// The settings in the program's second release: `level` has another name and a title for forms. Both releases run at
/// the same time and write one field.
struct SecondSettings: Model {
  static let release = 2
  @Field var text = "Text"
  @Field(0...1, title: "Brightness", was: "level") var brightness: Float = 0.3
  @Field var choice = 0
  @Field var isReady = false
  @Field var isOn = true
  @Field var sent = 0
}

extension ControlsScreen {
  static let steps: [Step<ControlsScreen>] = [
    .person("presses Send, which is not enabled") { $0.send.press() },
    .person("types") {
      $0.field.type("!")
    } shows: {
      $0.fieldLabel.text == "Text!"
    },
    .person("drags the slider") {
      $0.slider.drag(to: 0.75)
    } shows: {
      $0.sliderLabel.text == "0.75"
    },
    .person("chooses a segment") {
      $0.segments.choose(1)
    } shows: {
      $0.segmentsLabel.text == "1"
    },
    .person("flips the switch") {
      $0.toggle.flip()
    } shows: {
      $0.toggleLabel.text == "false"
    },
    .model("enables Send") {
      $0.settings.isReady.value = true
    } shows: {
      $0.send.isEnabled
    },
    .person("presses Send") {
      $0.send.press()
    } shows: {
      $0.sendLabel.text == "sent 1"
    },
    .model("changes by itself") {
      $0.settings.text.value = "Changed"
      $0.settings.level.value = 0.1
      $0.settings.choice.value = 2
      $0.settings.isOn.value = true
    } shows: {
      $0.field.text == "Changed" && $0.slider.value == 0.1 && $0.segments.selectedSegmentIndex == 2 && $0.toggle.isOn
    },
    .person("presses Log view model values") { $0.logButton.press() },
  ]
}

@main
struct Controls: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "controls", abstract: "The second screen of article 0: one control of each kind, and what it holds.")

  @OptionGroup var stage: Stage

  @MainActor
  func run() async throws {
    @State var settings = Settings()
    try await stage.play(ControlsScreen.steps) {
      ControlsScreen(LentSettings($settings))
    } shared: { peer, models in
      // The second process is a later release of the program.
      stage.isSecondProcess
        ? ControlsScreen(LentSettings(try await peer.share(SecondSettings.self, id: models + "settings")))
        : ControlsScreen(LentSettings(try await peer.share(SharedSettings.self, id: models + "settings")))
    }
  }
}
