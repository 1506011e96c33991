import ArgumentParser
import BindingControls
import BindingModel
import BindingPeer
import Screens

/// The view model of article 0, in one process.
struct Names: Equatable {
  var first = "First"
  var second = "Second"
  var third = "Third"
}

/// The names, shared between processes.
struct SharedNames: Model {
  @Field var first = "First"
  @Field var second = "Second"
  @Field var third = "Third"
}

/// Three text fields, each bound by another mechanism.
@MainActor
final class NamesScreen: Screen {
  let first, second, third: Binding<String>
  let (firstField, secondField, thirdField) = (TextField(), TextField(), TextField())

  init(first: Binding<String>, second: Binding<String>, third: Binding<String>) {
    (self.first, self.second, self.third) = (first, second, third)

    // By hand: an observer shows the value, an action of the field writes it.
    first.observeOnMain(on: firstField) { field, text in field.text = text }
    firstField.addAction(for: .editingChanged) { [unowned firstField] in first.value = firstField.text ?? "" }

    // A control with one value: two-way in one line.
    secondField.bind(to: second)

    // Any property of any object, by key path: two-way as well, because the object is a control.
    third.bind(\.self, to: thirdField, \.text)
  }

  var lines: [String] {
    [
      row("First", firstField.drawing, first.value), row("Second", secondField.drawing, second.value),
      row("Third", thirdField.drawing, third.value),
    ]
  }

  var texts: [String?] { [firstField.text, secondField.text, thirdField.text] }

  static let steps: [Step<NamesScreen>] = [
    .person("types into the first field") {
      $0.firstField.type("!")
    } shows: {
      $0.first.value == "First!"
    },
    .person("deletes two letters of the second") {
      $0.secondField.delete(2)
    } shows: {
      $0.second.value == "Seco"
    },
    .person("types into the middle of the third") {
      $0.thirdField.moveCursor(to: 2)
      $0.thirdField.type("-")
    } shows: {
      $0.third.value == "Th-ird" && $0.texts == ["First!", "Seco", "Th-ird"]
    },
    .model("changes all three, in the background") { screen in
      let (first, second, third) = (screen.first, screen.second, screen.third)
      Task.detached {
        first.value = "First Changed"
        second.value = "Second Changed"
        third.value = "Third Changed"
      }
    } shows: {
      $0.texts == ["First Changed", "Second Changed", "Third Changed"]
    },
  ]
}

@main
struct ThreeFields: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "three-fields", abstract: "The first screen of article 0: three text fields, bound in three ways.")

  @OptionGroup var stage: Stage

  @MainActor
  func run() async throws {
    @State var names = Names()
    try await stage.play(NamesScreen.steps) {
      NamesScreen(first: $names.first, second: $names.second, third: $names.third)
    } shared: { peer, models in
      let names = try await peer.share(SharedNames.self, id: models + "names")
      return NamesScreen(first: names.$first.binding, second: names.$second.binding, third: names.$third.binding)
    }
  }
}
