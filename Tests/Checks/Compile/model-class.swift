// refused: a model is a struct: write 'struct Lamp: Model'
import BindingPeer

final class Lamp: Model {
  @Field var level = 0.3
}
