// compiles: Observable beside the protocol and the macro of that name
import BindingModel
import Observation

@Observable
final class Tracked { var count = 0 }

let level = Observable(1)
let generic: Observable<Int> = level

func isTracked(_ object: some Observation.Observable) {}
