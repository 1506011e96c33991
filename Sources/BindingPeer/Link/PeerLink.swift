/// A peer's end of a transport: it carries out the session's link actions and feeds the session what arrives.
///
/// It owns whatever thread or queue that takes. `start` is called once. `wake` may be called from any thread, at any
/// time, and means that `PeerRuntime.takeLinkActions` has something. After the action `close` it ends by itself.
protocol PeerLink: AnyObject, Sendable {
  func start(_ runtime: PeerRuntime)
  func wake()
  /// Waits until it has ended, its last words on their way; at most for `limit`.
  func whenEnded(within limit: Duration) async
}
