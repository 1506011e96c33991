/// Holds one observation: cancelling or releasing it ends the callbacks. Other libraries call it *cancellable* or
/// *disposable*; a bag of them is `ObserverTokens`.
///
/// After `cancel()` has returned, no callback runs on the cancelling thread, even inside a callback of the same turn.
/// A callback already running on another thread finishes; that thread's next turn leaves it out. Cancelling twice is
/// harmless.
public final class ObserverToken: Sendable {
  private let end: Protected<(@Sendable () -> Void)?>
  private let cancelsWhenReleased: Bool

  /// Creates a token from the closure that ends its observation.
  ///
  /// - Parameters:
  ///   - cancelsWhenReleased: whether releasing the token cancels; false where an owner holds the observation.
  ///   - cancel: ends the observation; called at most once, on the cancelling thread.
  public init(cancelsWhenReleased: Bool = true, cancel: @escaping @Sendable () -> Void) {
    end = Protected(cancel)
    self.cancelsWhenReleased = cancelsWhenReleased
  }

  deinit {
    if cancelsWhenReleased { cancel() }
  }

  /// Ends the observation.
  public func cancel() {
    let end = end.withLock { end in
      let taken = end
      end = nil
      return taken
    }
    end?()
  }

  /// Whether `cancel()` was called. An observation whose source or owner is gone is over too, but not cancelled.
  public var isCancelled: Bool { end.withLock { $0 == nil } }
}
