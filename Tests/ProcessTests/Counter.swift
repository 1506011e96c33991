import BindingPeer

/// The model of processes that count: what was acknowledged is its sum.
struct Counter: Model {
  @Field(policy: .add) var count = 0
}
