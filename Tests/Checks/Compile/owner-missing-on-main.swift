// refused: observeOnMain(on: self) { screen, value in screen.text = value }
import BindingModel

@MainActor
final class Screen {
  var text = ""

  func show(_ name: Observable<String>) {
    name.observeOnMain(on: self) { name in self.text = name }
  }
}
