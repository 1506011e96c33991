/// A value that can be read and observed: everything that can be bound to, and everything that is derived from it.
///
/// Async sequences, lanes, the main actor and rows are implemented once for all of these.
public protocol ValueSource<Value> {
  associatedtype Value

  /// The location of the value.
  var location: any BindingLocation<Value> { get }
}

/// A value that can be bound to: an observable, a binding, a state, a field shared with other processes.
public protocol BindingSource<Value>: ValueSource {
  /// A borrowed, read-write view of the value.
  var binding: Binding<Value> { get }
}

extension Observable: BindingSource {
  /// The location of the value.
  public var location: any BindingLocation<Value> { cell }
}

extension Binding: BindingSource {
  /// The binding itself.
  public var binding: Binding<Value> { self }
}

extension State: BindingSource {
  /// The location of the value.
  public var location: any BindingLocation<Value> { observable.location }
  /// A borrowed, read-write view of the value.
  public var binding: Binding<Value> { projectedValue }
}

extension ValueSource where Value: Sendable {
  /// An async sequence of the current value, then of the newest one at each iteration.
  public var values: Values<Value> { Values(location: location) }

  /// An async sequence of every value, with a buffer of `limit` values (at least 1) for a loop that lags.
  public func everyValue(limit: Int = 1_000) -> EveryValue<Value> {
    EveryValue(location: location, limit: limit)
  }
}

// MARK: - Observing elsewhere

extension ValueSource where Value: Sendable {
  /// Observes on a lane until `owner`, which is held weakly, is deallocated. The body receives the current value and
  /// later ones: before this call or the write returns if that is made on the lane; else when the lane runs, and then
  /// only the newest.
  @discardableResult
  public func observe(
    on owner: AnyObject, lane: Lane, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    LaneDelivery(lane: lane, body: body).observe(location, owner: owner) { $0 }
  }

  /// Observes on the main actor until `owner`, which is held weakly, is deallocated. The body receives the current
  /// value now; later ones before the write returns if that is made on the main actor, else when the main actor runs.
  /// ```swift
  /// lamp.$level.observeOnMain(on: self) { screen, level in screen.title = "\(level)" }
  /// ```
  /// Values written elsewhere while the main actor is busy are coalesced: only the newest arrives. After the token's
  /// `cancel()`, called on the main actor, nothing arrives.
  @MainActor @discardableResult
  public func observeOnMain<Owner: AnyObject>(
    on owner: Owner, _ body: @escaping @MainActor (Owner, Value) -> Void
  ) -> ObserverToken {
    observeOnMain(owner: owner) { [weak owner] value in
      if let owner { body(owner, value) }
    }
  }

  /// Observes on the main actor until the token is cancelled or released:
  /// `token = name.observeOnMain { [weak self] in self?.text = $0 }`.
  ///
  /// The body receives the current value now; later ones before the write returns if that is made on the main actor,
  /// else when the main actor runs, and then only the newest.
  @MainActor
  public func observeOnMain(_ body: @escaping @MainActor (Value) -> Void) -> ObserverToken {
    observeOnMain(owner: nil, body)
  }

  /// Unavailable: the body of an observation with an owner receives that owner.
  @MainActor @discardableResult
  @available(
    *, unavailable,
    message: "the closure gets its owner: observeOnMain(on: self) { screen, value in screen.text = value }"
  )
  public func observeOnMain<Owner: AnyObject>(
    on owner: Owner, _ body: @escaping @MainActor (Value) -> Void
  ) -> ObserverToken { fatalError("unavailable") }  // SAFETY: cannot be called

  @MainActor
  private func observeOnMain(owner: AnyObject?, _ body: @escaping @MainActor (Value) -> Void) -> ObserverToken {
    let delivery = LaneDelivery<Value>(lane: .main) { value in
      // The main actor's lane runs work nowhere else.
      MainActor.assumeIsolated { body(value) }
    }
    return delivery.observe(location, owner: owner) { $0 }
  }
}
