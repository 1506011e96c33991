package import ZeroMQ

/// Who is at the other end of a connection, as the authenticator admitted it. libzmq carries the text with each
/// message.
package enum HubUser: Hashable, Sendable {
  /// A member, by one of its keys.
  case member(PublicKey)
  /// The holder of an invitation's one-time key: it may enrol a key of its own, and nothing else.
  case invited(id: String)
  /// A user of this machine.
  case local(userID: UInt32)
  /// Another hub of the same log, which has the hub's own key.
  case sibling
}

extension HubUser {
  /// Whether a name is that of a local user, `uid:N`, written in its one way.
  package static func isLocal(_ name: String) -> Bool {
    guard let user = HubUser(name), case .local = user else { return false }
    return name == "\(user)"
  }
}

extension HubUser: CustomStringConvertible {
  /// Reads the text; nil if it is none.
  package init?(_ text: String) {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    let rest = String(text[text.index(after: colon)...])
    let user: HubUser? =
      switch text[..<colon] {
      case "key": PublicKey(rest).map { .member($0) }
      case "invite": .invited(id: rest)
      case "uid": UInt32(rest).map { .local(userID: $0) }
      case "hub" where rest == "sibling": .sibling
      default: nil
      }
    guard let user else { return nil }
    self = user
  }

  package var description: String {
    switch self {
    case .member(let key): "key:\(key)"
    case .invited(let id): "invite:\(id)"
    case .local(let number): "uid:\(number)"
    case .sibling: "hub:sibling"
    }
  }
}
