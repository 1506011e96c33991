/// Holds one observation. Cancel it, or let go of it, and no more callbacks come. Other libraries call it *cancellable*
/// or *disposable*; a bag of them is `ObserverTokens`.
///
/// After `cancel()` has returned no callback comes on the thread that cancelled, even inside a callback of the same
/// turn. A callback that is running on another thread meanwhile finishes; that thread's next turn leaves it out.
/// Cancelling twice is harmless.
public final class ObserverToken: Sendable {
  private let end: Protected<(@Sendable () -> Void)?>
  private let cancelsWhenReleased: Bool

  /// - Parameters:
  ///   - cancelsWhenReleased: whether letting go of the token cancels; false where an owner holds the observation.
  ///   - cancel: ends the observation; called at most once, on whatever thread cancels.
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

  /// Whether `cancel()` was called. An observation whose source or owner died is over, too, but not cancelled.
  public var isCancelled: Bool { end.withLock { $0 == nil } }
}
