// refused: a field's type is Codable and Equatable: write 'enum Mood: String, Codable'
import BindingPeer

enum Mood: String { case calm, wild }

struct Lamp: Model {
  @Field var mood = Mood.calm
}
