package import BindingProtocol
package import ZeroMQ

/// One encrypted connection to a hub, for one question that needs no session. Blocks the thread that made it.
package final class HubCall {
  private let context: Context
  private let socket: Socket
  private var events: SocketEvents

  /// What became of the question.
  package enum Result {
    case answered(Enrolment.Answer)
    /// The connection is open, and nothing was to be asked.
    case open
    /// The hub does not know the kind of question.
    case tooOld
    /// The hub does not know the key of who asks.
    case unknown
    /// The encryption failed: whoever answers does not have the key that was expected.
    case hungUp
    case silent
  }

  /// Begins to connect.
  /// - Parameters:
  ///   - server: the key that the hub must prove to have.
  ///   - own: the pair of who asks.
  package init(to address: String, server: PublicKey, own: KeyPair) throws(ZeroMQError) {
    context = try Context()
    socket = try Socket(.dealer, in: context)
    try socket.set([
      .encryptedClient(server: server, own: own), .linger(milliseconds: 0), .reconnectInterval(milliseconds: nil),
      .ipv6(address.hasPrefix("tcp://[")), .immediate(true),
    ])
    events = try SocketEvents(of: socket)
    try socket.connect(address)
  }

  /// - Parameter frame: the question; nil: whether the hub lets this pair in.
  package func ask(_ frame: [UInt8]?, milliseconds: Int) throws(ZeroMQError) -> Result {
    var poller = Poller()
    _ = poller.add(events)
    _ = poller.add(socket)
    var message = Message()
    let deadline = monotonicMilliseconds() + milliseconds
    while monotonicMilliseconds() < deadline {
      while let event = try events.next() {
        switch event.change {
        case .handshakeSucceeded:
          guard let frame else { return .open }
          _ = try socket.send(frame)
        case .handshakeFailed(.authentication): return .unknown
        case .handshakeFailed: return .hungUp
        case .closed, .disconnected: return .silent
        default: break
        }
      }
      while try socket.receive(into: &message) {
        if let answer = try? Enrolment.Answer(frame: message.unsafeBytes) { return .answered(answer) }
        let other = (try? HubMessage.decode(message.unsafeBytes))?.message
        if case .error(let error)? = other, error.code == .unknownKind { return .tooOld }
      }
      _ = try poller.wait(timeoutMilliseconds: 100)
    }
    return .silent
  }
}

extension KnownHub {
  /// The one of the two keys that the hub may have which it proves to have; nil: it may have one only, or none of them.
  /// Blocks the calling thread while it connects.
  package func provenKey(at address: HubAddress, milliseconds: Int = 2_000) -> PublicKey? {
    guard nextKey != nil, address.transport == .tcp else { return nil }
    return hubKeys.first { key in
      let call = try? HubCall(to: address.description, server: key, own: keys)
      if case .open? = try? call?.ask(nil, milliseconds: milliseconds) { return true }
      return false
    }
  }
}
