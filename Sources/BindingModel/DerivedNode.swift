/// What stands behind a derived value, as far as it does not depend on the value's type.
///
/// A node is fresh as long as what it was computed from, its *inputs*, has the versions that it had then. Cells have
/// theirs from their writes, nodes from their results: a node whose result is the same again keeps its version. The
/// cells that a node goes back to in the end are its *roots*: where a chain is long, looking at these is enough.
///
/// Push and pull as in the signals libraries: writes only tell the nodes that are observed that they may be stale; what
/// they are is computed when it is read, or once at the end of the turn. So a read is right wherever it happens, inside
/// a turn and in an observer too, and a node that nobody reads or observes costs nothing.
// SAFETY: `state` guards all that changes.
class DerivedNode: @unchecked Sendable {
  /// A cell, with its version before it was read.
  // SAFETY: a node's roots and inputs are kept alive by its `kept`, which changes with them.
  struct Root {
    let cell: Unmanaged<AnyCell>
    var version: UInt64

    var isPresent: Bool { cell._withUnsafeGuaranteedRef { $0.stamp } == version }
  }

  /// A cell or a node that another node was computed from, with its version before it was read.
  struct Input {
    let source: Unmanaged<AnyObject>
    let isNode: Bool
    var version: UInt64

    // SAFETY: those who add inputs say what they are.
    var asCell: Unmanaged<AnyCell> { Unmanaged.fromOpaque(source.toOpaque()) }
    var asNode: Unmanaged<DerivedNode> { Unmanaged.fromOpaque(source.toOpaque()) }

    var isPresentCell: Bool { asCell._withUnsafeGuaranteedRef { $0.stamp } == version }
  }

  /// What a node was computed from, in the order of its inputs and roots.
  final class Kept {
    let inputs: ContiguousArray<AnyObject>
    let roots: ContiguousArray<AnyCell>

    init(inputs: ContiguousArray<AnyObject>, roots: ContiguousArray<AnyCell>) {
      self.inputs = inputs
      self.roots = roots
    }

    func hasInput(_ source: Unmanaged<AnyObject>, at place: Int) -> Bool {
      place < inputs.count && ObjectIdentifier(inputs[place]) == ObjectIdentifier(source.takeUnretainedValue())
    }

    func hasRoot(_ cell: Unmanaged<AnyCell>, at place: Int) -> Bool {
      place < roots.count && ObjectIdentifier(roots[place]) == ObjectIdentifier(cell.takeUnretainedValue())
    }
  }

  struct State {
    /// In the order of the first reads: whether a later one is read at all may depend on an earlier one.
    var inputs: ContiguousArray<Input> = []
    /// The roots of nodes that are computed from nodes; others have cells alone as inputs.
    var roots: ContiguousArray<Root> = []
    /// Keeps all of these alive.
    var kept: Kept?
    /// 1 more than the highest of the nodes that this one was computed from.
    var height = 0
    /// Counts computations; 0: none yet.
    var computed: UInt64 = 0
    /// Counts results that differed from the one before.
    var version: UInt64 = 0
    /// The pass that last found this fresh.
    var checked: UInt64 = 0
    /// The roots that tell this node of writes, while it is observed.
    var followed: [ObjectIdentifier: (cell: AnyCell, number: UInt64)] = [:]
    var isObserved = false
  }

  let state = LockedStorage<State>.holding(State())

  /// Nodes that are known to be sources before anything was computed.
  var declared: [DerivedNode] { [] }

  /// Computes, after so many computations, and gives the version; nil if another thread has computed meanwhile.
  func recompute(
    after computed: UInt64, _ former: Kept?, in turn: UnsafeMutablePointer<ThreadTurn>
  ) -> UInt64? { nil }

  /// Tells the observers, if the present result is not the one that they were told.
  func publish(in turn: UnsafeMutablePointer<ThreadTurn>, cause: UInt64) {}

  // MARK: Freshness

  /// Where chains are longer, sources are refreshed one after the other instead of by recursion.
  private static let shallow = 32

  /// Makes the result that of the sources as they are now, within a pass. Gives its version.
  @discardableResult
  final func refresh(in turn: UnsafeMutablePointer<ThreadTurn>) -> UInt64 {
    let pass = turn.pointee.pass
    let state = self.state.lock()
    let (version, height, computed) = (state.pointee.version, state.pointee.height, state.pointee.computed)
    // Locks are nested from nodes to nodes below them and to cells, never the other way.
    if state.pointee.checked == pass || computed > 0 && height != 2 && Self.isFresh(state) {
      state.pointee.checked = pass
      self.state.unlock()
      return version
    }
    let kept = state.pointee.kept
    self.state.unlock()
    if height > Self.shallow || computed == 0 {
      for node in staleSources() { node.refreshAlone(in: turn) }
    } else if height == 1, let version = recompute(after: computed, kept, in: turn) {
      // Its inputs are cells alone, and one of them was written.
      return version
    }
    return refreshAlone(in: turn)
  }

  /// Whether no root was written since. Called with the lock held.
  private static func isFresh(_ state: UnsafeMutablePointer<State>) -> Bool {
    guard state.pointee.height > 1 else {
      for place in state.pointee.inputs.indices where !state.pointee.inputs[place].isPresentCell { return false }
      return true
    }
    for place in state.pointee.roots.indices where !state.pointee.roots[place].isPresent { return false }
    return true
  }

  /// The nodes below this one that are not fresh, by their height.
  private func staleSources() -> [DerivedNode] {
    var found: [DerivedNode] = []
    var known: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var pending = sources
    while let node = pending.popLast() {
      guard known.insert(ObjectIdentifier(node)).inserted, node.isStale else { continue }
      found.append(node)
      pending += node.sources
    }
    // What was declared after its sources stands behind them; sorting keeps no order of its own.
    return found.reversed().enumerated().sorted {
      ($0.element.height, $0.offset) < ($1.element.height, $1.offset)
    }.map(\.element)
  }

  final var isStale: Bool {
    let state = self.state.lock()
    defer { self.state.unlock() }
    return state.pointee.computed == 0 || !Self.isFresh(state)
  }

  private var sources: [DerivedNode] {
    let state = self.state.lock()
    let kept = state.pointee.computed == 0 ? nil : state.pointee.kept
    self.state.unlock()
    return kept.map { $0.inputs.compactMap { $0 as? DerivedNode } } ?? declared
  }

  final var height: Int {
    defer { state.unlock() }
    return state.lock().pointee.height
  }

  /// Computes if an input is another; what is behind the inputs is seen to first.
  @discardableResult
  final func refreshAlone(in turn: UnsafeMutablePointer<ThreadTurn>) -> UInt64 {
    while true {
      let state = self.state.lock()
      let (computed, version, height) = (state.pointee.computed, state.pointee.version, state.pointee.height)
      let kept = state.pointee.kept
      let inputs = state.pointee.inputs
      self.state.unlock()
      if computed > 0, isPresent(inputs, in: turn) {
        if height > 1 { keepRoots(of: inputs, kept, after: computed, in: turn) }
        return version
      }
      if let version = recompute(after: computed, kept, in: turn) { return version }
    }
  }

  private func isPresent(_ inputs: ContiguousArray<Input>, in turn: UnsafeMutablePointer<ThreadTurn>) -> Bool {
    for place in inputs.indices {
      let input = inputs[place]
      let isPresent =
        input.isNode
        ? input.asNode._withUnsafeGuaranteedRef { $0.refresh(in: turn) } == input.version : input.isPresentCell
      if !isPresent { return false }
    }
    return true
  }

  /// The inputs are what they were, though roots have been written: notes these as they are now.
  private func keepRoots(
    of inputs: ContiguousArray<Input>, _ kept: Kept?, after computed: UInt64,
    in turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    let former = ThreadTurn.withCollector(turn, after: kept) { collector -> Kept? in
      for input in inputs {
        if input.isNode {
          input.asNode._withUnsafeGuaranteedRef { $0.note(in: collector) }
        } else {
          input.asCell._withUnsafeGuaranteedRef { collector.add($0, version: input.version) }
        }
      }
      return putRoots(collector, after: computed, pass: turn.pointee.pass)
    }
    withExtendedLifetime(former) {}
  }

  /// Gives what is to be released with no lock held.
  private func putRoots(_ collector: DependencyCollector, after computed: UInt64, pass: UInt64) -> Kept? {
    let state = self.state.lock()
    defer { self.state.unlock() }
    guard state.pointee.computed == computed else { return nil }
    let former = state.pointee.kept
    if !collector.isSame { state.pointee.kept = collector.keeping }
    state.pointee.roots = collector.roots
    state.pointee.checked = pass
    return former
  }

  /// Adds this node, as it was computed last, to what another is computed from.
  final func note(in collector: DependencyCollector) {
    let state = self.state.lock()
    note(in: collector, state)
    self.state.unlock()
  }

  /// As above, with the lock held.
  final func note(in collector: DependencyCollector, _ state: UnsafeMutablePointer<State>) {
    guard collector.addNode(self, version: state.pointee.version, height: state.pointee.height) else { return }
    if state.pointee.height > 1 {
      for place in state.pointee.roots.indices {
        collector.addRoot(state.pointee.roots[place].cell, version: state.pointee.roots[place].version)
      }
    } else {
      for place in state.pointee.inputs.indices {
        collector.addRoot(state.pointee.inputs[place].asCell, version: state.pointee.inputs[place].version)
      }
    }
  }

  /// Puts what a computation read in force. Called with the lock held. Gives what is to be released after unlocking,
  /// and whether other roots are to be followed.
  final func keep(
    _ collector: DependencyCollector, pass: UInt64, isNew: Bool, _ state: UnsafeMutablePointer<State>
  ) -> (former: Kept?, isMore: Bool) {
    state.pointee.computed += 1
    if isNew { state.pointee.version += 1 }
    // What was read from a mixture is no result of its sources as they are: it is looked at again.
    state.pointee.checked = collector.isMixed ? 0 : pass
    if collector.isSame {
      for place in collector.inputs.indices { state.pointee.inputs[place] = collector.inputs[place] }
      for place in collector.roots.indices { state.pointee.roots[place] = collector.roots[place] }
      state.pointee.height = collector.height + 1
      return (nil, false)
    }
    let former = state.pointee.kept
    (state.pointee.inputs, state.pointee.roots) = (collector.inputs, collector.roots)
    state.pointee.kept = collector.keeping
    state.pointee.height = collector.height + 1
    return (former, state.pointee.isObserved)
  }

  // MARK: Observing

  /// From now on writes of the roots lead to `publish`.
  final func beObserved() {
    let state = self.state.lock()
    let isFirst = !state.pointee.isObserved
    state.pointee.isObserved = true
    self.state.unlock()
    if isFirst { followRoots() }
  }

  final func followRoots() {
    let state = self.state.lock()
    let roots: [AnyCell] =
      state.pointee.height > 1
      ? state.pointee.roots.map { $0.cell.takeUnretainedValue() }
      : state.pointee.inputs.map { $0.asCell.takeUnretainedValue() }
    let present = Set(roots.map { ObjectIdentifier($0) })
    let left = state.pointee.followed.filter { !present.contains($0.key) }
    for id in left.keys { state.pointee.followed[id] = nil }
    let isMore = roots.contains { state.pointee.followed[ObjectIdentifier($0)] == nil }
    for cell in roots where state.pointee.followed[ObjectIdentifier(cell)] == nil {
      state.pointee.followed[ObjectIdentifier(cell)] = (cell, cell.follow(NodeFollower(self)))
    }
    self.state.unlock()
    for (cell, number) in left.values { cell.cancel(number) }
    // A root may have been written after it was read and before it was followed.
    if isMore { ThreadTurn.schedule(self) }
  }
}
