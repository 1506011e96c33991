/// A value computed from others, which follows them: `Derived { "\(first.value) \(last.value)" }`.
///
/// Other libraries call it *computed*, *memo* or *selector*.
///
/// - It is right wherever it is read: in a turn, in an observer, on any thread.
/// - It is computed when it is read, or once at the end of a turn if it is observed, and only if something that it was
///   computed from is another. What nobody reads or observes is not computed.
/// - It shows no mixture: where several sources change in one `Turn`, or one change reaches it by several ways, its
///   observers are told the last result, once, and not at all if it is what they were told before.
/// - It keeps none of its sources' owners alive; when an owner is gone, it goes on with that source's last value.
/// - An observation keeps it alive as long as it lasts: until its token is cancelled or released, or its owner is gone
///   (which is found out with the next change).
/// - Where it reads itself it is given its former result, and `Turn.onLoop` is told.
///
/// `compute` runs on the threads that read, or write what is observed, with no lock held, perhaps more than once; let
/// it do nothing but compute.
public final class Derived<Value: Sendable>: ValueSource, Sendable {
  private let node: ComputedNode<Value>
  private let handle: NodeHandle

  /// Computes from whatever the closure reads by `value`, found out anew each time: `Derived { a.value + b.value }`.
  ///
  /// Where other threads write several sources while it computes it may see one before and one after; it is then
  /// computed again. The initializers that name their sources never compute from such a mixture.
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

  /// Computes from as many sources as are listed, all of one type.
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

  /// The present result. Read inside another `Derived`, it is one of its sources; inside `withObservationTracking`, or
  /// in a SwiftUI view, it is tracked.
  public var value: Value { node.trackedRead() }

  /// The place of the result: it takes no writes. Whoever holds it keeps this alive, as the end of a chain its
  /// beginning.
  public var location: any BindingLocation<Value> { DerivedLocation(derived: self, node: node) }

  /// Observes until the token is cancelled or released: the present result now, later ones as they come.
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    node.observe(Observer(keeping: self, body: body))
  }

  /// Observes as long as `owner` lives, which is held weakly, or until `remove(observer:)`.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    location.observe(owner: owner) { value, _ in body(value) }
  }

  /// Observes as long as `owner` lives, and hands it to the body.
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
  /// A value computed from this one.
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

  var refusal: BindingError { BindingError(.refused, "this value is computed from others: write those") }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    // Where its type is not looked up at each call.
    let derived: any AnyObject & Sendable = derived
    let observer = Observer<Value>(owner: owner) { value, writer in
      withExtendedLifetime(derived) { body(value, writer) }
    }
    return node.observe(observer, cancelsWhenReleased: owner == nil)
  }

  func remove(observer owner: AnyObject) { node.remove(observer: owner) }
}
