/// What stands behind a derived value, as far as it does not depend on the value's type.
///
/// A node is fresh as long as what it was computed from, its *inputs*, has the versions that it had then. Cells have
/// theirs from their writes, nodes from their results: a node whose result is the same again keeps its version. The
/// cells that a node goes back to in the end are its *roots*: where a chain is long, looking at these is enough.
///
/// Push and pull as in the signals libraries: writes only tell the nodes that are observed that they may be stale; what
/// they are is computed when it is read, or once at the end of the turn. So a read is right wherever it happens, inside
/// a turn and in an observer too, and a node that nobody reads or observes costs nothing.
///
/// Whoever owns a node holds its `NodeHandle`. The roots of an observed one hold the node itself, which has nothing
/// left once its handle is gone: so nobody needs a weak reference, which would make each counting of references slow.
// SAFETY: `state` guards all that changes but `handle`, which is set before anybody else has the node.
class DerivedNode: @unchecked Sendable {
  /// A cell, with its version before it was read.
  // SAFETY: a node's roots and inputs are kept alive by its `unchanged`, which changes with them.
  struct Root: BitwiseCopyable {
    let cell: Unmanaged<AnyCell>
    var version: UInt64

    var isPresent: Bool { cell._withUnsafeGuaranteedRef { $0.stamp } == version }
  }

  /// A cell or a node that another node was computed from, with its version before it was read.
  struct Input: BitwiseCopyable {
    let source: UnsafeRawPointer
    let isNode: Bool
    var version: UInt64

    // SAFETY: those who add inputs say what they are.
    var asCell: Unmanaged<AnyCell> { Unmanaged.fromOpaque(source) }
    var asNode: Unmanaged<DerivedNode> { Unmanaged.fromOpaque(source) }

    var isPresentCell: Bool { asCell._withUnsafeGuaranteedRef { $0.stamp } == version }
  }

  /// What a node was computed from, in the order of its inputs and roots.
  final class Kept {
    /// Cells, and the handles of nodes.
    let objects: ContiguousArray<AnyObject>
    /// The sources of the inputs, then the cells of the roots, to be compared with.
    let sources: UnsafeMutablePointer<UnsafeRawPointer>
    let inputCount: Int
    let rootCount: Int

    init(_ objects: ContiguousArray<AnyObject>, sources: [UnsafeRawPointer], inputCount: Int) {
      self.objects = objects
      self.sources = .allocate(capacity: max(sources.count, 1))
      for (index, source) in sources.enumerated() { (self.sources + index).initialize(to: source) }
      self.inputCount = inputCount
      rootCount = sources.count - inputCount
    }

    deinit { sources.deallocate() }
  }

  struct State {
    /// In the order of the first reads: whether a later one is read at all may depend on an earlier one.
    var inputs = PlainList<Input>()
    /// The roots of nodes that are computed from nodes; others have cells alone as inputs.
    var roots = PlainList<Root>()
    /// Keeps all of these alive. Retained.
    var kept: Unmanaged<Kept>?
    /// All inputs were named, so that to read them is to find out whether they are the same.
    var isNamed = false
    /// 1 more than the highest of the nodes that this one was computed from.
    var height = 0
    /// Counts computations; 0: none yet.
    var computed: UInt64 = 0
    /// Counts results that differed from the one before.
    var version: UInt64 = 0
    /// The pass that last found this fresh.
    var checked: UInt64 = 0
    /// The thread that began to compute it last, by the id of its turn; 0 once it has done so.
    var computer: UInt64 = 0
    /// Computations and looks at inputs under way, on all threads. What they need is not let go of meanwhile.
    var users = 0
    var spent: [Unmanaged<Kept>] = []
    /// The roots that tell this node of writes, while it is observed.
    var followed: [ObjectIdentifier: (cell: AnyCell, number: UInt64)] = [:]
    var isObserved = false
    /// Its cell has observers.
    var isWatched = false
    /// The last computation read other roots than those that are followed.
    var isToFollow = false
    /// Its handle is gone.
    var isRetired = false
  }

  let state = LockedStorage<State>.holding(State())
  @exclusivity(unchecked) fileprivate(set) var handle: Unmanaged<NodeHandle>?

  deinit {
    let state = self.state.lock()
    state.pointee.inputs.free()
    state.pointee.roots.free()
    self.state.unlock()
  }

  /// The object that keeps it alive.
  final var keeper: UnsafeRawPointer {
    UnsafeRawPointer(handle?.toOpaque() ?? Unmanaged.passUnretained(self).toOpaque())
  }

  /// Nodes that are known to be sources before anything was computed.
  var declared: [DerivedNode] { [] }

  /// Computes, and puts the result in force; false if another thread has computed meanwhile. Called with the lock held,
  /// returns with it held.
  func recompute(_ state: UnsafeMutablePointer<State>, in turn: UnsafeMutablePointer<ThreadTurn>) -> Bool { true }

  /// Tells the observers, if the present result is not the one that they were told.
  func publish(in turn: UnsafeMutablePointer<ThreadTurn>, cause: UInt64) {}

  /// What there is to let go of once nobody owns it, and nobody uses it.
  func moveContents(to remains: Remains, _ state: UnsafeMutablePointer<State>) {}

  /// The value's type and the value, for people.
  var outline: String { "" }

  final var isStale: Bool {
    let state = self.state.lock()
    defer { self.state.unlock() }
    return state.pointee.computed == 0 || !Self.isFresh(state)
  }

  final var height: Int {
    defer { state.unlock() }
    return state.lock().pointee.height
  }

  /// Whether these are its inputs, in their versions.
  final func hasInputs(_ inputs: PlainList<Input>) -> Bool {
    let state = self.state.lock()
    defer { self.state.unlock() }
    let own = state.pointee.inputs
    return own.count == inputs.count
      && own.indices.allSatisfy { own[$0].source == inputs[$0].source && own[$0].version == inputs[$0].version }
  }

  /// Whether no root was written since. Called with the lock held.
  static func isFresh(_ state: UnsafeMutablePointer<State>) -> Bool {
    guard state.pointee.height > 1 else {
      for index in state.pointee.inputs.indices where !state.pointee.inputs[index].isPresentCell { return false }
      return true
    }
    for index in state.pointee.roots.indices where !state.pointee.roots[index].isPresent { return false }
    return true
  }
}

/// What owns a node: it lives as long as this does.
final class NodeHandle: Sendable {
  let node: DerivedNode

  init(_ node: DerivedNode) {
    self.node = node
    node.handle = Unmanaged.passUnretained(self)
  }

  deinit { node.retire() }
}

// MARK: - Use

extension DerivedNode {
  /// Nobody owns it any more.
  fileprivate func retire() {
    let state = self.state.lock()
    state.pointee.isRetired = true
    state.pointee.users += 1
    endUse(state)
  }

  /// What the state holds stays until `endUse`. Called with the lock held.
  final func beginUse(_ state: UnsafeMutablePointer<State>) { state.pointee.users += 1 }

  /// Called with the lock held; unlocks, and lets go of what nobody uses.
  final func endUse(_ state: UnsafeMutablePointer<State>) {
    state.pointee.users -= 1
    guard state.pointee.users == 0, state.pointee.isRetired || !state.pointee.spent.isEmpty else {
      return self.state.unlock()
    }
    let remains = Remains()
    for kept in state.pointee.spent { remains.add(kept.takeRetainedValue()) }
    state.pointee.spent = []
    var followed: [(cell: AnyCell, number: UInt64)] = []
    if state.pointee.isRetired {
      moveContents(to: remains, state)
      if let kept = state.pointee.kept { remains.add(kept.takeRetainedValue()) }
      followed = Array(state.pointee.followed.values)
      state.pointee.kept = nil
      state.pointee.followed = [:]
      state.pointee.inputs.removeAll()
      state.pointee.roots.removeAll()
    }
    self.state.unlock()
    for (cell, number) in followed { cell.cancel(number) }
    ThreadTurn.release(remains)
  }

  /// Puts what a computation read in force, with or without another result. Called with the lock held.
  @inline(__always)
  final func keep(_ collector: DependencyCollector, pass: UInt64, _ state: UnsafeMutablePointer<State>) {
    // What was read from a mixture is no result of its sources as they are: it is looked at again.
    state.pointee.checked = collector.isMixed ? 0 : pass
    let isSame = collector.isSame
    state.pointee.isNamed = collector.named == collector.inputs.count
    state.pointee.height = collector.height + 1
    if !isSame { keepAlive(collector, state) }
    collector.put(into: state, isSame: isSame)
    guard !isSame else { return }
    if state.pointee.isObserved { state.pointee.isToFollow = true }
  }

  /// Keeps alive what was read, in place of what was read the time before. Called with the lock held.
  final func keepAlive(_ collector: DependencyCollector, _ state: UnsafeMutablePointer<State>) {
    if let former = state.pointee.kept { state.pointee.spent.append(former) }
    state.pointee.kept = Unmanaged.passRetained(collector.keeping)
  }

  /// Adds this node, as it was computed last, to what another is computed from. Called with the lock held.
  @inline(__always)
  final func record(
    in collector: DependencyCollector, _ state: UnsafeMutablePointer<State>, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    // A value that reads itself does not depend on itself.
    guard state.pointee.computer != turn.pointee.id else { return }
    guard collector.addNode(self, version: state.pointee.version, height: state.pointee.height) else { return }
    if state.pointee.height > 1 {
      for index in state.pointee.roots.indices {
        collector.addRoot(state.pointee.roots[index].cell, version: state.pointee.roots[index].version)
      }
    } else {
      for index in state.pointee.inputs.indices {
        collector.addRoot(state.pointee.inputs[index].asCell, version: state.pointee.inputs[index].version)
      }
    }
  }
}

// MARK: - Observing

extension DerivedNode {
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
    guard !state.pointee.isRetired else { return self.state.unlock() }
    let roots: [AnyCell] =
      state.pointee.height > 1
      ? state.pointee.roots.elements.map { $0.cell.takeUnretainedValue() }
      : state.pointee.inputs.elements.map { $0.asCell.takeUnretainedValue() }
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
