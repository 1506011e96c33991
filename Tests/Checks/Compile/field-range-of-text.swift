// compiles: a range of strings, which only peers check
import BindingPeer

struct Lamp: Model {
  @Field("a"..."z") var letter = "a"
}
