import CZMQ

/// Something that happened to a connection or a listener of a socket.
public struct SocketEvent: Equatable, Sendable {
  public enum Change: Equatable, Sendable {
    case listening(fileDescriptor: Int32)
    case bindFailed(code: Int32)
    case accepted(fileDescriptor: Int32)
    /// With `EMFILE` or `ENFILE` libzmq goes on trying without a pause, at a whole core: unbind, and bind again later.
    case acceptFailed(code: Int32)
    /// The transport is there, the handshake is not yet done.
    case connected(fileDescriptor: Int32)
    case connectDelayed
    case connectRetried(afterMilliseconds: Int)
    case handshakeSucceeded
    case handshakeFailed(HandshakeFailure)
    case disconnected(fileDescriptor: Int32)
    case closed(fileDescriptor: Int32)
    case closeFailed(code: Int32)
    case monitorStopped
    /// A newer library's own.
    case other(number: UInt16, value: Int32)
  }

  public enum HandshakeFailure: Equatable, Sendable {
    /// The connection broke off, or took too long.
    case broken(code: Int32)
    /// It spoke something else; libzmq's own number.
    case protocolError(number: Int32)
    /// Refused by authentication, with its status (300, 400, 500).
    case authentication(status: Int32)
  }

  public let change: Change
  /// The endpoint it happened at, as libzmq writes it.
  public let endpoint: String

  /// The two frames in which libzmq tells it; nil if they are not of that form.
  init?(head: UnsafeRawBufferPointer, endpoint: String) {
    guard head.count == 6 else { return nil }
    let number = head.loadUnaligned(as: UInt16.self)
    let value = head.loadUnaligned(fromByteOffset: 2, as: Int32.self)
    change = Self.change(number, value)
    self.endpoint = endpoint
  }

  private static func change(_ number: UInt16, _ value: Int32) -> Change {
    switch Int32(number) {
    case ZMQ_EVENT_LISTENING: .listening(fileDescriptor: value)
    case ZMQ_EVENT_BIND_FAILED: .bindFailed(code: value)
    case ZMQ_EVENT_ACCEPTED: .accepted(fileDescriptor: value)
    case ZMQ_EVENT_ACCEPT_FAILED: .acceptFailed(code: value)
    case ZMQ_EVENT_CONNECTED: .connected(fileDescriptor: value)
    case ZMQ_EVENT_CONNECT_DELAYED: .connectDelayed
    case ZMQ_EVENT_CONNECT_RETRIED: .connectRetried(afterMilliseconds: Int(value))
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: .handshakeSucceeded
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: .handshakeFailed(.broken(code: value))
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL: .handshakeFailed(.protocolError(number: value))
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: .handshakeFailed(.authentication(status: value))
    case ZMQ_EVENT_DISCONNECTED: .disconnected(fileDescriptor: value)
    case ZMQ_EVENT_CLOSED: .closed(fileDescriptor: value)
    case ZMQ_EVENT_CLOSE_FAILED: .closeFailed(code: value)
    case ZMQ_EVENT_MONITOR_STOPPED: .monitorStopped
    default: .other(number: number, value: value)
    }
  }
}
