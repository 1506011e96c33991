// refused: a field's type is Codable and Equatable: write 'enum Mood: String, Codable'
import BindingPeer

struct Point: Equatable { var x = 0.0, y = 0.0 }

struct Lamp: Model {
  @Field("place") var point = Point()
}
