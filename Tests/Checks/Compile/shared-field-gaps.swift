// compiles: common first code on shared fields
import BindingControls
import BindingPeer

struct Lamp: Model {
  @Field var name = "desk"
  @Field(0...1) var level = 0.3
}

@MainActor
final class Screen {
  private var undo: [Double] = []
  private let tokens = ObserverTokens()
  private let (field, slider, hint) = (TextField(), Slider(), Label())
  private var name: Validated<String>?

  func show(_ lamp: Lamp) {
    lamp.$level.observeOnMain(on: self, initial: false) { screen, old, _ in screen.undo.append(old) }
    lamp.$level.observe(initial: false) { old, new in print(old, new) }.store(in: tokens)
    lamp.$level.observe(isolation: #isolation, initial: false) { old, _ in self.undo.append(old) }.store(in: tokens)
    lamp.$level.throttled(for: .milliseconds(100)).observeOnMain { print($0) }.store(in: tokens)
    lamp.$name.debounced(for: .milliseconds(300)).assign(to: lamp.$name).store(in: tokens)
    let name = Validated(lamp.$name) { $0.isEmpty ? "a name, please" : nil }
    self.name = name
    field.bind(to: name, commit: .onLeave)
    name.problems.show(in: hint)
    slider.bind(to: lamp.$level, map: Precision(), commit: .onLeave)
  }
}
