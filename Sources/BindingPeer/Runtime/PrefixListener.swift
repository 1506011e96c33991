import BindingModel

/// Somebody who wants to know of the models below a prefix.
final class PrefixListener: Sendable {
  enum News: Sendable {
    case model(id: String, version: UInt64, fields: Int)
    /// All that exist have been told.
    case listed
    case pong(UInt64)
  }

  /// Under this name those listen who sent a `ping`; no prefix has it.
  static let pongs = "@pong"

  private let hear: @Sendable (News) -> Void

  init(_ hear: @escaping @Sendable (News) -> Void) { self.hear = hear }

  func tell(_ news: News) { hear(news) }
}
