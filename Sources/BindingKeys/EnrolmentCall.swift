import BindingProtocol
package import ZeroMQ

/// Why an invitation did not make its bearer a member. The description names the cure.
package enum EnrolmentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No hub answered at any address.
  case unreachable([String])
  /// The hub does not know the one-time key.
  case unknownInvitation(member: String)
  /// Somebody answered who is not the hub that invited.
  case otherKey(address: String)
  /// The hub refused, in its own words.
  case refused(String)
  /// The system refused a socket.
  case system(String)

  package var description: String {
    switch self {
    case .unreachable(let addresses):
      "No hub answers at \(addresses.joined(separator: " or ")). Check that it runs, and that this machine can reach it"
    case .unknownInvitation(let member):
      "The hub does not accept this invitation: it has been withdrawn or has expired. Ask for another:  "
        + "bindhub invite \(member)"
    case .otherKey(let address):
      "What answers at \(address) hung up: it is not the hub that invited, or its key has changed. Ask for another "
        + "invitation"
    case .refused(let text): PrintedText.escaped(text)
    case .system(let problem): problem
    }
  }
}

extension Invitation {
  /// Asks the hub to make a key a member's. The same key may ask again, if the answer was lost. Blocks the calling
  /// thread.
  /// - Parameters:
  ///   - label: the machine that holds the key, in its own words.
  ///   - milliseconds: how long to wait at each address.
  /// - Returns: the member's name.
  package func enrol(_ key: PublicKey, label: String, milliseconds: Int = 5_000) throws(EnrolmentError) -> String {
    var problem: EnrolmentError?
    for address in addresses {
      let result: EnrolmentCall.Result
      do throws(ZeroMQError) {
        let call = try EnrolmentCall(self, at: "\(address)")
        result = try call.ask(Enrolment(key: key, label: label), milliseconds)
      } catch {
        throw .system("\(error)")
      }
      switch result {
      case .answered(.enrolled(let name)): return name
      case .answered(.refused(let text)): throw .refused(text)
      case .unknown: throw .unknownInvitation(member: member)
      // Another machine may have the address by now: the hub may answer at the next one.
      case .hungUp: problem = .otherKey(address: "\(address)")
      case .silent: break
      }
    }
    throw problem ?? .unreachable(addresses.map(\.description))
  }
}

/// One connection with the one-time key.
private final class EnrolmentCall {
  private let context: Context
  private let socket: Socket
  private var events: SocketEvents

  enum Result {
    case answered(Enrolment.Answer)
    /// The hub does not know the one-time key.
    case unknown
    /// The encryption failed.
    case hungUp
    case silent
  }

  init(_ invitation: Invitation, at address: String) throws(ZeroMQError) {
    context = try Context()
    socket = try Socket(.dealer, in: context)
    try socket.set([
      .encryptedClient(server: invitation.hubKey, own: try KeyPair(of: invitation.secret)), .linger(milliseconds: 0),
      .reconnectInterval(milliseconds: nil), .ipv6(address.hasPrefix("tcp://[")), .immediate(true),
    ])
    events = try SocketEvents(of: socket)
    try socket.connect(address)
  }

  func ask(_ enrolment: Enrolment, _ milliseconds: Int) throws(ZeroMQError) -> Result {
    var poller = Poller()
    _ = poller.add(events)
    _ = poller.add(socket)
    var message = Message()
    let deadline = monotonicMilliseconds() + milliseconds
    while monotonicMilliseconds() < deadline {
      while let event = try events.next() {
        switch event.change {
        case .handshakeSucceeded: _ = try socket.send(enrolment.frame)
        case .handshakeFailed(.authentication): return .unknown
        case .handshakeFailed: return .hungUp
        case .closed, .disconnected: return .silent
        default: break
        }
      }
      while try socket.receive(into: &message) {
        if let answer = try? Enrolment.Answer(frame: message.unsafeBytes) { return .answered(answer) }
      }
      _ = try poller.wait(timeoutMilliseconds: 100)
    }
    return .silent
  }
}
