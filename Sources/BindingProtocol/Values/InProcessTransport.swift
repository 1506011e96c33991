/// A hub in the same process, reached without a socket: offered by an embedded hub and used by an in-process link.
/// The frames are those of the protocol, so a program under test sends exactly what it would send to a remote hub.
public protocol InProcessTransport: AnyObject, Sendable {
  /// Opens one connection, which serves as both request and publish connection.
  ///
  /// The hub calls `deliver` with every frame for this connection, in order, on its own thread: it must not block.
  /// It calls `ended` once, when it closes the connection or ends; not after `close()`.
  func connect(
    deliver: @escaping @Sendable (_ frame: [UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection
}

/// A peer's end of a connection through an `InProcessTransport`. All members may be called from any thread and
/// return immediately.
public protocol HubConnection: AnyObject, Sendable {
  func send(_ frame: [UInt8])
  func subscribe(_ topic: [UInt8])
  func unsubscribe(_ topic: [UInt8])
  func close()
}
