extension DerivedNode {
  typealias Turn = UnsafeMutablePointer<ThreadTurn>

  /// Above this height sources are refreshed one after the other instead of by recursion.
  private static let shallow = 32

  /// Brings the result up to date with its sources, within a pass. Returns with the lock held.
  ///
  /// Locks are nested from nodes to nodes below them and to cells, never the other way.
  ///
  /// - Parameter isWritten: whether a root is known to have been written.
  final func lockFresh(in turn: Turn, isWritten: Bool = false) -> UnsafeMutablePointer<State> {
    let state = self.state.lock()
    if state.pointee.checked != turn.pointee.pass.name { refresh(state, in: turn, isWritten: isWritten) }
    return state
  }

  /// Called with the lock held, returns with it held.
  final func refresh(_ state: UnsafeMutablePointer<State>, in turn: Turn, isWritten: Bool) {
    guard !state.pointee.isRetired else { return }
    guard state.pointee.computer != turn.pointee.id else { return reportCircle(state) }
    // Reading the few inputs of a low node is as fast as checking its roots.
    if state.pointee.isNamed, state.pointee.height <= 2 { return refreshAlone(state, in: turn) }
    if state.pointee.computed > 0, !isWritten, Self.isFresh(state) {
      state.pointee.checked = turn.pointee.pass.name
      return
    }
    if state.pointee.computed == 0 || state.pointee.height > Self.shallow {
      self.state.unlock()
      for node in staleSources() {
        let state = node.state.lock()
        if state.pointee.checked != turn.pointee.pass.name { node.refreshAlone(state, in: turn) }
        node.state.unlock()
      }
      _ = self.state.lock()
    }
    refreshAlone(state, in: turn)
  }

  /// Computes if an input has changed, once the nodes behind the inputs are fresh. Called with the lock held, returns
  /// with it held.
  @inline(__always)
  private func refreshAlone(_ state: UnsafeMutablePointer<State>, in turn: Turn) {
    guard !state.pointee.isRetired else { return }
    beginUse(state)
    while true {
      // Computing from named inputs itself detects whether they changed.
      let isKnown = state.pointee.computed > 0 && !state.pointee.isNamed
      if isKnown, hasPresentInputs(state, in: turn) { break }
      if recompute(state, in: turn) { break }
    }
    let isLast = state.pointee.users == 1
    guard state.pointee.following.isDue || isLast && (state.pointee.isRetired || !state.pointee.spent.isEmpty) else {
      state.pointee.users -= 1
      return
    }
    endRefresh(state)
  }

  /// Called with the lock held, returns with it held.
  @inline(never)
  private func endRefresh(_ state: UnsafeMutablePointer<State>) {
    let isToFollow = state.pointee.following.isDue
    state.pointee.following.isDue = false
    endUse(state)
    if isToFollow { followRoots() }
    _ = self.state.lock()
  }

  /// Whether the inputs are unchanged; then records their current roots. Called with the lock held, returns with it
  /// held; in use.
  private func hasPresentInputs(_ state: UnsafeMutablePointer<State>, in turn: Turn) -> Bool {
    let (count, computed) = (state.pointee.inputs.count, state.pointee.computed)
    let kept = state.pointee.kept
    return withUnsafeTemporaryAllocation(of: Input.self, capacity: max(count, 1)) { inputs in
      for index in 0..<count { inputs[index] = state.pointee.inputs[index] }
      self.state.unlock()
      return ThreadTurn.withCollector(turn) { collector in
        collector.begin(after: kept)
        let isPresent = inputs[..<count].allSatisfy { Self.isPresent($0, recordedIn: collector, turn) }
        _ = self.state.lock()
        guard isPresent, state.pointee.computed == computed else { return false }
        if !collector.isSame { keepAlive(collector, state) }
        state.pointee.roots.assign(collector.roots)
        state.pointee.checked = turn.pointee.pass.name
        return true
      }
    }
  }

  private static func isPresent(_ input: Input, recordedIn collector: DependencyCollector, _ turn: Turn) -> Bool {
    guard input.isNode else {
      return input.asCell._withUnsafeGuaranteedRef { cell in
        collector.add(cell, version: input.version)
        return cell.stamp == input.version
      }
    }
    return input.asNode._withUnsafeGuaranteedRef { node in
      let state = node.lockFresh(in: turn)
      defer { node.state.unlock() }
      node.record(in: collector, state, turn)
      return state.pointee.version == input.version
    }
  }

  /// The stale nodes below this one, by height.
  private func staleSources() -> [DerivedNode] {
    var found: [DerivedNode] = []
    var known: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var pending = sources
    while let node = pending.popLast() {
      guard known.insert(ObjectIdentifier(node)).inserted, node.isStale else { continue }
      found.append(node)
      pending += node.sources
    }
    // A node declared after its sources stands behind them; the offset keeps that order, which sorting alone does
    // not.
    return found.reversed().enumerated().sorted {
      ($0.element.height, $0.offset) < ($1.element.height, $1.offset)
    }.map(\.element)
  }

  private var sources: [DerivedNode] {
    let state = self.state.lock()
    let kept = state.pointee.computed == 0 ? nil : state.pointee.kept?.takeUnretainedValue()
    self.state.unlock()
    return kept.map { $0.objects[..<$0.inputCount].compactMap { ($0 as? NodeHandle)?.node } } ?? declared
  }

  /// Reports that this node, which is being computed on this thread, reads itself. Called with the lock held, returns
  /// with it held.
  private func reportCircle(_ state: UnsafeMutablePointer<State>) {
    let isFirst = state.pointee.computed == 0
    self.state.unlock()
    guard !isFirst else {
      // SAFETY: there is no value to return, and computing one would never end. Only a program's own closures can do
      // this.
      fatalError("a Derived reads itself while it is computed for the first time: \(outline)")
    }
    BindingModel.Turn.onLoop(BindingModel.Turn.Loop(values: [outline], isComputed: true))
    _ = self.state.lock()
  }
}
