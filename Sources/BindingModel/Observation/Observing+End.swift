extension ValueSource {
  /// Calls the body once when the value's owner is gone, so that no more values can arrive: to clean up, or to
  /// disable a control. Calls it immediately if the owner is gone already.
  ///
  /// The value of an observable, of a state or of a part of one ends with its owner; a derived value never ends by
  /// itself.
  ///
  /// - Parameter body: runs on the thread that releases the owner, unless the token was cancelled or released before.
  public func observeEnd(_ body: @escaping @Sendable () -> Void) -> ObserverToken {
    let farewell = Farewell(body)
    let observation = location.observe(owner: nil) { [sign = EndSign(farewell)] _, _ in withExtendedLifetime(sign) {} }
    return ObserverToken {
      farewell.cancel()
      observation.cancel()
    }
  }
}

/// A body that is called once, unless it was cancelled.
private final class Farewell: Sendable {
  private let body: Protected<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) { self.body = Protected(body) }

  func run() { take()?() }

  func cancel() { _ = take() }

  private func take() -> (@Sendable () -> Void)? {
    body.withLock { body in
      defer { body = nil }
      return body
    }
  }
}

/// Held by an observation alone: when that is released, the value has ended.
private final class EndSign: Sendable {
  private let farewell: Farewell

  init(_ farewell: Farewell) { self.farewell = farewell }

  deinit { farewell.run() }
}
