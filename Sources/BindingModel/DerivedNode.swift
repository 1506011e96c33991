/// What stands behind a derived value, as far as it does not depend on the value's type.
///
/// A node is fresh as long as every cell that it goes back to, its *roots*, has the version that it had when the node
/// was computed. So a read is right wherever it happens, inside a turn and in an observer too; a node that nobody
/// reads or observes costs nothing; and a long chain is found fresh by looking at its roots alone.
///
/// Push and pull as in the signals libraries: writes only tell the nodes that are observed that they may be stale; what
/// they are is computed when it is read, or once at the end of the turn, lowest first.
// SAFETY: `state` guards all that changes but `compute`, which `deinit` alone takes away.
class DerivedNode: @unchecked Sendable {
  /// What was read in the last computation, each with its version before it was read.
  struct Dependencies {
    var cells: [Root] = []
    var nodes: [Source] = []

    /// Whether all of it is still what was read.
    var isPresent: Bool {
      cells.allSatisfy { $0.cell.stamp == $0.version } && nodes.allSatisfy { $0.node.version == $0.version }
    }
  }

  typealias Root = (cell: AnyCell, version: UInt64)

  /// A node that another was computed from, with its version and the roots that it had then.
  struct Source {
    let node: DerivedNode
    var version: UInt64
    var roots: [Root]
  }

  struct State {
    var dependencies = Dependencies()
    /// The cells that all of these go back to.
    var roots: [Root] = []
    /// 1 more than the highest of the nodes that this one was computed from.
    var height = 0
    /// Counts computations; 0: none yet.
    var computed: UInt64 = 0
    /// Counts results that differed from the one before.
    var version: UInt64 = 0
    /// Of the roots, while this is observed.
    var tokens: [ObjectIdentifier: ObserverToken] = [:]
    var isObserved = false
  }

  let state = Protected(State())

  /// Nodes that are known to be sources before anything was computed.
  var declared: [DerivedNode] { [] }

  /// Computes, after so many computations; false if another thread has computed meanwhile.
  func recompute(after computed: UInt64) -> Bool { true }

  /// Tells the observers, if the present result is not the one that they were told.
  func publish() {}

  // MARK: Freshness

  /// Makes the result that of the sources as they are now.
  final func refresh() {
    guard !isFresh else { return }
    // Lowest first and not by recursion, since a chain may be longer than a stack.
    for node in staleSources() { node.refreshAlone() }
    refreshAlone()
  }

  private var isFresh: Bool {
    let (computed, roots) = state.withLock { ($0.computed, $0.roots) }
    return computed > 0 && roots.allSatisfy { $0.cell.stamp == $0.version }
  }

  /// The nodes below this one that are not fresh, by their height.
  private func staleSources() -> [DerivedNode] {
    var found: [DerivedNode] = []
    var known: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var pending = sources
    while let node = pending.popLast() {
      guard known.insert(ObjectIdentifier(node)).inserted, !node.isFresh else { continue }
      found.append(node)
      pending += node.sources
    }
    // What was declared after its sources stands behind them; sorting keeps no order of its own.
    return found.reversed().enumerated().sorted {
      ($0.element.height, $0.offset) < ($1.element.height, $1.offset)
    }.map(\.element)
  }

  private var sources: [DerivedNode] {
    let nodes = state.withLock { $0.computed == 0 ? nil : $0.dependencies.nodes.map(\.node) }
    return nodes ?? declared
  }

  final var height: Int { state.withLock { $0.height } }

  final var version: UInt64 { state.withLock { $0.version } }

  /// Where the sources have been seen to: computes if one of them is another.
  private func refreshAlone() {
    while true {
      let (computed, dependencies) = state.withLock { ($0.computed, $0.dependencies) }
      if computed > 0, let present = DerivedNode.present(dependencies) {
        state.withLock { state in
          guard state.computed == computed else { return }
          state.dependencies = present
          state.roots = DerivedNode.roots(of: present)
        }
        return
      }
      if recompute(after: computed) { return }
    }
  }

  /// The same dependencies with the roots that their nodes have now; nil if one of them is another.
  private static func present(_ dependencies: Dependencies) -> Dependencies? {
    guard dependencies.cells.allSatisfy({ $0.cell.stamp == $0.version }) else { return nil }
    var present = dependencies
    for place in present.nodes.indices {
      let source = present.nodes[place].node.asSource
      guard source.version == present.nodes[place].version else { return nil }
      present.nodes[place] = source
    }
    return present
  }

  /// Its version and roots as they belong together.
  final var asSource: Source { state.withLock { Source(node: self, version: $0.version, roots: $0.roots) } }

  /// Puts what a computation read in force, unless another computation was quicker; false then.
  ///
  /// - Parameters:
  ///   - isNew: whether the result differs from the one before.
  ///   - store: stores the result, with the lock held.
  final func take(
    _ dependencies: Dependencies, after computed: UInt64, isNew: Bool, store: () -> Void
  ) -> Bool {
    let roots = DerivedNode.roots(of: dependencies)
    let height = 1 + (dependencies.nodes.map(\.node.height).max() ?? 0)
    let (isTaken, isObserved) = state.withLock { state -> (Bool, Bool) in
      guard state.computed == computed else { return (false, false) }
      store()
      state.computed += 1
      if isNew { state.version += 1 }
      state.dependencies = dependencies
      state.roots = roots
      state.height = height
      return (true, state.isObserved)
    }
    if isTaken, isObserved { followRoots() }
    return isTaken
  }

  private static func roots(of dependencies: Dependencies) -> [Root] {
    guard !dependencies.nodes.isEmpty else { return dependencies.cells }
    var roots = dependencies.cells
    for source in dependencies.nodes {
      for root in source.roots {
        if let place = roots.firstIndex(where: { $0.cell === root.cell }) {
          // Of two versions the earlier: a root that has moved on is looked at again.
          roots[place].version = min(roots[place].version, root.version)
        } else {
          roots.append(root)
        }
      }
    }
    return roots
  }

  // MARK: Observing

  /// From now on writes of the roots lead to `publish`.
  final func beObserved() {
    let isFirst = state.withLock { state in
      defer { state.isObserved = true }
      return !state.isObserved
    }
    if isFirst { followRoots() }
  }

  private func followRoots() {
    let (roots, known) = state.withLock { ($0.roots.map(\.cell), Set($0.tokens.keys)) }
    for cell in roots where !known.contains(ObjectIdentifier(cell)) {
      let token = cell.follow { [weak self] in
        if let self { ThreadTurn.schedule(self) }
      }
      let former = state.withLock { $0.tokens.updateValue(token, forKey: ObjectIdentifier(cell)) }
      former?.cancel()
    }
    let present = Set(roots.map { ObjectIdentifier($0) })
    let left = state.withLock { state -> [ObserverToken] in
      let left = state.tokens.filter { !present.contains($0.key) }
      for id in left.keys { state.tokens[id] = nil }
      return Array(left.values)
    }
    for token in left { token.cancel() }
  }
}

/// What a computation reads, noted by whatever is read.
final class DependencyCollector {
  private(set) var dependencies = DerivedNode.Dependencies()

  /// Whether all that was read is still what it was.
  var isPresent: Bool { dependencies.isPresent }

  var isEmpty: Bool { dependencies.cells.isEmpty && dependencies.nodes.isEmpty }

  func add(_ cell: AnyCell) {
    guard !dependencies.cells.contains(where: { $0.cell === cell }) else { return }
    dependencies.cells.append((cell, cell.stamp))
  }

  func add(_ node: DerivedNode) {
    guard !dependencies.nodes.contains(where: { $0.node === node }) else { return }
    node.refresh()
    dependencies.nodes.append(node.asSource)
  }

  /// Runs `body` on this thread and notes what it reads; what a computation inside reads is noted for that one.
  static func collect<Result>(_ body: () -> Result) -> (result: Result, collector: DependencyCollector) {
    let collector = DependencyCollector()
    let turn = ThreadTurn.current
    let outer = turn.pointee.collector
    turn.pointee.collector = Unmanaged.passUnretained(collector)
    defer { turn.pointee.collector = outer }
    return withExtendedLifetime(collector) { (body(), collector) }
  }
}
