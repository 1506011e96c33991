import BindingProtocol
import ZeroMQ

/// Tries to connect as a stranger, because a mistake in the settings of libzmq lets everybody in without a sign: a
/// hub serves only when each of its encrypted endpoints has refused a key that nobody knows.
struct SelfTest: ~Copyable {
  private let context: Context
  private let server: PublicKey
  private let own: KeyPair
  private let limitMilliseconds: Int

  /// - Parameters:
  ///   - server: the hub's key.
  ///   - own: a pair that nobody knows.
  ///   - milliseconds: how long to wait for the refusal.
  init(of server: PublicKey, as own: KeyPair, milliseconds: Int = 5_000) throws(ZeroMQError) {
    context = try Context()
    (self.server, self.own, limitMilliseconds) = (server, own, milliseconds)
  }

  /// Connects, and waits for the refusal.
  /// - Returns: what came instead; nil: the stranger was refused, and nothing else happened.
  borrowing func stranger(at endpoint: String, as kind: Socket.Kind) throws(ZeroMQError) -> String? {
    let socket = try Socket(kind, in: context)
    try socket.set([
      .encryptedClient(server: server, own: own), .reconnectInterval(milliseconds: nil),
      .linger(milliseconds: 0), .ipv6(endpoint.hasPrefix("tcp://[")),
    ])
    var events = try SocketEvents(of: socket)
    if kind == .sub { try socket.subscribe([]) }
    try socket.connect(endpoint)
    var poller = Poller()
    _ = poller.add(events)
    let deadline = monotonicMilliseconds() + limitMilliseconds
    while monotonicMilliseconds() < deadline {
      while let event = try events.next() {
        switch event.change {
        case .handshakeFailed(.authentication(status: 400)): return nil
        case .handshakeSucceeded: return "let a stranger in"
        case .handshakeFailed(let failure): return "answered a stranger with \(failure)"
        default: break
        }
      }
      _ = try poller.wait(timeoutMilliseconds: 100)
    }
    return "did not answer a stranger"
  }
}
