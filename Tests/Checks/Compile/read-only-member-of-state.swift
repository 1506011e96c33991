// refused: immutable
import BindingModel

struct Story { let id = 1 }

struct Screen {
  @State var story = Story()

  func identify() -> Binding<Int> { $story.id }
}
