/// One computation under way.
struct Reading<Value> {
  let collector: DependencyCollector
  let turn: UnsafeMutablePointer<ThreadTurn>
  /// Sources are taken as they are, whether or not they belong together.
  let isLast: Bool
  fileprivate let result: UnsafeMutablePointer<Value>

  /// Whether the sources that were read belong together.
  var isWhole: Bool { isLast || collector.isWhole }

  func give(_ value: consuming Value) { result.initialize(to: value) }
}

/// A derived value's node: how it is computed, its result, and its observers.
// SAFETY: `state` guards the value, whether there is one, and the cell; the lock of the cell guards `told`; `evaluate`
// and `declaredNodes` are changed by `deinit` alone.
final class ComputedNode<Value: Sendable>: DerivedNode, @unchecked Sendable {
  /// Reads the sources, and gives what it computes from them; false if they do not belong together. What it reads
  /// besides is a source too.
  typealias Evaluation = @Sendable (Reading<Value>) -> Bool

  @exclusivity(unchecked) private var evaluate: Evaluation?
  private var declaredNodes: [DerivedNode]
  private let isSame: @Sendable (Value, Value) -> Bool
  /// Room for the result; there is one as soon as `computed` is not 0. In memory of its own: where the compiler does
  /// not know the type, it looks up that of an optional at every access.
  private let result = UnsafeMutablePointer<Value>.allocate(capacity: 1)
  /// Where the observers are, with what they were told last; made for the first of them.
  @exclusivity(unchecked) private var cell: Cell<Value>?
  /// The version of that.
  private let told = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)

  init(sources: [DerivedNode?], evaluate: @escaping Evaluation) where Value: Equatable & SendableMetatype {
    self.evaluate = evaluate
    declaredNodes = sources.compactMap(\.self)
    isSame = repetition(of: Value.self)
    told.initialize(to: 0)
  }

  deinit {
    let remains = Remains([evaluate as Any, declaredNodes, takeState()])
    evaluate = nil
    declaredNodes = []
    result.deallocate()
    told.deallocate()
    ThreadTurn.release(remains)
  }

  /// Leaves nothing in the state, so that what it held can be let go of in good order.
  private func takeState() -> State {
    let state = self.state.lock()
    defer { self.state.unlock() }
    if state.pointee.computed > 0 { result.deinitialize(count: 1) }
    for (cell, number) in state.pointee.followed.values { cell.cancel(number) }
    defer { state.pointee = State() }
    return state.pointee
  }

  override var declared: [DerivedNode] { declaredNodes }

  /// The result of the sources as they are now.
  func present() -> Value {
    let turn = ThreadTurn.current
    ThreadTurn.inPass(turn) { refresh(in: turn) }
    defer { state.unlock() }
    _ = state.lock()
    return result.pointee
  }

  /// The same, within a pass, noted as an input of what is being computed.
  func read(for collector: DependencyCollector, in turn: UnsafeMutablePointer<ThreadTurn>) -> Value {
    var state = self.state.lock()
    if state.pointee.checked != turn.pointee.pass {
      self.state.unlock()
      refresh(in: turn)
      state = self.state.lock()
    }
    defer { self.state.unlock() }
    note(in: collector, state)
    return result.pointee
  }

  // MARK: Computing

  /// How often sources are read again that others write meanwhile; past it they are taken as they are, and what is
  /// computed from them is computed again.
  private static var attempts: Int { 1_000 }

  override func recompute(
    after computed: UInt64, _ former: Kept?, in turn: UnsafeMutablePointer<ThreadTurn>
  ) -> UInt64? {
    ThreadTurn.withCollector(turn, after: former) { collector in
      withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room in
        // SAFETY: there is room for one.
        let new = room.baseAddress!
        compute(into: new, collector, turn)
        return take(new, collector, after: computed, turn)
      }
    }
  }

  private func compute(
    into new: UnsafeMutablePointer<Value>, _ collector: DependencyCollector, _ turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    let outer = turn.pointee.collector
    turn.pointee.collector = Unmanaged.passUnretained(collector)
    defer { turn.pointee.collector = outer }
    var attempt = 1
    // SAFETY: only `deinit` takes it away.
    while !evaluate!(Reading(collector: collector, turn: turn, isLast: attempt > Self.attempts, result: new)) {
      // Another thread wrote while the sources were read: all are looked at anew.
      attempt += 1
      collector.clear()
      ThreadTurn.renewPass(turn)
    }
  }

  /// Puts a result in force and gives its version; nil if another computation was quicker.
  private func take(
    _ new: UnsafeMutablePointer<Value>, _ collector: DependencyCollector, after computed: UInt64,
    _ turn: UnsafeMutablePointer<ThreadTurn>
  ) -> UInt64? {
    // Compared with no lock held, unless it is plain bits.
    var isNew = _isPOD(Value.self) || !isPresent(new.pointee)
    let state = self.state.lock()
    guard state.pointee.computed == computed else {
      self.state.unlock()
      new.deinitialize(count: 1)
      return nil
    }
    if computed == 0 {
      isNew = true
      result.moveInitialize(from: new, count: 1)
    } else {
      if _isPOD(Value.self) { isNew = !isSame(result.pointee, new.pointee) }
      if isNew { swap(&result.pointee, &new.pointee) }
    }
    let (former, isMore) = keep(collector, pass: turn.pointee.pass, isNew: isNew, state)
    let version = state.pointee.version
    self.state.unlock()
    // What was there before is released with no lock held: its deinit may be anybody's code.
    if computed > 0 { new.deinitialize(count: 1) }
    withExtendedLifetime(former) {}
    if isMore { followRoots() }
    return version
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

  /// Tells that this is being read: to the derived value that is being computed, or to Observation.
  func track() {
    let turn = ThreadTurn.current
    if let collector = turn.pointee.collector {
      collector._withUnsafeGuaranteedRef { collector in
        ThreadTurn.inPass(turn) { collector.add(self, in: turn) }
      }
    } else if TrackingProbe.isTracking {
      observedCell().track()
    }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let token = observedCell().observe(owner: owner, body)
    // A root may have been written when nobody observed yet.
    if isStale { ThreadTurn.schedule(self) }
    return token
  }

  func remove(observer owner: AnyObject) { knownCell?.removeObservers(of: owner) }

  private var knownCell: Cell<Value>? {
    defer { state.unlock() }
    _ = state.lock()
    return cell
  }

  override func publish(in turn: UnsafeMutablePointer<ThreadTurn>, cause: UInt64) {
    guard let cell = knownCell, cell.isObserved else { return }
    // That a root was written is why this is asked; whether that matters is found out from the inputs.
    ThreadTurn.inPass(turn) { refreshAlone(in: turn) }
    let state = self.state.lock()
    let (value, version) = (result.pointee, state.pointee.version)
    self.state.unlock()
    cell.tell(value, version: version, over: told, cause: cause, in: turn)
  }

  /// The cell with the present value in it.
  private func observedCell() -> Cell<Value> {
    let turn = ThreadTurn.current
    beObserved(in: turn)
    let state = self.state.lock()
    let (value, version) = (result.pointee, state.pointee.version)
    if let cell {
      self.state.unlock()
      // Those who observe already are told what it is now, at the end of a turn under way; a first one finds it there.
      cell.renew(value, version: version, over: told)
      return cell
    }
    let cell = Cell(value, filter: ChangeFilter(rule: .repeated(isSame)))
    cell.markFollower()
    told.pointee = version
    self.cell = cell
    self.state.unlock()
    return cell
  }

  private func beObserved(in turn: UnsafeMutablePointer<ThreadTurn>) {
    ThreadTurn.inPass(turn) { refresh(in: turn) }
    beObserved()
    // What was written before the roots were followed has told nobody.
    ThreadTurn.inPass(turn) { refresh(in: turn) }
  }
}

extension Cell {
  /// Tells what a derived value is now, unless a newer result has been told or it is the same again. Called in the
  /// round of derived values, where no observer is running.
  fileprivate func tell(
    _ new: Value, version: UInt64, over told: UnsafeMutablePointer<UInt64>, cause: UInt64,
    in turn: UnsafeMutablePointer<ThreadTurn>
  ) {
    guard _isPOD(Value.self) || !isRepeated(read(), new, isRepeat) else { return }
    lock()
    let traffic = openTraffic()
    guard told.pointee < version, !_isPOD(Value.self) || !isRepeated(value, new, isRepeat) else { return unlock() }
    told.pointee = version
    let old = Self.exchange(&value, for: new)
    defer { withExtendedLifetime(old) {} }
    traffic.pointee.version &+= 1
    guard traffic.pointee.hasObservers else { return unlock() }
    guard traffic.pointee.isClear else { return deliverLater(over: old, by: .unnamed, traffic, turn) }
    traffic.pointee.deliverer = turn.pointee.id
    traffic.pointee.soleWriter = .unnamed
    let observers = traffic.pointee.observers
    unlock()
    turn.pointee.watch?.begin(self, cause: cause)
    withUnsafePointer(to: new) { callBack(observers, with: $0, by: .unnamed) }
    finishRound(traffic, turn)
  }

  /// Puts a newer result in place, where nobody has been told the former.
  fileprivate func renew(_ new: Value, version: UInt64, over told: UnsafeMutablePointer<UInt64>) {
    lock()
    let traffic = openTraffic()
    guard !traffic.pointee.hasObservers, told.pointee < version else { return unlock() }
    told.pointee = version
    let old = Self.exchange(&value, for: new)
    traffic.pointee.version &+= 1
    unlock()
    withExtendedLifetime(old) {}
  }
}

/// What an object that is gone held.
final class Remains {
  private var contents: [Any]

  init(_ contents: [Any]) { self.contents = contents }

  func release() { contents = [] }
}
