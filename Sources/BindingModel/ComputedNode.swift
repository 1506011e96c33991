/// A place whose value a derived value computes.
protocol DerivedPlace {
  var derivedNode: DerivedNode { get }
}

/// What a derived value was told to be computed from.
protocol AnyDerivedSource: Sendable {
  var node: DerivedNode? { get }
}

/// One source that was named, of whatever kind.
struct DerivedSource<Value: Sendable>: AnyDerivedSource {
  private let location: any BindingLocation<Value>
  /// Counts the changes of a place that tells nobody what it is made of; nil: it does.
  private let changes: Cell<UInt64>?
  private let token: ObserverToken?

  init(_ source: some ValueSource<Value>) { self.init(erased: source.location) }

  init(erased location: any BindingLocation<Value>) {
    self.location = location
    guard DependencyCollector.collect({ location.track() }).collector.isEmpty else {
      (changes, token) = (nil, nil)
      return
    }
    let changes = Cell<UInt64>(0, filter: .everyWrite)
    self.changes = changes
    token = location.observe(owner: nil) { _, _ in
      _ = changes.change(by: .unnamed) { count in
        count += 1
        return true
      }
    }
  }

  var node: DerivedNode? { (location as? any DerivedPlace)?.derivedNode }

  func read() -> Value {
    changes?.track()
    location.track()
    return location.read()
  }
}

/// A derived value's node: how it is computed, its result, and its observers.
// SAFETY: `result` guards the value and the cell; `inputs` and `declaredNodes` are changed by `deinit` alone.
final class ComputedNode<Value: Sendable>: DerivedNode, @unchecked Sendable {
  private struct Result {
    var value: Value?
    /// Where the observers are, and what they were told last; made for the first of them.
    var cell: Cell<Value>?
  }

  /// Reads the sources, and gives what computes from just that; what it reads besides is a source too.
  private var inputs: (@Sendable () -> @Sendable () -> Value)?
  private var declaredNodes: [DerivedNode]
  /// Whether sources were named: they are read together before anything is computed.
  private let isNamed: Bool
  private let isSame: @Sendable (Value, Value) -> Bool
  private let result = Protected(Result())

  init(sources: [any AnyDerivedSource], inputs: @escaping @Sendable () -> @Sendable () -> Value)
  where Value: Equatable {
    self.inputs = inputs
    declaredNodes = sources.compactMap(\.node)
    isNamed = !sources.isEmpty
    isSame = repetition(of: Value.self)
  }

  deinit {
    let remains = Remains([inputs as Any, declaredNodes, state.withLock { $0 }])
    inputs = nil
    declaredNodes = []
    state.withLock { $0 = State() }
    ThreadTurn.release(remains)
  }

  override var declared: [DerivedNode] { declaredNodes }

  /// The result of the sources as they are now.
  func present() -> Value {
    while true {
      refresh()
      if let value = result.withLock({ $0.value }) { return value }
    }
  }

  override func recompute(after computed: UInt64) -> Bool {
    let former = result.withLock { $0.value }
    let (value, collector) = compute()
    let isNew = former.map { !isSame($0, value) } ?? true
    // Released after unlocking: its deinit may be anybody's code.
    var old: Value?
    let isTaken = take(collector.dependencies, after: computed, isNew: isNew) {
      result.withLock { result in
        old = result.value
        if isNew { result.value = value }
      }
    }
    _ = consume old
    return isTaken
  }

  /// How often sources are read again that others write meanwhile; past it they are taken as they are, and what is
  /// computed from them is computed again.
  private static var attempts: Int { 1_000 }

  private func compute() -> (Value, DependencyCollector) {
    var attempt = 0
    while true {
      attempt += 1
      var isWhole = true
      let (value, collector) = DependencyCollector.collect { () -> Value? in
        // SAFETY: only `deinit` takes it away.
        let compute = inputs!()
        // Another thread wrote while the sources were read: they may not belong together.
        isWhole =
          !isNamed || attempt > Self.attempts
          || ThreadTurn.current.pointee.collector?._withUnsafeGuaranteedRef { $0.isPresent } ?? true
        return isWhole ? compute() : nil
      }
      if let value { return (value, collector) }
    }
  }

  // MARK: Observing

  /// Tells that this is being read: to the derived value that is being computed, or to Observation.
  func track() {
    if let collector = ThreadTurn.current.pointee.collector {
      collector._withUnsafeGuaranteedRef { $0.add(self) }
    } else if TrackingProbe.isTracking {
      observedCell().track()
    }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    observedCell().observe(owner: owner, body)
  }

  func remove(observer owner: AnyObject) { result.withLock { $0.cell }?.removeObservers(of: owner) }

  override func publish() {
    guard let cell = result.withLock({ $0.cell }), cell.isObserved else { return }
    // From the sources as they are now, and within the change: of two threads the later one has the last word.
    _ = cell.change(by: .unnamed) { value in
      value = present()
      return true
    }
  }

  /// The cell with the present value in it.
  private func observedCell() -> Cell<Value> {
    let value = present()
    let isSame = isSame
    let cell = result.withLock { result in
      if let cell = result.cell { return cell }
      let cell = Cell(value, filter: ChangeFilter(rule: .repeated(isSame)))
      result.cell = cell
      return cell
    }
    beObserved()
    // Those who observe already are told what it is now, at the end of a turn under way; a first one finds it there.
    if !cell.isObserved { _ = cell.storeSilently(present()) }
    return cell
  }
}

/// What an object that is gone held.
final class Remains {
  private var contents: [Any]

  init(_ contents: [Any]) { self.contents = contents }

  func release() { contents = [] }
}
