extension ValueSource where Value: Sendable {
  /// Observes with a closure that is isolated to the calling actor, so that it may use the actor's state:
  /// `token = name.observe(isolation: #isolation) { self.title = $0 }`, or a `var` of the surrounding function.
  ///
  /// The current value arrives before this returns. A later one arrives before the write returns if that is made on
  /// the main actor and the closure is isolated to it; else when the actor runs, and then only the newest. The
  /// observation lasts until the token is cancelled or released. The closure runs only on the actor.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that is isolated to an actor. The compiler refuses it elsewhere ("'nil' is
  ///     not compatible"): there a closure is not isolated, and needs `Protected` for the state that it changes.
  ///   - body: called with each value, one call at a time.
  public func observe(isolation: isolated any Actor, _ body: @escaping (Value) -> Void) -> ObserverToken {
    observe(isolation: isolation, initial: true, body)
  }

  /// Observes with a closure that is isolated to the calling actor, with or without a call for the current value:
  /// `name.observe(isolation: #isolation, initial: false) { self.titles.append($0) }`.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that is isolated to an actor.
  ///   - initial: whether the body is called with the current value before this returns.
  ///   - body: called with each value, one call at a time.
  public func observe(
    isolation: isolated any Actor, initial: Bool, _ body: @escaping (Value) -> Void
  ) -> ObserverToken {
    observe(isolation: isolation, initial: initial) { _, new in body(new) }
  }

  /// Observes old and new values with a closure that is isolated to the calling actor:
  /// `name.observe(isolation: #isolation, initial: false) { old, new in self.undo.append(old) }`.
  ///
  /// - Parameters:
  ///   - isolation: `#isolation`, in code that is isolated to an actor.
  ///   - initial: whether the body is called before this returns; then both values are the current one.
  ///   - body: `old` is the value that this observer received before: coalesced values are neither old nor new.
  public func observe(
    isolation: isolated any Actor, initial: Bool, _ body: @escaping (_ old: Value, _ new: Value) -> Void
  ) -> ObserverToken {
    let body = Confined(content: body)
    return observe(there: .actor(isolation), owner: nil, initial: initial) { body.content($0, $1) }
  }

  /// Observes on an actor, from its own code, until the actor is deallocated, and passes the actor to the body:
  /// `name.observeOnActor(self) { me, name in me.title = name }`.
  ///
  /// The current value arrives before this returns; later ones when the actor runs, and then only the newest.
  ///
  /// - Parameters:
  ///   - owner: held weakly: the observation ends with it.
  ///   - initial: whether the body is called with the current value before this returns.
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
  /// The lane of an actor: `.main` for the main actor, else a lane that reaches the actor by a task. It keeps no
  /// actor alive; work for a deallocated actor is dropped.
  public static func actor(_ actor: any Actor) -> Lane {
    if actor === MainActor.shared { return .main }
    return Lane(isCurrent: { false }, enqueue: { [weak actor] work in Task { await actor?.run(work) } })
  }
}

extension Actor {
  fileprivate func run(_ work: @Sendable () -> Void) { work() }
}

/// Passes a closure through the compiler's check of what crosses threads.
// SAFETY: it is called on the actor on which it was created, by the lane of that actor.
private struct Confined<Content>: @unchecked Sendable {
  let content: Content
}
