/// Observed derived values whose roots were written, to be checked in one round of their thread's turn.
struct StaleRound {
  private var nodes = PlainList<StaleNode>()
  private var spare = PlainList<StaleNode>()
  /// Stands in the turn's queue for this round.
  let mark = Unmanaged.passRetained(AnyCell())

  /// - Returns: whether it is the first of a round.
  mutating func add(_ node: DerivedNode, cause: UInt64, hops: UInt8) -> Bool {
    nodes.append(StaleNode(node: Unmanaged.passRetained(node), cause: cause, hops: hops))
    return nodes.count == 1
  }

  /// The only one of a round, if there is just one.
  mutating func takeOnly() -> StaleNode? {
    guard nodes.count == 1 else { return nil }
    let only = nodes[0]
    nodes.removeAll()
    return only
  }

  /// Each once, lowest first. The caller passes the list to `reuse` afterwards.
  mutating func takeAll() -> PlainList<StaleNode> {
    var all = nodes
    nodes = spare
    spare = PlainList()
    StaleNode.order(&all)
    return all
  }

  mutating func reuse(_ list: PlainList<StaleNode>) {
    spare.free()
    spare = list
    spare.removeAll()
  }

  mutating func free() {
    mark.release()
    nodes.free()
    spare.free()
  }
}

/// An observed derived value whose root was written, retained, with the cause of that write.
struct StaleNode: BitwiseCopyable {
  let node: Unmanaged<DerivedNode>
  let cause: UInt64
  var hops: UInt8
  var height = 0

  /// Sorts by height, lowest first, and removes duplicates.
  static func order(_ nodes: inout PlainList<StaleNode>) {
    var indices: [UnsafeMutableRawPointer: Int] = [:]
    var ordered = PlainList<StaleNode>()
    for var stale in nodes.elements {
      if let index = indices[stale.node.toOpaque()] {
        ordered[index].hops = max(ordered[index].hops, stale.hops)
        stale.node.release()
      } else {
        indices[stale.node.toOpaque()] = ordered.count
        stale.height = stale.node._withUnsafeGuaranteedRef { $0.height }
        ordered.append(stale)
      }
    }
    var elements = ordered.elements
    elements.sort { $0.height < $1.height }
    nodes.free()
    nodes = ordered
  }
}
