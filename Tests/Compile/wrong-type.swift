// refused: no exact matches
import BindingControls
import BindingModel

@MainActor
func bind(_ age: Observable<Int>, _ field: TextField) { field.bind(to: age) }
