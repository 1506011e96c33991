// refused: get-only
import BindingModel

struct Story { let id = 1 }

func identify(_ story: Observable<Story>) -> Binding<Int> { story.binding.id }
