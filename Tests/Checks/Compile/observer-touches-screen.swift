// refused: main actor-isolated
import BindingControls
import BindingModel

@MainActor
func show(_ name: Observable<String>, in label: Label) { name.observe(on: label) { _ in label.text = "" } }
