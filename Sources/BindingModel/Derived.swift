/// A value computed from others, which follows them: `Derived($first, $last) { "\($0) \($1)" }`.
///
/// - It is computed anew when a source has changed, and tells its observers when the result is another.
/// - It shows no mixture: where several sources change in one `Turn`, or one change reaches it by several ways, its
///   observers are told the last result, once.
/// - It observes its sources as long as it lives, and keeps none of their owners alive; when an owner is gone, it goes
///   on with that source's last value.
public final class Derived<Value: Sendable>: Sendable {
  private let result: Observable<Value>
  private let tokens: [ObserverToken]

  /// Computes from one source; `compute` runs on the threads that write it, perhaps more than once.
  public convenience init<A: Sendable>(_ source: Binding<A>, compute: @escaping @Sendable (A) -> Value)
  where Value: Equatable {
    self.init(filter: .changes, follow: [Self.following(source)]) { compute(source.value) }
  }

  /// Computes from two sources.
  public convenience init<A: Sendable, B: Sendable>(
    _ first: Binding<A>, _ second: Binding<B>, compute: @escaping @Sendable (A, B) -> Value
  ) where Value: Equatable {
    self.init(filter: .changes, follow: [Self.following(first), Self.following(second)]) {
      compute(first.value, second.value)
    }
  }

  /// Computes from three sources.
  public convenience init<A: Sendable, B: Sendable, C: Sendable>(
    _ first: Binding<A>, _ second: Binding<B>, _ third: Binding<C>, compute: @escaping @Sendable (A, B, C) -> Value
  ) where Value: Equatable {
    self.init(filter: .changes, follow: [Self.following(first), Self.following(second), Self.following(third)]) {
      compute(first.value, second.value, third.value)
    }
  }

  /// Computes from as many sources as are listed, all of one type.
  public convenience init<Source: Sendable>(
    of sources: [Binding<Source>], compute: @escaping @Sendable ([Source]) -> Value
  ) where Value: Equatable {
    self.init(filter: .changes, follow: sources.map { Self.following($0) }) { compute(sources.map(\.value)) }
  }

  private typealias Following = (_ recompute: @escaping @Sendable () -> Void) -> ObserverToken

  private static func following<Source: Sendable>(_ source: Binding<Source>) -> Following {
    { recompute in source.observe { _ in recompute() } }
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

  /// Observes until the token is cancelled or released: the present result now, later ones as they come.
  public func observe(_ body: @escaping @Sendable (Value) -> Void) -> ObserverToken { result.observe(body) }

  /// Observes as long as `owner` lives, which is held weakly, or until `remove(observer:)`.
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

  /// The present result, then the newest whenever there is another.
  public var values: Values<Value> { result.values }

  /// The result as a source for another `Derived`. A write through it does not reach the sources and is overwritten by
  /// the next result.
  var binding: Binding<Value> { result.binding }
}

extension Derived {
  /// A value computed from this one.
  public func map<Other: Equatable & Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> Derived<Other> {
    let source = self
    return Derived<Other>(binding) { value in
      // The chain holds its links: who keeps the end need not keep the beginning.
      withExtendedLifetime(source) { transform(value) }
    }
  }
}

extension Binding where Value: Sendable {
  /// A value computed from this one.
  public func derived<Other: Equatable & Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> Derived<Other> {
    Derived<Other>(self, compute: transform)
  }
}
