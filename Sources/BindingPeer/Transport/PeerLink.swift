import BindingProtocol
import Dispatch

/// A peer's end of a transport: it performs the session's link actions and feeds the session what arrives.
///
/// It owns the thread or queue that this takes. `start` is called once. `wake` may be called from any thread, at any
/// time, and means that `PeerRuntime.takeLinkActions` has something. After the action `close` it ends by itself.
protocol PeerLink: AnyObject, Sendable {
  /// The hubs to choose from; empty for a hub in the same process.
  var pool: HubPool { get }
  func start(_ runtime: PeerRuntime)
  func wake()
  /// Blocks until the link has ended and its last frames are on their way, or the time has passed. Not for its own
  /// thread.
  func join(milliseconds: UInt64)
}

extension PeerLink {
  /// `join` for tasks, which must not block.
  func whenEnded(timeout: Duration) async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [self] in
        join(milliseconds: UInt64(timeout.wholeMilliseconds))
        continuation.resume()
      }
    }
  }
}
