extension ValueSource where Value: Sendable {
  /// Observes with a closure that belongs to the actor whose code this is, so that it may use what is the actor's:
  /// `token = name.observe(isolation: #isolation) { self.title = $0 }`, or a `var` of the function around it.
  ///
  /// The present value comes before this returns. Later ones come before the write returns where that is made on the
  /// main actor and the closure is the main actor's; else as soon as the actor gets to it, and then only the newest.
  /// It lasts until the token is cancelled or released. No thread but the actor's runs the closure.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that belongs to an actor. The compiler refuses it elsewhere ("'nil' is not
  ///     compatible"): there a closure has no place that it belongs to, and needs `Protected` for what it changes.
  ///   - body: called with each value, one call at a time.
  public func observe(isolation: isolated any Actor, _ body: @escaping (Value) -> Void) -> ObserverToken {
    observe(isolation: isolation, initial: true, body)
  }

  /// Observes with a closure that belongs to the actor whose code this is, with or without a call for the present
  /// value: `name.observe(isolation: #isolation, initial: false) { self.titles.append($0) }`.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that belongs to an actor.
  ///   - initial: whether the body is called with the present value before this returns.
  ///   - body: called with each value, one call at a time.
  public func observe(
    isolation: isolated any Actor, initial: Bool, _ body: @escaping (Value) -> Void
  ) -> ObserverToken {
    observe(isolation: isolation, initial: initial) { _, new in body(new) }
  }

  /// Observes with a closure that belongs to the actor whose code this is, and the value from before:
  /// `name.observe(isolation: #isolation, initial: false) { old, new in self.undo.append(old) }`.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that belongs to an actor.
  ///   - initial: whether the body is called before this returns; then both values are the present one.
  ///   - body: `old` is what this observer was told before: values that were folded are neither old nor new.
  public func observe(
    isolation: isolated any Actor, initial: Bool, _ body: @escaping (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    let body = Confined(content: body)
    return observe(there: .actor(isolation), owner: nil, initial: initial) { body.content($0, $1) }
  }

  /// Observes on an actor, from its own code, as long as the actor lives, which is held weakly and handed to the body:
  /// `name.observeOnActor(self) { me, name in me.title = name }`.
  ///
  /// The present value comes before this returns; later ones as soon as the actor gets to it, and then only the newest.
  ///
  /// - Parameters:
  ///   - owner: held weakly: the observation ends with it.
  ///   - initial: whether the body is called with the present value before this returns.
  ///   - body: called with each value, one call at a time.
  @discardableResult
  public func observeOnActor<Owner: Actor>(
    _ owner: isolated Owner, initial: Bool = true, _ body: @escaping @Sendable (isolated Owner, Value) -> Void
  ) -> ObserverToken {
    observe(there: .actor(owner), owner: owner, initial: initial) { [weak owner] _, new in
      owner?.assumeIsolated { body($0, new) }
    }
  }
}

extension Lane {
  /// Where the code of an actor runs: the main actor's lane for the main actor, else a lane that reaches the actor by a
  /// task. It keeps no actor alive; what waits for one that is gone is dropped.
  public static func actor(_ actor: any Actor) -> Lane {
    if actor === MainActor.shared { return .main }
    return Lane(isCurrent: { false }, enqueue: { [weak actor] work in Task { await actor?.run(work) } })
  }
}

extension Actor {
  fileprivate func run(_ work: @Sendable () -> Void) { work() }
}

/// Carries a closure past the compiler's check for what crosses threads.
// SAFETY: it is called on the actor on which it was written, by the lane of that actor.
private struct Confined<Content>: @unchecked Sendable {
  let content: Content
}
