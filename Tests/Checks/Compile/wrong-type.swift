// refused: add a mapping, such as 'bind(to: age, map: NumberText())'
import BindingControls
import BindingModel

@MainActor
func bind(_ age: Observable<Int>, _ field: TextField) { field.bind(to: age) }
