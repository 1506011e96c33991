import BindingModel

/// A listener for announcements of the models below a prefix.
final class PrefixListener: Sendable {
  enum Event: Sendable {
    case model(id: String, version: UInt64, fields: Int)
    /// All existing models have been announced.
    case listed
    case pong(UInt64)
  }

  /// The name under which listeners for `pong` are registered; no prefix has it.
  static let pongs = "@pong"

  private let receive: @Sendable (Event) -> Void

  init(_ receive: @escaping @Sendable (Event) -> Void) { self.receive = receive }

  func notify(_ event: Event) { receive(event) }
}

/// The listeners of a peer, by prefix.
struct PrefixListeners: Sendable {
  private var byPrefix: [String: [PrefixListener]] = [:]

  subscript(prefix: String) -> [PrefixListener] { byPrefix[prefix] ?? [] }

  mutating func add(_ listener: PrefixListener, to prefix: String) { byPrefix[prefix, default: []].append(listener) }

  /// - Returns: whether it was the prefix's last.
  mutating func remove(_ listener: PrefixListener, from prefix: String) -> Bool {
    guard let others = byPrefix[prefix]?.filter({ $0 !== listener }) else { return false }
    byPrefix[prefix] = others.isEmpty ? nil : others
    return others.isEmpty
  }
}
