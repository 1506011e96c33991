import BindingModel
import Testing

private struct Story: Equatable, Sendable {
  var title = ""
  var text: String? = nil
}

/// Owns the story.
private final class Screen {
  @State var story = Story()
  var owned: Observable<Story> { _story.observable }
}

/// Borrows the story.
private struct Editor {
  @Binding var story: Story

  func write(_ text: String) { story.text = text }
}

@Suite("owning and borrowing")
struct StateTests {
  @Test("a borrower's write reaches the owner, and an owner's write the borrower")
  func borrowed() {
    let screen = Screen()
    let editor = Editor(story: screen.$story)
    editor.write("Once")
    #expect(screen.story == Story(text: "Once"))
    screen.story.title = "Tale"
    #expect(editor.story.title == "Tale")
  }

  @Test("a borrower can lend the value on, whole or in part")
  func lentOn() {
    let screen = Screen()
    let editor = Editor(story: screen.$story)
    let title = editor.$story.title
    title.value = "Tale"
    #expect(screen.story.title == "Tale")
  }

  @Test("observers of a state are notified of changes only")
  func observed() {
    let screen = Screen()
    let received = Recorder<String>()
    let token = screen.$story.title.observe { received.record($0) }
    screen.story.text = "Once"
    screen.story.title = "Tale"
    screen.story.title = "Tale"
    #expect(received.all == ["", "Tale"])
    withExtendedLifetime(token) {}
  }

  @Test("a binding does not keep the owner's value alive and shows the last one")
  func ended() throws {
    var screen: Screen? = Screen()
    weak let observable = screen?.owned
    let binding = try #require(screen).$story
    screen?.story.title = "Tale"
    screen = nil
    #expect(observable == nil)
    #expect(binding.value.title == "Tale")
    #expect(throws: BindingError.self) { try binding.set(Story()) }
  }

  @Test("a function parameter marked @Binding borrows with `$`")
  func parameter() {
    func clear(@Binding text: String) { text = "" }
    let text = Observable("full")
    clear($text: text.binding)
    #expect(text.value == "")
  }
}
