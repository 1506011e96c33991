/// A value computed from others, which follows them: `Derived { "\(first.value) \(last.value)" }`.
///
/// Other libraries call it *computed*, *memo* or *selector*.
///
/// - Every read is up to date: in a turn, in an observer, on any thread.
/// - It is computed when it is read, or once at the end of a turn if it is observed, and only if one of its sources
///   changed. While it is neither read nor observed, it is not computed.
/// - Its observers see no mixture: if several sources change in one `Turn`, or one change reaches it by several
///   paths, they receive the final result once, and nothing if it equals the one received before.
/// - It keeps no source's owner alive. When an owner is gone, it continues with that source's last value.
/// - An observation keeps it alive until its token is cancelled or released, or its owner is gone (which is detected
///   at the next change).
/// - If it reads itself, it receives its former result, and `Turn.onLoop` is called.
///
/// `compute` runs with no lock held, perhaps more than once, on threads that read the value, or write what is
/// observed. It should only compute.
public final class Derived<Value: Sendable>: ValueSource, Sendable {
  private let node: ComputedNode<Value>
  private let handle: NodeHandle

  /// Computes from everything that the closure reads by `value`, discovered anew each time:
  /// `Derived { a.value + b.value }`.
  ///
  /// If other threads write several sources during the computation, it may see one before and one after its write; it
  /// is then computed again. The initializers that name their sources never compute from such a mixture.
  public convenience init(_ compute: @escaping @Sendable () -> Value) where Value: Equatable {
    self.init(
      ComputedNode { reading in
        reading.give(compute())
        return true
      })
  }

  /// Computes from one source.
  public convenience init<A: Sendable>(_ source: some ValueSource<A>, compute: @escaping @Sendable (A) -> Value)
  where Value: Equatable {
    let source = DerivedSource(source)
    self.init(ComputedNode(source: source.node, evaluate: evaluation(of: source, compute)))
  }

  /// Computes from two sources.
  public convenience init<A: Sendable, B: Sendable>(
    _ first: some ValueSource<A>, _ second: some ValueSource<B>, compute: @escaping @Sendable (A, B) -> Value
  ) where Value: Equatable {
    let (first, second) = (DerivedSource(first), DerivedSource(second))
    self.init(ComputedNode(source: first.node, others: [second.node], evaluate: evaluation(of: first, second, compute)))
  }

  /// Computes from three sources.
  public convenience init<A: Sendable, B: Sendable, C: Sendable>(
    _ first: some ValueSource<A>, _ second: some ValueSource<B>, _ third: some ValueSource<C>,
    compute: @escaping @Sendable (A, B, C) -> Value
  ) where Value: Equatable {
    let (first, second, third) = (DerivedSource(first), DerivedSource(second), DerivedSource(third))
    self.init(
      ComputedNode(source: first.node, others: [second.node, third.node]) { reading in
        let first = first.read(reading.collector, reading.turn)
        let second = second.read(reading.collector, reading.turn)
        let third = third.read(reading.collector, reading.turn)
        return reading.giveFromNamed { compute(first, second, third) }
      })
  }

  /// Computes from a list of sources, all of one type.
  public convenience init<Source: Sendable>(
    of sources: [any ValueSource<Source>], compute: @escaping @Sendable ([Source]) -> Value
  ) where Value: Equatable {
    let sources = sources.map { DerivedSource(erased: $0.location) }
    self.init(
      ComputedNode(others: sources.map(\.node)) { reading in
        let values = sources.map { $0.read(reading.collector, reading.turn) }
        return reading.giveFromNamed { compute(values) }
      })
  }

  init(_ node: ComputedNode<Value>) {
    self.node = node
    handle = NodeHandle(node)
  }

  /// The current result. A read inside another `Derived` makes it a source of that one; a read inside
  /// `withObservationTracking`, or in a SwiftUI view, is tracked.
  public var value: Value { node.trackedRead() }

  /// The location of the result, which refuses writes. Holding it keeps this derived value alive, and the derived
  /// values behind it.
  public var location: any BindingLocation<Value> { DerivedLocation(derived: self, node: node) }

  /// Observes until the token is cancelled or released. The body receives the current result now, and later results
  /// as they change, on the writing thread.
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    node.observe(Observer(keeping: self, body: body))
  }

  /// Observes until `owner`, which is held weakly, is deallocated or passed to `remove(observer:)`.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    location.observe(owner: owner) { value, _ in body(value) }
  }

  /// Observes until `owner`, which is held weakly, is deallocated, and passes it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    location.observe(owner: owner, ObservedWrites.all.body(for: owner, body))
  }

  /// Ends every observation of this owner.
  public func remove(observer owner: AnyObject) { node.remove(observer: owner) }
}

extension ValueSource where Value: Sendable {
  /// Creates a value computed from this one by `transform`.
  public func derived<Other: Equatable & Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> Derived<Other> {
    Derived<Other>(self, compute: transform)
  }
}

struct DerivedLocation<Value: Sendable>: UnwritableLocation {
  let derived: Derived<Value>
  let node: ComputedNode<Value>

  func read() -> Value { node.present() }
  func track() { node.track() }

  var refusal: BindingError { BindingError(.refused, "this value is derived from others: write to those") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    // Type-erased here once, so that the calls need not look up its type.
    let derived: any AnyObject & Sendable = derived
    let observer = Observer<Value>(owner: owner) { value, writer in
      withExtendedLifetime(derived) { body(value, writer) }
    }
    return node.observe(observer, cancelsWhenReleased: owner == nil)
  }

  func remove(observer owner: AnyObject) { node.remove(observer: owner) }
}
