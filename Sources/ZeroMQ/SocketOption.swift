import CZMQ

/// A setting of a socket, with its unit in its name. Unless stated otherwise it applies to connections made
/// afterwards, so set it before ``Socket/bind(_:)`` and ``Socket/connect(_:)``. A value out of range is refused as
/// `EINVAL`.
package enum SocketOption: Equatable, Sendable {
  /// Messages queued for sending per connection; 0: no limit. At the limit a `pub` silently drops messages; other
  /// kinds block.
  case sendHighWaterMark(messages: Int)
  /// Messages queued after receiving, per connection; 0: no limit.
  case receiveHighWaterMark(messages: Int)
  /// The largest accepted frame; nil: any. A larger one resets its connection without notice to its sender, so
  /// senders must know the limit. Give an `xpub` at least 512: key handshakes need that.
  case maximumMessageSize(bytes: Int?)
  /// Sends a ping every interval, and ends the connection if nothing arrives within the timeout. 0 and 0: no
  /// heartbeats, and a dead network goes unnoticed. The other side is told to give up after the timeout, too.
  case heartbeat(intervalMilliseconds: Int, timeoutMilliseconds: Int)
  /// The time within which a connection must complete its handshake.
  case handshakeInterval(milliseconds: Int)
  /// The time within which a connect must succeed; 0: the system's default.
  case connectTimeout(milliseconds: Int)
  /// Queue only for completed connections.
  case immediate(Bool)
  /// How long closing continues to send queued messages; negative: until done.
  case linger(milliseconds: Int)
  /// The pause before reconnecting; nil: never reconnect.
  case reconnectInterval(milliseconds: Int?)
  /// The name by which a `router` at the other end knows this socket.
  case routingID(RoutingID)
  /// On a `router`: report when a message cannot reach its id, instead of silently dropping it.
  case routerMandatory(Bool)
  /// On a `router`: give an id that is claimed again to the newer connection. Off, because any client can claim any
  /// id.
  case routerHandover(Bool)
  /// On an `xpub`: report every subscription, including repeated ones.
  case xpubVerbose(Bool)
  /// Connections that may wait to be accepted.
  case backlog(connections: Int)
  case ipv6(Bool)
  /// The connections of the next bind are served by this I/O thread of the context, counted from 0, and no other.
  case ioThread(Int)
  /// The next bind accepts encrypted connections only, from those who know the public key to this secret one.
  case encryptedServer(SecretKey)
  /// Connections are encrypted, to the owner of that public key only, and prove to have this pair.
  case encryptedClient(server: PublicKey, own: KeyPair)
  /// The next bind accepts plain connections, after one that accepted encrypted ones.
  case unencrypted
  /// The next bind asks the context's ``Authenticator`` about each connection, naming this domain; without one it
  /// refuses them all.
  case authenticationDomain(String)
  /// The next bind takes over a descriptor that listens already, with its endpoint; nil: it makes its own.
  case listeningDescriptor(Int32?)
}

extension SocketOption {
  /// One libzmq option and its value.
  enum Setting {
    case int32(Int32, Int, String)
    case int64(Int32, Int64, String)
    case bytes(Int32, [UInt8], String)
  }

  var settings: [Setting] {
    switch self {
    case .sendHighWaterMark(let messages): [.int32(ZMQ_SNDHWM, messages, "ZMQ_SNDHWM")]
    case .receiveHighWaterMark(let messages): [.int32(ZMQ_RCVHWM, messages, "ZMQ_RCVHWM")]
    case .maximumMessageSize(let bytes): [.int64(ZMQ_MAXMSGSIZE, Int64(bytes ?? -1), "ZMQ_MAXMSGSIZE")]
    case .heartbeat(let interval, let timeout):
      [
        .int32(ZMQ_HEARTBEAT_IVL, interval, "ZMQ_HEARTBEAT_IVL"),
        .int32(ZMQ_HEARTBEAT_TIMEOUT, timeout, "ZMQ_HEARTBEAT_TIMEOUT"),
        .int32(ZMQ_HEARTBEAT_TTL, timeout, "ZMQ_HEARTBEAT_TTL"),
      ]
    case .handshakeInterval(let time): [.int32(ZMQ_HANDSHAKE_IVL, time, "ZMQ_HANDSHAKE_IVL")]
    case .connectTimeout(let time): [.int32(ZMQ_CONNECT_TIMEOUT, time, "ZMQ_CONNECT_TIMEOUT")]
    case .immediate(let on): [.flag(ZMQ_IMMEDIATE, on, "ZMQ_IMMEDIATE")]
    case .linger(let time): [.int32(ZMQ_LINGER, max(time, -1), "ZMQ_LINGER")]
    case .reconnectInterval(let time): [.int32(ZMQ_RECONNECT_IVL, time ?? -1, "ZMQ_RECONNECT_IVL")]
    case .routingID(let id): [.bytes(ZMQ_ROUTING_ID, id.bytes, "ZMQ_ROUTING_ID")]
    case .routerMandatory(let on): [.flag(ZMQ_ROUTER_MANDATORY, on, "ZMQ_ROUTER_MANDATORY")]
    case .routerHandover(let on): [.flag(ZMQ_ROUTER_HANDOVER, on, "ZMQ_ROUTER_HANDOVER")]
    case .xpubVerbose(let on): [.flag(ZMQ_XPUB_VERBOSE, on, "ZMQ_XPUB_VERBOSE")]
    case .backlog(let connections): [.int32(ZMQ_BACKLOG, connections, "ZMQ_BACKLOG")]
    case .ipv6(let on): [.flag(ZMQ_IPV6, on, "ZMQ_IPV6")]
    case .ioThread(let number): [.int64(ZMQ_AFFINITY, 1 << Int64(number), "ZMQ_AFFINITY")]
    case .encryptedServer(let secret):
      [
        .flag(ZMQ_CURVE_SERVER, true, "ZMQ_CURVE_SERVER"),
        .bytes(ZMQ_CURVE_SECRETKEY, secret.bytes, "ZMQ_CURVE_SECRETKEY"),
      ]
    case .encryptedClient(let server, let own):
      [
        .bytes(ZMQ_CURVE_SERVERKEY, server.bytes, "ZMQ_CURVE_SERVERKEY"),
        .bytes(ZMQ_CURVE_PUBLICKEY, own.publicKey.bytes, "ZMQ_CURVE_PUBLICKEY"),
        .bytes(ZMQ_CURVE_SECRETKEY, own.secretKey.bytes, "ZMQ_CURVE_SECRETKEY"),
      ]
    case .unencrypted: [.flag(ZMQ_CURVE_SERVER, false, "ZMQ_CURVE_SERVER")]
    case .authenticationDomain(let domain):
      [
        .bytes(ZMQ_ZAP_DOMAIN, Array(domain.utf8), "ZMQ_ZAP_DOMAIN"),
        .flag(czmq_zap_enforce_domain_option, true, "ZMQ_ZAP_ENFORCE_DOMAIN"),
      ]
    case .listeningDescriptor(let descriptor): [.int32(ZMQ_USE_FD, Int(descriptor ?? -1), "ZMQ_USE_FD")]
    }
  }
}

extension SocketOption.Setting {
  static func flag(_ number: Int32, _ on: Bool, _ name: String) -> Self { .int32(number, on ? 1 : 0, name) }
}

extension SocketCore {
  func set(_ option: SocketOption) throws(ZeroMQError) {
    for setting in option.settings {
      switch setting {
      case .int32(let number, let value, let name):
        guard let narrow = Int32(exactly: value) else {
          throw ZeroMQError(code: ErrorName.invalid, call: "zmq_setsockopt", subject: "\(name) \(value)")
        }
        try setValue(number, narrow, name)
      case .int64(let number, let value, let name): try setValue(number, value, name)
      case .bytes(let number, let bytes, let name):
        try bytes.withUnsafeBufferPointer { (buffer) throws(ZeroMQError) in
          try setBytes(number, UnsafeRawBufferPointer(buffer), name)
        }
      }
    }
  }

  func setBytes(_ number: Int32, _ bytes: UnsafeRawBufferPointer, _ name: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try retryingInterruptions("zmq_setsockopt", name) {
      zmq_setsockopt(handle, number, bytes.baseAddress, bytes.count)
    }
  }

  private func setValue<Value: FixedWidthInteger>(_ number: Int32, _ value: Value, _ name: String) throws(ZeroMQError) {
    assert(isOnItsThread)
    try retryingInterruptions("zmq_setsockopt", "\(name) \(value)") {
      withUnsafeBytes(of: value) { zmq_setsockopt(handle, number, $0.baseAddress, $0.count) }
    }
  }
}
