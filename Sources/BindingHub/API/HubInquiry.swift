import BindingKeys
import BindingProtocol
import ZeroMQ

/// A connection to a hub for questions that need no session. Belongs to the thread that created it.
final class HubInquiry {
  private let context: Context
  private let socket: Socket
  private var message = Message()

  /// Nil if the address cannot be connected to.
  /// - Parameter member: the hub as this user has joined it, for an encrypted address.
  init?(to address: HubAddress, as member: KnownHub? = nil) {
    let keys = member?.options(to: address.description, as: member?.provenKey(at: address)) ?? []
    guard let context = try? Context(), let socket = try? Socket(.dealer, in: context),
      (try? socket.set([.ipv6(address.hostOrPath.hasPrefix("["))] + keys)) != nil,
      (try? socket.connect(address.description)) != nil
    else { return nil }
    self.context = context
    self.socket = socket
  }

  /// Sends a question and waits on the calling thread; nil if no readable answer arrives in time.
  func ask(_ question: PeerMessage, timeout: Duration) -> HubMessage? {
    guard (try? socket.send(question.encode(session: 0, start: 0), [])) == .sent,
      (try? socket.wait(for: .readable, timeoutMilliseconds: Int(clamping: timeout.wholeMilliseconds))) == true,
      (try? socket.receive(into: &message)) == true
    else { return nil }
    return (try? HubMessage.decode(message.unsafeBytes))?.message
  }
}
