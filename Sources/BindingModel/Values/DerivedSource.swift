/// One named source, of any kind.
final class DerivedSource<Value: Sendable>: Sendable {
  private let location: any BindingLocation<Value>
  /// The location itself, if it is a cell or a derived value; value and version are then read atomically.
  // SAFETY: `location` keeps them alive.
  private let cell: Unmanaged<Cell<Value>>?
  private let computed: Unmanaged<ComputedNode<Value>>?
  /// Counts the changes of a location that does not report its dependencies; nil if it does.
  private let changes: Cell<UInt64>?
  private let token: ObserverToken?

  convenience init(_ source: some ValueSource<Value>) { self.init(erased: source.location) }

  init(erased location: any BindingLocation<Value>) {
    self.location = location
    cell = (location as? Cell<Value>).map { Unmanaged.passUnretained($0) }
    computed = (location as? DerivedLocation<Value>).map { Unmanaged.passUnretained($0.node) }
    guard cell == nil, computed == nil, Self.isSilent(location) else {
      (changes, token) = (nil, nil)
      return
    }
    let changes = Cell<UInt64>(0, filter: .everyWrite)
    changes.markFollower()
    self.changes = changes
    token = location.observe(owner: nil) { [changes] _, _ in
      _ = changes.change(by: .unnamed) { count in
        count += 1
        return true
      }
    }
  }

  /// Whether the location does not report its dependencies. Checked without computing them.
  private static func isSilent(_ location: any BindingLocation<Value>) -> Bool {
    let turn = ThreadTurn.current
    let outer = turn.pointee.collector
    return ThreadTurn.withCollector(turn) { collector in
      collector.begin(after: nil)
      collector.isProbing = true
      turn.pointee.collector = Unmanaged.passUnretained(collector)
      location.track()
      turn.pointee.collector = outer
      return collector.isEmpty
    }
  }

  var node: DerivedNode? { computed?.takeUnretainedValue() }

  @_specialize(where Value == Double)
  @_specialize(where Value == Int)
  @_specialize(where Value == Bool)
  @_specialize(where Value == String)
  func read(_ collector: Unmanaged<DependencyCollector>, _ turn: UnsafeMutablePointer<ThreadTurn>) -> Value {
    if let cell { return cell._withUnsafeGuaranteedRef { $0.read(for: collector) } }
    if let computed { return computed._withUnsafeGuaranteedRef { $0.read(for: collector, in: turn) } }
    changes?.track()
    location.track()
    return location.read()
  }
}
