// refused: get-only
import BindingModel

func reset(_ count: Derived<Int>) { count.value = 0 }
