// refused: BindingSource
import BindingControls
import BindingModel

@MainActor
func bind(_ text: Derived<String>, _ field: TextField) { field.bind(to: text) }
