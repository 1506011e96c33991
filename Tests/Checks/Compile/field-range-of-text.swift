// compiles: a range of texts, which is for peers
import BindingPeer

struct Lamp: Model {
  @Field("a"..."z") var letter = "a"
}
