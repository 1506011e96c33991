// compiles: an optional field with a range
import BindingPeer

struct Lamp: Model {
  @Field(0...1) var level: Double? = nil
  @Field(1...10, unit: "lx") var steps: Int? = 3
}
