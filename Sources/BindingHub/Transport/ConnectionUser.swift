import BindingKeys
import ZeroMQ

/// Who is at the other end of a connection of a hub with keys.
struct ConnectionUser {
  let user: HubUser
  /// The connection's file descriptor.
  let descriptor: Int32?
  private let name: ContiguousArray<CChar>

  /// Reads who sent a message; nil for one that no authenticator admitted.
  init?(of message: borrowing Message) {
    guard let name = message.user, let user = HubUser(name) else { return nil }
    self.user = user
    self.name = name.utf8CString
    descriptor = message.sourceFileDescriptor
  }

  /// Whether a message came from the same user over the same connection. Cheap enough for each message.
  func sent(_ message: borrowing Message) -> Bool {
    message.isFrom(name) && message.sourceFileDescriptor == descriptor
  }

  func cut() {
    if let descriptor { ConnectionCut.shutdownConnection(fileDescriptor: descriptor) }
  }
}
