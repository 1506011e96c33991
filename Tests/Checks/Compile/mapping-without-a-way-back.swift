// refused: does not conform
import BindingModel

struct Shout: Mapping {
  func forward(_ source: String) -> String { source.uppercased() }
}
