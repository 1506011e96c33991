// refused: static property 'changes'
import BindingModel

struct Opaque {}

func observable() -> Observable<Opaque> { Observable(Opaque(), filter: .changes) }
