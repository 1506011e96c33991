// refused: a field's range is closed: write 0...1, not 0..<1
import BindingPeer

struct Lamp: Model {
  @Field(0..<10) var steps: Int? = nil
}
