import CZMQ

/// A number that can be read from a socket, in the unit in its name.
package enum SocketNumber: Equatable, Sendable {
  case sendHighWaterMarkMessages, receiveHighWaterMarkMessages
  /// -1: any size.
  case maximumMessageSizeBytes
  case heartbeatIntervalMilliseconds, heartbeatTimeoutMilliseconds, heartbeatTimeToLiveMilliseconds
  case handshakeIntervalMilliseconds, connectTimeoutMilliseconds
  /// 0 or 1.
  case immediate, ipv6
  /// -1: until done.
  case lingerMilliseconds
  /// -1: never reconnect.
  case reconnectIntervalMilliseconds
  case backlogConnections

  var number: Int32 {
    switch self {
    case .sendHighWaterMarkMessages: ZMQ_SNDHWM
    case .receiveHighWaterMarkMessages: ZMQ_RCVHWM
    case .maximumMessageSizeBytes: ZMQ_MAXMSGSIZE
    case .heartbeatIntervalMilliseconds: ZMQ_HEARTBEAT_IVL
    case .heartbeatTimeoutMilliseconds: ZMQ_HEARTBEAT_TIMEOUT
    case .heartbeatTimeToLiveMilliseconds: ZMQ_HEARTBEAT_TTL
    case .handshakeIntervalMilliseconds: ZMQ_HANDSHAKE_IVL
    case .connectTimeoutMilliseconds: ZMQ_CONNECT_TIMEOUT
    case .immediate: ZMQ_IMMEDIATE
    case .ipv6: ZMQ_IPV6
    case .lingerMilliseconds: ZMQ_LINGER
    case .reconnectIntervalMilliseconds: ZMQ_RECONNECT_IVL
    case .backlogConnections: ZMQ_BACKLOG
    }
  }
}

extension Socket {
  /// Reads a number, in the unit in its name.
  package borrowing func read(_ number: SocketNumber) throws(ZeroMQError) -> Int {
    if number == .maximumMessageSizeBytes { return Int(try value(number.number, Int64(0), "\(number)")) }
    return Int(try value(number.number, Int32(0), "\(number)"))
  }

  /// The endpoint of the last ``bind(_:)`` or ``connect(_:)``, with the port or path that was chosen; empty before
  /// either.
  package borrowing func lastEndpoint() throws(ZeroMQError) -> String {
    String(decoding: try bytes(ZMQ_LAST_ENDPOINT, upTo: 512, "lastEndpoint").prefix { $0 != 0 }, as: UTF8.self)
  }

  /// The id under which this socket connects; nil if the `router` assigns one.
  package borrowing func routingID() throws(ZeroMQError) -> RoutingID? {
    RoutingID(try bytes(ZMQ_ROUTING_ID, upTo: 255, "routingID"))
  }

  /// Becomes readable when ``events()`` may have changed. It is edge-triggered, so read ``events()`` after each use
  /// of the socket before waiting for it. ``Poller`` does that by itself.
  package borrowing func fileDescriptor() throws(ZeroMQError) -> Int32 {
    try value(ZMQ_FD, Int32(-1), "fileDescriptor")
  }

  /// Whether a receive or a send would succeed now.
  package borrowing func events() throws(ZeroMQError) -> Readiness { try core.events() }

  /// libzmq's own number of the kind, as the library reports it.
  package borrowing func type() throws(ZeroMQError) -> Int32 { try value(ZMQ_TYPE, Int32(-1), "type") }

  private borrowing func value<Value: FixedWidthInteger>(
    _ number: Int32, _ initial: Value, _ name: String
  ) throws(ZeroMQError) -> Value {
    assert(isOnItsThread)
    var value = initial
    try retryingInterruptions("zmq_getsockopt", name) {
      var size = MemoryLayout<Value>.size
      return zmq_getsockopt(handle, number, &value, &size)
    }
    return value
  }

  private borrowing func bytes(_ number: Int32, upTo limit: Int, _ name: String) throws(ZeroMQError) -> [UInt8] {
    assert(isOnItsThread)
    var buffer = [UInt8](repeating: 0, count: limit)
    var size = limit
    try retryingInterruptions("zmq_getsockopt", name) {
      size = limit
      return zmq_getsockopt(handle, number, &buffer, &size)
    }
    return Array(buffer.prefix(size))
  }
}

extension SocketCore {
  func events() throws(ZeroMQError) -> Readiness {
    assert(isOnItsThread)
    var events: Int32 = 0
    try retryingInterruptions("zmq_getsockopt", "events") {
      var size = MemoryLayout<Int32>.size
      return zmq_getsockopt(handle, ZMQ_EVENTS, &events, &size)
    }
    return Readiness(rawValue: Int16(truncatingIfNeeded: events))
  }
}
