import CZMQ

/// An event of a connection or a listener of a socket.
package struct SocketEvent: Equatable, Sendable {
  /// The kind of event.
  package enum Change: Equatable, Sendable {
    case listening(fileDescriptor: Int32)
    case bindFailed(code: Int32)
    case accepted(fileDescriptor: Int32)
    /// With `EMFILE` or `ENFILE` libzmq retries without a pause, using a whole core: unbind, and bind again later.
    case acceptFailed(code: Int32)
    /// The transport is connected; the handshake is not yet complete.
    case connected(fileDescriptor: Int32)
    case connectDelayed
    case connectRetried(afterMilliseconds: Int)
    case handshakeSucceeded
    case handshakeFailed(HandshakeFailure)
    case disconnected(fileDescriptor: Int32)
    case closed(fileDescriptor: Int32)
    case closeFailed(code: Int32)
    case monitorStopped
    /// An event of a newer library.
    case other(number: UInt16, value: Int32)
  }

  /// Why a handshake failed.
  package enum HandshakeFailure: Equatable, Sendable {
    /// The connection broke, or the handshake timed out.
    case broken(code: Int32)
    /// The other side violated the protocol; libzmq's own number.
    case protocolError(number: Int32)
    /// Authentication refused it, with its status (300, 400, 500).
    case authentication(status: Int32)
  }

  /// The kind of event, with its details.
  package let change: Change
  /// The endpoint of the event, as libzmq writes it.
  package let endpoint: String

  /// Reads the two frames in which libzmq reports an event; nil if they are malformed.
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
