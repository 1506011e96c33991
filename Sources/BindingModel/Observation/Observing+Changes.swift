extension ValueSource {
  /// Observes until the token is cancelled or released, on the writing thread.
  /// `name.observe(initial: false) { print("now", $0) }` prints changes alone.
  ///
  /// - Parameters:
  ///   - initial: whether the body is called with the current value before this returns.
  ///   - body: called with each value; its calls never overlap.
  public func observe(initial: Bool, _ body: @escaping @Sendable (Value) -> Void) -> ObserverToken {
    observe(owner: nil, initial: initial) { _, new in body(new) }
  }

  /// Observes old and new values until the token is cancelled or released, on the writing thread:
  /// `count.observe(initial: false) { old, new in print(new - old) }`.
  ///
  /// - Parameters:
  ///   - initial: whether the body is called before this returns; then both values are the current one.
  ///   - body: its calls never overlap. `old` is the value that this observer received before, so that no step is
  ///     missing between two calls.
  public func observe(
    initial: Bool, _ body: @escaping @Sendable (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    observe(owner: nil, initial: initial, body)
  }

  /// Observes old and new values until `owner`, which is held weakly, is deallocated.
  @discardableResult
  public func observe(
    on owner: AnyObject, initial: Bool, _ body: @escaping @Sendable (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    observe(owner: owner, initial: initial, body)
  }

  /// Observes old and new values until `owner`, which is held weakly, is deallocated, and passes it to the body.
  @discardableResult
  public func observe<Owner: AnyObject & Sendable>(
    on owner: Owner, initial: Bool, _ body: @escaping @Sendable (Owner, _ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    observe(owner: owner, initial: initial) { [weak owner] old, new in
      if let owner { body(owner, old, new) }
    }
  }

  private func observe(
    owner: AnyObject?, initial: Bool, _ body: @escaping @Sendable (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    let last = LastNotified<Value>()
    return location.observe(owner: owner) { new, _ in
      if let old = last.replace(by: new) {
        body(old, new)
      } else if initial {
        body(new, new)
      }
    }
  }
}

// MARK: - On the main actor

extension ValueSource where Value: Sendable {
  /// Observes on the main actor until the token is cancelled or released. Later values arrive as by
  /// `observeOnMain(_:)`.
  ///
  /// - Parameters:
  ///   - initial: whether the body is called with the current value before this returns.
  ///   - body: called with each value, one call at a time.
  @MainActor
  public func observeOnMain(initial: Bool, _ body: @escaping @MainActor (Value) -> Void) -> ObserverToken {
    observe(there: .main, owner: nil, initial: initial) { _, new in MainActor.assumeIsolated { body(new) } }
  }

  /// Observes old and new values on the main actor until the token is cancelled or released:
  /// `token = name.observeOnMain(initial: false) { [weak self] old, new in self?.undo.append(old) }`.
  ///
  /// - Parameters:
  ///   - initial: whether the body is called before this returns; then both values are the current one.
  ///   - body: `old` is the value that this observer received before: coalesced values are neither old nor new.
  @MainActor
  public func observeOnMain(
    initial: Bool, _ body: @escaping @MainActor (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    observe(there: .main, owner: nil, initial: initial) { old, new in MainActor.assumeIsolated { body(old, new) } }
  }

  /// Observes on the main actor until `owner` is deallocated, and passes it to the body.
  ///
  /// - Parameters:
  ///   - owner: held weakly: the observation ends with it.
  ///   - initial: whether the body is called with the current value before this returns.
  ///   - body: called with each value, one call at a time.
  @MainActor @discardableResult
  public func observeOnMain<Owner: AnyObject>(
    on owner: Owner, initial: Bool, _ body: @escaping @MainActor (Owner, Value) -> Void
  ) -> ObserverToken {
    observeOnMain(on: owner, initial: initial) { owner, _, new in body(owner, new) }
  }

  /// Observes old and new values on the main actor until `owner` is deallocated, and passes it to the body:
  /// `name.observeOnMain(on: self, initial: false) { screen, old, new in screen.undo.append(old) }`.
  ///
  /// - Parameters:
  ///   - owner: held weakly: the observation ends with it.
  ///   - initial: whether the body is called before this returns; then both values are the current one.
  ///   - body: `old` is the value that this observer received before: coalesced values are neither old nor new.
  @MainActor @discardableResult
  public func observeOnMain<Owner: AnyObject>(
    on owner: Owner, initial: Bool, _ body: @escaping @MainActor (Owner, _ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    let body: @MainActor (Value, Value) -> Void = { [weak owner] old, new in
      if let owner { body(owner, old, new) }
    }
    return observe(there: .main, owner: owner, initial: initial) { old, new in
      MainActor.assumeIsolated { body(old, new) }
    }
  }

  /// Observes on a lane on which the caller runs: the first call is made here; later ones on the lane, with the
  /// newest value.
  func observe(
    there lane: Lane, owner: AnyObject?, initial: Bool,
    _ body: @escaping @Sendable (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    let last = LastNotified<Value>()
    let delivery = LaneDelivery<Value>(lane: lane) { new in body(last.replace(by: new) ?? new, new) }
    let first: @Sendable (Value) -> Void = { new in
      _ = last.replace(by: new)
      if initial { body(new, new) }
    }
    return delivery.observe(location, owner: owner, first: first) { $0 }
  }
}

/// The value that one observer received last.
// SAFETY: used by one observation only, whose callbacks never overlap and happen each before the next, on a lane too.
final class LastNotified<Value>: @unchecked Sendable {
  private var value: Value?

  func replace(by new: Value) -> Value? {
    defer { value = new }
    return value
  }
}
