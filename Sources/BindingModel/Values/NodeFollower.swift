/// Observes a root for a node, and schedules the node at each write. The node cancels it when it retires.
// SAFETY: `node` never changes.
final class NodeFollower: AnyObserver, @unchecked Sendable {
  private let node: DerivedNode

  init(_ node: DerivedNode) {
    self.node = node
    super.init(owner: nil, isPlain: false)
  }

  override func call(with value: UnsafeRawPointer, by writer: Writer) { ThreadTurn.schedule(node) }
}
