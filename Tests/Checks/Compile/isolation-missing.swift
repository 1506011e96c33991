// refused: 'nil' is not compatible with expected argument type 'any Actor'
import BindingModel

func follow(_ name: Observable<String>) -> ObserverToken {
  var log: [String] = []
  return name.observe(isolation: #isolation) { log.append($0) }
}
