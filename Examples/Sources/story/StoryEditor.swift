import ArgumentParser
import BindingControls
import BindingModel
import BindingPeer
import Screens

struct Story: Codable, Equatable {
  var text: String?

  var words: Int { text?.split(whereSeparator: \.isWhitespace).count ?? 0 }
  var characters: Int { text?.count ?? 0 }
}

/// A story shared between processes.
struct SharedStory: Model {
  @Field var story = Story()
}

/// The first screen: the story with its length in the title.
@MainActor
final class StoryScreen: Screen {
  @Binding var story: Story
  let menu: EditMenu
  let (title, text) = (Label(), Label())
  private(set) var editor: EditorScreen?
  /// The number of changes of the story; an observer's first call does not count.
  private var changes = -1

  init(story: Binding<Story>, menu: EditMenu) {
    _story = story
    self.menu = menu
    let count = story.derived { "Words: \($0.words), characters: \($0.characters)" }
    count.show(\.self, in: title, \.text) { $0 }
    story.show(\.text, in: text, \.text) { $0 }
    story.observeOnMain(on: self) { screen, _ in screen.changes += 1 }
  }

  /// Opens the second screen and lends it the story.
  func edit() { editor = EditorScreen(story: $story) }
  func done() { editor = nil }
  /// Whether nobody edits here: such a screen follows, and may skip what is taken back at once.
  private var isAtRest: Bool { editor == nil }

  var lines: [String] {
    [
      row("Title", title.drawing), row("Story", text.drawing), row("Changes", "\(changes)"),
      row("Editor", editor?.textView.drawing ?? "closed"),
      row("Edit", menu.undoItem.drawing, menu.redoItem.drawing, menu.note),
    ]
  }

  static let steps: [Step<StoryScreen>] = [
    .person("opens the editor") { $0.edit() },
    .person("types four letters") {
      $0.type("Once")
    } shows: {
      $0.title.text == "Words: 1, characters: 4"
    },
    .person("types some words") {
      $0.type(" upon a time")
    } shows: {
      $0.title.text == "Words: 4, characters: 16"
    },
    .model("goes on by itself, while the editor is open") {
      $0.story.text?.append(", far away")
    } shows: {
      $0.title.text == "Words: 6, characters: 26"
    },
    .person("deletes the last words") { $0.editor?.textView.delete(10) },
    .person("presses Undo") {
      $0.menu.undoItem.press()
    } shows: {
      $0.isAtRest || $0.text.text == "Once upon a time, far away" && $0.menu.redoItem.isEnabled
    },
    .person("presses Redo") {
      $0.menu.redoItem.press()
    } shows: {
      $0.isAtRest || $0.text.text == "Once upon a time" && !$0.menu.redoItem.isEnabled
    },
    .person("adds a full stop") {
      $0.type(".")
    } shows: {
      $0.title.text == "Words: 4, characters: 17"
    },
    .model("throws the story away") {
      $0.story.text = nil
    } shows: {
      $0.title.text == "Words: 0, characters: 0"
    },
    .person("begins again") {
      $0.type("Twice upon")
    } shows: {
      $0.title.text == "Words: 2, characters: 10"
    },
    .person("closes the editor: the first screen has the text") { $0.done() },
  ]

  /// Types letter by letter, as a person does.
  private func type(_ letters: String) {
    for letter in letters { editor?.textView.type(String(letter)) }
  }
}

/// The second screen, which borrows the story to edit its text. It shows a missing text as the empty one.
@MainActor
final class EditorScreen {
  let textView = TextView()

  init(story: Binding<Story>) { textView.bind(to: story.text, map: Placeholder("")) }
}

@main
struct StoryEditor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "story", abstract: "The story of article 3: one screen owns it, another borrows it to edit.")

  @OptionGroup var stage: Stage

  @MainActor
  func run() async throws {
    @State var story = Story()
    // The person and the model write one value in quick succession: each change is a step of its own.
    let history = ChangeHistory(merging: .zero)
    history.track(_story)
    try await stage.play(StoryScreen.steps) {
      StoryScreen(story: $story, menu: EditMenu(history))
    } shared: { peer, models in
      let shared = try await peer.share(SharedStory.self, id: models + "story")
      return StoryScreen(story: shared.$story.binding, menu: EditMenu(shared.undoing))
    }
  }
}
