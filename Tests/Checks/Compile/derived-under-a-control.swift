// refused: an edit would have nowhere to go: 'value.show(in: control)' shows it
import BindingControls
import BindingModel

@MainActor
func bind(_ text: Derived<String>, _ field: TextField) { field.bind(to: text) }
