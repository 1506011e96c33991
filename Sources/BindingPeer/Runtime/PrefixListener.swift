import BindingModel

/// Somebody who wants to know of the models below a prefix.
final class PrefixListener: Sendable {
  enum Event: Sendable {
    case model(id: String, version: UInt64, fields: Int)
    /// All that exist have been told.
    case listed
    case pong(UInt64)
  }

  /// Under this name those listen who sent a `ping`; no prefix has it.
  static let pongs = "@pong"

  private let receive: @Sendable (Event) -> Void

  init(_ receive: @escaping @Sendable (Event) -> Void) { self.receive = receive }

  func notify(_ event: Event) { receive(event) }
}
