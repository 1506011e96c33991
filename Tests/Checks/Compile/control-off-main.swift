// refused: main actor-isolated
import BindingControls
import BindingModel

func bind(_ name: Observable<String>, _ field: TextField) { field.bind(to: name) }
