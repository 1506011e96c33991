// compiles: a custom enum and a custom struct
import BindingPeer

enum Mood: String, Codable, CaseIterable { case calm, wild }
struct Point: Codable, Equatable { var x = 0.0, y = 0.0 }

struct Lamp: Model {
  @Field var mood = Mood.calm
  @Field var point = Point()
  @Field("where") var other: Point? = nil
}
