import BindingClassic
import BindingControls
import Testing

/// Article 3, "A minimal implementation of State and Binding with Swift": its code, with its names.
@Suite("article 3: owning and borrowing")
@MainActor
struct Article3Tests {
  struct Story: Equatable {
    var text: String?
    var title = "untitled"
  }

  @Test("S3.1 S3.3 S3.4 S3.9: a state owns the value, and its members are read and written directly")
  func members() {
    let story = State(Story())
    story.text = "Once"
    #expect(story.text == "Once")
    #expect(story.value == Story(text: "Once"))
    story.text = nil
    #expect(story.value.text == nil)
  }

  @Test("S3.5 S3.6 S3.7: a binding borrows, reads and writes the same value")
  func borrowing() {
    let story = State(Story())
    let borrowed: Binding<Story> = story.binding
    borrowed.text = "changed by the borrower"
    #expect(story.text == "changed by the borrower")
    story.text = "by the owner"
    #expect(borrowed.text == "by the owner")
  }

  @Test("S3.2: the stream gives the present value first, then each later one")
  func streams() {
    let story = State(1)
    var results: [Int] = []
    let cancellable = story.stream.sink { results.append($0) }
    story.value = 2
    story.binding.value = 3
    cancellable.cancel()
    story.value = 4
    #expect(results == [1, 2, 3])
  }

  /// S3.8: the article's first screen.
  @MainActor
  final class ViewController {
    // owns the data
    let story = State(Story())

    let label = Label()
    var title: String?
    var cancellables = Set<AnyCancellable>()

    func viewDidLoad() {
      // update the word count at every keystroke
      story.stream
        .map(\.text)
        .map { $0?.split(separator: " ").count ?? 0 }
        .map { "Words: \($0)" }
        .assign(to: \.title, on: self)
        .store(in: &cancellables)
    }

    func viewDidAppear() {
      label.text = story.text
    }

    func onEdit() -> TextEditViewController { TextEditViewController(story: story.binding) }
  }

  /// S3.8: the article's second screen; its text view calls an action where the article uses a delegate.
  @MainActor
  final class TextEditViewController {
    // borrows the data with a read-write access
    private let story: Binding<Story>
    let textVw = TextView()

    init(story: Binding<Story>) {
      self.story = story
      textVw.text = story.text
      textVw.addAction(for: .editingChanged) { [unowned self] in textViewDidChange(textVw) }
    }

    func textViewDidChange(_ textView: TextView) {
      story.text = textView.text
    }
  }

  @Test("S3.8 S3.W4: words are counted at each keystroke, and the first screen shows the text")
  func demo() {
    let first = ViewController()
    first.viewDidLoad()
    #expect(first.title == "Words: 0")
    let second = first.onEdit()
    for letter in "Once upon" { second.textVw.type(String(letter)) }
    #expect(first.title == "Words: 2")
    first.viewDidAppear()
    #expect(first.label.text == "Once upon")
  }

  @Test("S3.10: State and Binding work as property wrappers")
  func wrappers() {
    @State var story = Story()
    @Binding(projectedValue: $story) var copy: Story
    copy.text = "through the copy"
    #expect(story.text == "through the copy")
    func shorten(@Binding lent: Story) { lent.text = String(lent.text?.prefix(7) ?? "") }
    shorten($lent: $story)
    #expect(copy.text == "through")
  }

  @Test("S3.W1 S3.W2: a binding to one property notifies of that property's changes only")
  func subBindings() {
    let story = State(Story())
    let title = story.binding(to: \.title)
    var results: [String] = []
    let cancellable = title.stream.sink { results.append($0) }
    story.text = "other"
    title.value = "Tale"
    #expect(story.title == "Tale")
    #expect(results == ["untitled", "Tale"])
    cancellable.cancel()
  }

  @Test("S3.W3: a binding keeps no state alive, shows the last value and refuses writes")
  func ownersOwn() {
    var story: State<Story>? = State(Story(text: "end"))
    weak let weakly = story
    let borrowed = story!.binding
    story = nil
    #expect(weakly == nil)
    borrowed.text = "ghost"
    #expect(borrowed.text == "end")
  }

  @Test("S3.W5: a visible screen follows changes without reappearing")
  func visibleScreensFollow() {
    let story = State(Story(text: "a"))
    let view = TextView()
    view.bind(to: story.core.text)
    story.text = "b"
    #expect(view.text == "b")
    view.type("c")
    #expect(story.text == "bc")
  }

  @Test("S3.W6: the core's names and the article's coexist, qualified by module")
  func names() {
    let core: BindingModel.Binding<Int> = State(1).core
    #expect(core.value == 1)
  }

  @Test("the stream assigns to a weakly held object and ends with its cancellable")
  func assigning() {
    let story = State(Story())
    weak var controller: ViewController?
    do {
      let first = ViewController()
      controller = first
      first.viewDidLoad()
      story.stream.map { $0.text }.assign(to: \.title, on: first).store(in: &first.cancellables)
    }
    #expect(controller == nil)
  }
}
