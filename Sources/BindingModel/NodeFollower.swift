/// Stands among the observers of a root for a node that is to hear of its writes.
// SAFETY: a weak reference may be read on any thread, and this one is never set again.
final class NodeFollower: AnyObserver, @unchecked Sendable {
  private weak var node: DerivedNode?

  init(_ node: DerivedNode) {
    self.node = node
    super.init(owner: nil, isPlain: false)
  }

  override func call(with value: UnsafeRawPointer, by writer: Writer) {
    if let node { ThreadTurn.schedule(node) }
  }
}
