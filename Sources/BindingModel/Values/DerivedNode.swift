/// The type-independent part of a derived value.
///
/// A node is fresh as long as everything it was computed from, its *inputs*, has the version that it had then. A
/// cell's version counts its writes, a node's version its results: a node whose result is unchanged keeps its
/// version. The cells that all of a node's chains end in are its *roots*: where a chain is long, checking these is
/// enough.
///
/// Push and pull as in signals libraries: a write only marks the observed nodes as perhaps stale. A result is
/// computed when it is read, or once at the end of the turn. So a read is right everywhere, inside a turn and in an
/// observer too, and a node that is neither read nor observed costs nothing.
///
/// The owner of a node holds its `NodeHandle`. The roots of an observed node hold the node itself, which is emptied
/// once its handle is gone. So no weak reference is needed, which would slow down all reference counting.
// SAFETY: `state` guards all mutable state but `handle`, which is set before another thread can reach the node.
class DerivedNode: @unchecked Sendable {
  /// A cell, with its version before it was read.
  // SAFETY: a node's roots and inputs are kept alive by its `kept`, which changes with them.
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

    // SAFETY: the code that adds an input says in `isNode` which it is.
    var asCell: Unmanaged<AnyCell> { Unmanaged.fromOpaque(source) }
    var asNode: Unmanaged<DerivedNode> { Unmanaged.fromOpaque(source) }

    var isPresentCell: Bool { asCell._withUnsafeGuaranteedRef { $0.stamp } == version }
  }

  /// What a node was computed from, in the order of its inputs and roots.
  final class Kept {
    /// Cells, and the handles of nodes.
    let objects: ContiguousArray<AnyObject>
    /// The sources of the inputs, then the cells of the roots, for comparison.
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

  /// The roots that notify a node of writes, while it is observed.
  struct Following {
    var cells: [ObjectIdentifier: (cell: AnyCell, number: UInt64)] = [:]
    /// The node is observed.
    var isOn = false
    /// The last computation read other roots than those that are followed.
    var isDue = false
  }

  struct State {
    /// In the order of the first reads: an earlier value may decide whether a later source is read at all.
    var inputs = PlainList<Input>()
    /// The roots of nodes that are computed from nodes; other nodes have only cells as inputs.
    var roots = PlainList<Root>()
    /// Keeps all of these alive. Retained.
    var kept: Unmanaged<Kept>?
    /// All inputs were named, so that reading them shows whether they changed.
    var isNamed = false
    /// 1 more than the height of the highest node among the inputs.
    var height = 0
    /// Number of computations; 0: none yet.
    var computed: UInt64 = 0
    /// Number of results that differed from the one before.
    var version: UInt64 = 0
    /// The pass that last found this node fresh.
    var checked: UInt64 = 0
    /// The thread that last began to compute it, by the id of its turn; 0 once it has finished.
    var computer: UInt64 = 0
    /// Computations and checks of inputs in progress, on all threads. What they use is not released meanwhile.
    var users = 0
    var spent: [Unmanaged<Kept>] = []
    var following = Following()
    /// Its cell has observers.
    var isWatched = false
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

  /// The object that keeps this node alive.
  final var keeper: UnsafeRawPointer {
    UnsafeRawPointer(handle?.toOpaque() ?? Unmanaged.passUnretained(self).toOpaque())
  }

  /// Nodes known to be sources before anything was computed.
  var declared: [DerivedNode] { [] }

  /// Computes and installs the result. False if another thread has computed meanwhile. Called with the lock held,
  /// returns with it held.
  func recompute(_ state: UnsafeMutablePointer<State>, in turn: UnsafeMutablePointer<ThreadTurn>) -> Bool { true }

  /// Notifies the observers, unless they have received the current result.
  func publish(in turn: UnsafeMutablePointer<ThreadTurn>, cause: UInt64) {}

  /// Moves out everything to be released once the node is neither owned nor in use.
  func moveContents(to remains: Remains, _ state: UnsafeMutablePointer<State>) {}

  /// The value's type and the value, shortened for display.
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

  /// Whether these are its inputs, with the same versions.
  final func hasInputs(_ inputs: PlainList<Input>) -> Bool {
    let state = self.state.lock()
    defer { self.state.unlock() }
    let own = state.pointee.inputs
    return own.count == inputs.count
      && own.indices.allSatisfy { own[$0].source == inputs[$0].source && own[$0].version == inputs[$0].version }
  }

  /// Whether no root was written since the last computation. Called with the lock held.
  static func isFresh(_ state: UnsafeMutablePointer<State>) -> Bool {
    guard state.pointee.height > 1 else {
      for index in state.pointee.inputs.indices where !state.pointee.inputs[index].isPresentCell { return false }
      return true
    }
    for index in state.pointee.roots.indices where !state.pointee.roots[index].isPresent { return false }
    return true
  }
}

/// Owns a node, which lives as long as its handle.
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
  /// The owner of the node is gone.
  fileprivate func retire() {
    let state = self.state.lock()
    state.pointee.isRetired = true
    state.pointee.users += 1
    endUse(state)
  }

  /// Retains what the state holds until `endUse`. Called with the lock held.
  final func beginUse(_ state: UnsafeMutablePointer<State>) { state.pointee.users += 1 }

  /// Called with the lock held; unlocks, and releases what is no longer used.
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
      followed = Array(state.pointee.following.cells.values)
      state.pointee.kept = nil
      state.pointee.following.cells = [:]
      state.pointee.inputs.removeAll()
      state.pointee.roots.removeAll()
    }
    self.state.unlock()
    for (cell, number) in followed { cell.cancel(number) }
    ThreadTurn.release(remains)
  }

  /// Installs what a computation read, whether or not its result changed. Called with the lock held.
  @inline(__always)
  final func keep(_ collector: DependencyCollector, pass: UInt64, _ state: UnsafeMutablePointer<State>) {
    // A result of inconsistent reads is not that of the current sources: it is checked again.
    state.pointee.checked = collector.isMixed ? 0 : pass
    let isSame = collector.isSame
    state.pointee.isNamed = collector.named == collector.inputs.count
    state.pointee.height = collector.height + 1
    if !isSame { keepAlive(collector, state) }
    collector.put(into: state, isSame: isSame)
    guard !isSame else { return }
    if state.pointee.following.isOn { state.pointee.following.isDue = true }
  }

  /// Retains what was read, in place of what the previous computation read. Called with the lock held.
  final func keepAlive(_ collector: DependencyCollector, _ state: UnsafeMutablePointer<State>) {
    if let former = state.pointee.kept { state.pointee.spent.append(former) }
    state.pointee.kept = Unmanaged.passRetained(collector.keeping)
  }

  /// Records this node, as it was last computed, as an input of another. Called with the lock held.
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
  /// From now on, writes to the roots lead to `publish`.
  final func beObserved() {
    let state = self.state.lock()
    let isFirst = !state.pointee.following.isOn
    state.pointee.following.isOn = true
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
    let left = state.pointee.following.cells.filter { !present.contains($0.key) }
    for id in left.keys { state.pointee.following.cells[id] = nil }
    let isMore = roots.contains { state.pointee.following.cells[ObjectIdentifier($0)] == nil }
    for cell in roots where state.pointee.following.cells[ObjectIdentifier(cell)] == nil {
      state.pointee.following.cells[ObjectIdentifier(cell)] = (cell, cell.follow(NodeFollower(self)))
    }
    self.state.unlock()
    for (cell, number) in left.values { cell.cancel(number) }
    // A root may have been written after it was read and before it was followed.
    if isMore { ThreadTurn.schedule(self) }
  }
}
