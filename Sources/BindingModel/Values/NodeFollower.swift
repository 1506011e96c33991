/// Stands among the observers of a root for a node that is to hear of its writes. The node cancels it when it retires.
// SAFETY: `node` never changes.
final class NodeFollower: AnyObserver, @unchecked Sendable {
  private let node: DerivedNode

  init(_ node: DerivedNode) {
    self.node = node
    super.init(owner: nil, isPlain: false)
  }

  override func call(with value: UnsafeRawPointer, by writer: Writer) { ThreadTurn.schedule(node) }
}
