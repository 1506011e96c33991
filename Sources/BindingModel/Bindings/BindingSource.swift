/// Whatever has a value that can be read and observed: all that can be bound to, and what is derived from it.
///
/// What is written once for all of them (async sequences, lanes, the main actor, rows) is written here.
public protocol ValueSource<Value> {
  associatedtype Value

  /// The place of the value.
  var location: any BindingLocation<Value> { get }
}

/// Whatever can be bound to: an observable, a binding, a state, a field shared with other processes.
public protocol BindingSource<Value>: ValueSource {
  /// A borrowed, read-write view of the value.
  var binding: Binding<Value> { get }
}

extension Observable: BindingSource {
  public var location: any BindingLocation<Value> { cell }
}

extension Binding: BindingSource {
  public var binding: Binding<Value> { self }
}

extension State: BindingSource {
  public var location: any BindingLocation<Value> { observable.location }
  public var binding: Binding<Value> { projectedValue }
}

extension ValueSource where Value: Sendable {
  /// The present value, then the newest each time the loop comes back.
  public var values: Values<Value> { Values(location: location) }

  /// Every value, with a buffer of `limit` values (at least 1) for a loop that is behind.
  public func everyValue(limit: Int = 1_000) -> EveryValue<Value> {
    EveryValue(location: location, limit: limit)
  }
}

// MARK: - Observing elsewhere

extension ValueSource where Value: Sendable {
  /// Observes on a lane, as long as `owner` lives, which is held weakly: the present value now, later ones before the
  /// write returns where it is made on that lane, else as soon as the lane gets to it, and then only the newest.
  @discardableResult
  public func observe(
    on owner: AnyObject, lane: Lane, _ body: @escaping @Sendable (Value) -> Void
  ) -> ObserverToken {
    LaneDelivery(lane: lane, body: body).observe(location, owner: owner) { $0 }
  }

  /// Observes on the main actor, as long as `owner` lives, which is held weakly: the present value now, later ones
  /// before the write returns where it is made on the main actor, else as soon as that gets to it.
  /// ```swift
  /// lamp.$level.observeOnMain(on: self) { screen, level in screen.title = "\(level)" }
  /// ```
  /// What is written elsewhere while the main actor is busy is folded: the newest value arrives, those before it do
  /// not. After the token's `cancel()`, called on the main actor, nothing arrives.
  @MainActor @discardableResult
  public func observeOnMain<Owner: AnyObject>(
    on owner: Owner, _ body: @escaping @MainActor (Owner, Value) -> Void
  ) -> ObserverToken {
    observeOnMain(owner: owner) { [weak owner] value in
      if let owner { body(owner, value) }
    }
  }

  /// As above, until the token is cancelled or released:
  /// `token = name.observeOnMain { [weak self] in self?.text = $0 }`.
  @MainActor
  public func observeOnMain(_ body: @escaping @MainActor (Value) -> Void) -> ObserverToken {
    observeOnMain(owner: nil, body)
  }

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
      // The lane of the main actor runs nothing anywhere else.
      MainActor.assumeIsolated { body(value) }
    }
    return delivery.observe(location, owner: owner) { $0 }
  }
}
