/// The node of a derived value: its computation, its result and its observers.
// SAFETY: `state` guards the value, whether there is one, and the cell; the lock of the cell guards `published`;
// `evaluation` and the declared nodes change only when the node is no longer in use.
final class ComputedNode<Value: Sendable>: DerivedNode, @unchecked Sendable {
  @exclusivity(unchecked) private var evaluation: Unmanaged<EvaluationBox<Value>>?
  /// The nodes named as sources: mostly none or one, which needs no array.
  @exclusivity(unchecked) private var declaredFirst: DerivedNode?
  @exclusivity(unchecked) private var declaredOthers: [DerivedNode]
  private let isSame: @Sendable (Value, Value) -> Bool
  /// The result, valid while `computed` is not 0 and until the node retires. In separate memory: where the compiler
  /// does not know the type, it looks up that of an optional at every access.
  @exclusivity(unchecked) private var room: UnsafeMutablePointer<Value>?
  /// Memory for the next result, which is then exchanged with `room`.
  @exclusivity(unchecked) private var spare: UnsafeMutablePointer<Value>?
  /// The observers, with the result published last. Created for the first observer, and retained.
  @exclusivity(unchecked) private var cell: Unmanaged<Cell<Value>>?
  /// The version of that result; created with the cell.
  @exclusivity(unchecked) private var published: UnsafeMutablePointer<UInt64>?

  init(
    source: DerivedNode? = nil, others: [DerivedNode?] = [], evaluate: @escaping @Sendable (Reading<Value>) -> Bool
  ) where Value: Equatable & SendableMetatype {
    evaluation = Unmanaged.passRetained(EvaluationBox(evaluate))
    declaredFirst = source
    declaredOthers = others.compactMap(\.self)
    isSame = repetition(of: Value.self)
  }

  deinit {
    cell?.release()
    room?.deallocate()
    spare?.deallocate()
    published?.deallocate()
  }

  // SAFETY: used only once something has been computed.
  private var result: UnsafeMutablePointer<Value> { room.unsafelyUnwrapped }

  override func moveContents(to remains: Remains, _ state: UnsafeMutablePointer<State>) {
    if let evaluation { remains.add(evaluation.takeRetainedValue()) }
    evaluation = nil
    declaredFirst = nil
    declaredOthers = []
    if state.pointee.computed > 0 { remains.add(result.move()) }
    state.pointee.computed = 0
  }

  override var declared: [DerivedNode] {
    // Called only while the node has an owner.
    (declaredFirst.map { [$0] } ?? []) + declaredOthers
  }

  override var outline: String {
    let state = self.state.lock()
    let value = state.pointee.computed > 0 ? result.pointee : nil
    self.state.unlock()
    return value.map { BindingModel.outline(of: $0) } ?? "\(Value.self)"
  }

  /// The result for the current sources.
  func present() -> Value {
    let turn = ThreadTurn.current
    return ThreadTurn.inPass(turn) {
      _ = lockFresh(in: turn)
      defer { state.unlock() }
      return result.pointee
    }
  }

  /// The result for the current sources, within a pass, recorded as an input of the current computation.
  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  func read(for collector: Unmanaged<DependencyCollector>, in turn: UnsafeMutablePointer<ThreadTurn>) -> Value {
    collector._withUnsafeGuaranteedRef { record(in: $0, lockFresh(in: turn), turn) }
    defer { state.unlock() }
    return result.pointee
  }

  // MARK: Computing

  /// How often sources are read again because others write meanwhile. After that they are used as read, and what is
  /// computed from them is computed again.
  private static var attempts: Int { 1_000 }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  override func recompute(_ state: UnsafeMutablePointer<State>, in turn: UnsafeMutablePointer<ThreadTurn>) -> Bool {
    let computed = state.pointee.computed
    let (inputs, kept) = (state.pointee.inputs, state.pointee.kept)
    let named = computed > 0 && state.pointee.isNamed ? inputs.count : -1
    let versions = (named > 0 ? inputs[0].version : 0, named > 1 ? inputs[1].version : 0)
    state.pointee.computer = turn.pointee.id
    let new = spare ?? .allocate(capacity: 1)
    spare = nil
    self.state.unlock()
    return ThreadTurn.withCollector(turn) { collector in
      collector.begin(after: kept, named: named, versions: versions, of: Unmanaged.passUnretained(self))
      compute(into: new, collector, turn)
      return collector.isUnchanged
        ? confirm(new, collector, after: computed, state, turn) : adopt(new, collector, after: computed, state, turn)
    }
  }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  private func compute(
    into new: UnsafeMutablePointer<Value>, _ collector: DependencyCollector, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    let outer = turn.pointee.collector
    let unmanaged = Unmanaged.passUnretained(collector)
    turn.pointee.collector = unmanaged
    defer { turn.pointee.collector = outer }
    var attempt = 1
    // SAFETY: it exists for as long as the node is in use.
    let evaluation = evaluation.unsafelyUnwrapped
    while !evaluation._withUnsafeGuaranteedRef({ box in
      box.evaluate(Reading(collector: unmanaged, turn: turn, isLast: attempt > Self.attempts, result: new))
    }) {
      // Another thread wrote while the sources were read: read all of them again.
      attempt += 1
      collector.clear()
      turn.pointee.pass.begin(on: turn.pointee.id)
    }
  }

  /// The sources are unchanged. False if another computation finished first. Takes the lock.
  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  private func confirm(
    _ new: UnsafeMutablePointer<Value>, _ collector: DependencyCollector, after computed: UInt64,
    _ state: UnsafeMutablePointer<State>, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) -> Bool {
    _ = self.state.lock()
    if state.pointee.computer == turn.pointee.id { state.pointee.computer = 0 }
    giveBack(new)
    guard state.pointee.computed == computed else { return false }
    keep(collector, pass: turn.pointee.pass.name, state)
    return true
  }

  /// Installs a result. False if another computation finished first. Takes the lock.
  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  private func adopt(
    _ new: UnsafeMutablePointer<Value>, _ collector: DependencyCollector, after computed: UInt64,
    _ state: UnsafeMutablePointer<State>, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) -> Bool {
    // Compared with no lock held, unless it is plain bits.
    var isNew = _isPOD(Value.self) || !isPresent(new.pointee)
    _ = self.state.lock()
    if state.pointee.computer == turn.pointee.id { state.pointee.computer = 0 }
    let isQuickest = state.pointee.computed == computed
    var old: UnsafeMutablePointer<Value>? = new
    if isQuickest {
      if _isPOD(Value.self), computed > 0 { isNew = !isAgain(result.pointee, new.pointee) }
      if isNew || computed == 0 {
        old = room
        room = new
        state.pointee.version += 1
      }
      state.pointee.computed += 1
      keep(collector, pass: turn.pointee.pass.name, state)
    }
    if let old {
      if !_isPOD(Value.self) {
        // The old value is released with no lock held: its deinit may run user code.
        self.state.unlock()
        old.deinitialize(count: 1)
        _ = self.state.lock()
      }
      giveBack(old)
    }
    return isQuickest
  }

  /// Called with the lock held.
  private func giveBack(_ room: UnsafeMutablePointer<Value>) {
    if spare == nil { spare = room } else { room.deallocate() }
  }

  /// The commonest number types are compared inline instead of by a call.
  @inline(__always)
  private func isAgain(_ present: Value, _ new: Value) -> Bool {
    // SAFETY: cast to the type that it is.
    if Value.self == Double.self {
      return isRepetition(unsafeBitCast(present, to: Double.self), unsafeBitCast(new, to: Double.self))
    }
    if Value.self == Int.self { return unsafeBitCast(present, to: Int.self) == unsafeBitCast(new, to: Int.self) }
    return isSame(present, new)
  }

  private func isPresent(_ value: Value) -> Bool {
    let state = self.state.lock()
    guard state.pointee.computed > 0 else {
      self.state.unlock()
      return false
    }
    let present = result.pointee
    self.state.unlock()
    return isSame(present, value)
  }

  // MARK: Observing

  func observe(_ observer: Observer<Value>, cancelsWhenReleased: Bool = true) -> ObserverToken {
    let token = observedCell().add(observer, cancelsWhenReleased: cancelsWhenReleased)
    lookForObservers()
    // A root may have been written before there was an observer.
    if isStale { ThreadTurn.schedule(self) }
    return ObserverToken(cancelsWhenReleased: cancelsWhenReleased) {
      token.cancel()
      self.lookForObservers()
    }
  }

  /// Caches whether there are observers, so that rounds need not ask the cell.
  func lookForObservers() {
    let state = self.state.lock()
    state.pointee.isWatched = cell?._withUnsafeGuaranteedRef { $0.isObserved } ?? false
    self.state.unlock()
  }

  func remove(observer owner: AnyObject) {
    _ = state.lock()
    let known = cell
    state.unlock()
    known?.takeUnretainedValue().removeObservers(of: owner)
    lookForObservers()
  }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  override func publish(in turn: UnsafeMutablePointer<ThreadTurn>, cause: UInt64) {
    let state = self.state.lock()
    // SAFETY: a node keeps its cell for life, once it has one.
    guard !state.pointee.isRetired, state.pointee.isWatched, let cell, let published else { return self.state.unlock() }
    let outer = turn.pointee.pass.name
    turn.pointee.pass.begin(on: turn.pointee.id)
    // Which root was written is not known; the inputs show whether it matters.
    refresh(state, in: turn, isWritten: true)
    turn.pointee.pass.name = outer
    guard !state.pointee.isRetired else { return self.state.unlock() }
    let (value, version) = (result.pointee, state.pointee.version)
    self.state.unlock()
    let isSure = cell._withUnsafeGuaranteedRef {
      $0.publish(value, version: version, over: published, cause: cause, in: turn)
    }
    if !isSure { lookForObservers() }
  }

  /// The cell, holding the current value.
  func observedCell() -> Cell<Value> {
    let turn = ThreadTurn.current
    beObserved(in: turn)
    let state = self.state.lock()
    let (value, version) = (result.pointee, state.pointee.version)
    if let cell = cell?.takeUnretainedValue(), let published {
      self.state.unlock()
      // Existing observers receive the value at the end of the current turn; a first one finds it in the cell.
      cell.renew(value, version: version, over: published)
      return cell
    }
    let cell = Cell(value, filter: ChangeFilter(rule: .repeated(isSame)))
    cell.markFollower()
    let published = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    published.initialize(to: version)
    self.published = published
    self.cell = Unmanaged.passRetained(cell)
    self.state.unlock()
    return cell
  }

  private func beObserved(in turn: UnsafeMutablePointer<ThreadTurn>) {
    refresh(in: turn)
    beObserved()
    // Writes made before the roots were followed have notified nothing.
    refresh(in: turn)
  }

  private func refresh(in turn: UnsafeMutablePointer<ThreadTurn>) {
    ThreadTurn.inPass(turn) {
      _ = lockFresh(in: turn)
      state.unlock()
    }
  }
}
