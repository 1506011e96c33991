import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The part of a socket that its poller and its monitor share, so that both notice when the socket closes before
/// them.
final class SocketCore {
  let kind: Socket.Kind
  let handle: UnsafeMutableRawPointer
  private let context: Context
  private let owner = pthread_self()
  private(set) var isOpen = true
  private var isMonitored = false

  /// - Parameter isBare: keep libzmq's own defaults.
  init(_ kind: Socket.Kind, in context: Context, isBare: Bool = false) throws(ZeroMQError) {
    guard let handle = zmq_socket(context.handle, kind.number) else { throw .last("zmq_socket", kind.rawValue) }
    self.kind = kind
    self.handle = handle
    self.context = context
    if !isBare {
      for option in kind.conventions { try set(option) }
    }
  }

  deinit { close() }

  var isOnItsThread: Bool { pthread_equal(owner, pthread_self()) != 0 }

  /// Ends the events before the socket. libzmq reports them by a blocking send, which would hang an I/O thread
  /// forever if the reader closed first.
  func close() {
    guard isOpen else { return }
    stopMonitoring()
    isOpen = false
    zmq_close(handle)
  }

  /// Makes a socket in the same context that reads the events of this one.
  func makeMonitorReader() throws(ZeroMQError) -> Socket { try Socket(.pair, in: context) }

  func startMonitoring(at endpoint: String, events: Int32) throws(ZeroMQError) {
    try retryingInterruptions("zmq_socket_monitor", endpoint) { zmq_socket_monitor(handle, endpoint, events) }
    isMonitored = true
  }

  func stopMonitoring() {
    guard isMonitored, isOpen else { return }
    isMonitored = false
    zmq_socket_monitor(handle, nil, 0)
  }
}

extension Socket.Kind {
  var number: Int32 {
    switch self {
    case .dealer: ZMQ_DEALER
    case .router: ZMQ_ROUTER
    case .xpub: ZMQ_XPUB
    case .sub: ZMQ_SUB
    case .pub: ZMQ_PUB
    case .pair: ZMQ_PAIR
    }
  }

  /// The options that replace libzmq's unsuitable defaults; ``Socket`` gives the reasons.
  var conventions: [SocketOption] {
    let common: [SocketOption] = [.handshakeInterval(milliseconds: 5_000), .linger(milliseconds: 0)]
    let own: [SocketOption] =
      switch self {
      case .sub: [.sendHighWaterMark(messages: 0)]
      case .dealer: [.routingID(.random()), .reconnectInterval(milliseconds: nil)]
      case .router: [.routerMandatory(true), .routerHandover(false)]
      case .xpub: [.xpubVerbose(true)]
      case .pub, .pair: []
      }
    return common + own
  }
}
