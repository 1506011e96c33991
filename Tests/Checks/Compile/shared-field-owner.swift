// refused: 'observe(on:_:)' has been renamed to 'observeOnMain(on:_:)': on the main actor an observer gets its owner
import BindingPeer

@MainActor
final class Screen {
  var text = ""

  func show(_ level: SharedField<Double>) {
    level.observe(on: self) { screen, level in screen.text = "\(level)" }
  }
}
