/// A hub in the same process, reached without a socket: what an embedded hub offers and an in-process link uses. The
/// frames are those of the protocol, so a program under test speaks exactly what it speaks to a hub elsewhere.
public protocol InProcessTransport: AnyObject, Sendable {
  /// Opens one connection, which stands for a request and a publish connection at once.
  ///
  /// `deliver` is called with every frame for this connection, in order, on the hub's thread: it must not wait.
  /// `ended` is called once, when the hub closes the connection or ends; not after `close()`.
  func connect(
    deliver: @escaping @Sendable (_ frame: [UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection
}

/// A peer's end of a connection through an `InProcessTransport`. All members may be called from any thread and return
/// at once.
public protocol HubConnection: AnyObject, Sendable {
  func send(_ frame: [UInt8])
  func subscribe(_ topic: [UInt8])
  func unsubscribe(_ topic: [UInt8])
  func close()
}
