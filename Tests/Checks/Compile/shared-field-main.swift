// compiles: an observer owned by a screen
import BindingPeer

struct Lamp: Model {
  @Field var level = 0.3
}

@MainActor
final class Screen {
  var text = ""

  func show(_ lamp: Lamp) -> ObserverToken {
    lamp.$level.observeOnMain(on: self) { screen, level in screen.text = "\(level)" }
    return lamp.$level.observeOnMain { [weak self] level in self?.text = "\(level)" }
  }
}
