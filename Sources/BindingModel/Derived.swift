/// A value computed from others, which follows them: `Derived($first, $last) { "\($0) \($1)" }`.
///
/// - It is computed anew when a source has changed, and tells its observers when the result is another.
/// - It shows no mixture: where several sources change in one `Turn`, or one change reaches it by several ways, its
///   observers are told the last result, once.
/// - It observes its sources as long as it lives, and keeps none of their owners alive; when an owner is gone, it goes
///   on with that source's last value.
public final class Derived<Value: Sendable>: ValueSource, Sendable {
  private let result: Observable<Value>
  private let tokens: [ObserverToken]

  /// Computes from one source; `compute` runs on the threads that write it, perhaps more than once.
  public convenience init<A: Sendable>(_ source: some ValueSource<A>, compute: @escaping @Sendable (A) -> Value)
  where Value: Equatable {
    let source = source.location
    self.init(filter: .changes, follow: [following(source)]) { compute(source.read()) }
  }

  /// Computes from two sources.
  public convenience init<A: Sendable, B: Sendable>(
    _ first: some ValueSource<A>, _ second: some ValueSource<B>, compute: @escaping @Sendable (A, B) -> Value
  ) where Value: Equatable {
    let (first, second) = (first.location, second.location)
    self.init(filter: .changes, follow: [following(first), following(second)]) {
      compute(first.read(), second.read())
    }
  }

  /// Computes from three sources.
  public convenience init<A: Sendable, B: Sendable, C: Sendable>(
    _ first: some ValueSource<A>, _ second: some ValueSource<B>, _ third: some ValueSource<C>,
    compute: @escaping @Sendable (A, B, C) -> Value
  ) where Value: Equatable {
    let (first, second, third) = (first.location, second.location, third.location)
    self.init(filter: .changes, follow: [following(first), following(second), following(third)]) {
      compute(first.read(), second.read(), third.read())
    }
  }

  /// Computes from as many sources as are listed, all of one type.
  public convenience init<Source: Sendable>(
    of sources: [any ValueSource<Source>], compute: @escaping @Sendable ([Source]) -> Value
  ) where Value: Equatable {
    let sources = sources.map { $0.location }
    self.init(filter: .changes, follow: sources.map { following($0) }) { compute(sources.map { $0.read() }) }
  }

  private init(filter: ChangeFilter<Value>, follow: [Following], present: @escaping @Sendable () -> Value) {
    let result = Observable(present(), filter: filter)
    self.result = result
    // From all sources as they are now, and within the update: of two threads the later one has the last word.
    tokens = follow.map { follow in
      follow { [weak result] in result?.update { $0 = present() } }
    }
  }

  /// The present result.
  public var value: Value { result.value }

  /// The place of the result: it takes no writes. Whoever holds it keeps this alive, as the end of a chain its
  /// beginning.
  public var location: any BindingLocation<Value> { DerivedLocation(derived: self, result: result.binding.location) }

  /// Observes until the token is cancelled or released: the present result now, later ones as they come. The token
  /// keeps this alive.
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    location.observe(owner: nil) { value, _ in body(value) }
  }

  /// Observes as long as `owner` lives, which is held weakly, or until `remove(observer:)`. The owner does not keep
  /// this alive.
  @discardableResult
  public func observe(on owner: AnyObject, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    result.observe(on: owner, body)
  }

  /// Observes as long as `owner` lives, and hands it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, _ body: @escaping @Sendable (Owner, Value) -> Void
  ) -> ObserverToken {
    result.observe(on: owner, body)
  }

  /// Ends every observation of this owner.
  public func remove(observer owner: AnyObject) { result.remove(observer: owner) }
}

extension ValueSource where Value: Sendable {
  /// A value computed from this one.
  public func derived<Other: Equatable & Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> Derived<Other> {
    Derived<Other>(self, compute: transform)
  }
}

private typealias Following = (_ recompute: @escaping @Sendable () -> Void) -> ObserverToken

private func following<Source: Sendable>(_ source: any BindingLocation<Source>) -> Following {
  { recompute in source.observe(owner: nil) { _, _ in recompute() } }
}

private struct DerivedLocation<Value: Sendable>: BindingLocation {
  let derived: Derived<Value>
  let result: any BindingLocation<Value>

  func read() -> Value { result.read() }
  func track() { result.track() }

  func write(_ value: Value, by writer: Writer) throws(BindingError) { throw .computed }

  func modify(by writer: Writer, _ body: (inout Value) -> Bool) throws(BindingError) {
    var value = read()
    if body(&value) { throw .computed }
  }

  func observe(owner: AnyObject?, _ body: @escaping @Sendable (Value, Writer) -> Void) -> ObserverToken {
    let token = result.observe(owner: owner, body)
    guard owner == nil else { return token }
    return ObserverToken {
      token.cancel()
      withExtendedLifetime(derived) {}
    }
  }

  func remove(observer owner: AnyObject) { result.remove(observer: owner) }
}

extension BindingError {
  fileprivate static var computed: BindingError {
    BindingError(.refused, "this value is computed from others: write those")
  }
}
