// refused: each field of a model needs a default: write '@Field var level = 0.3'
import BindingPeer

struct Lamp: Model {
  @Field var level: Double
}
