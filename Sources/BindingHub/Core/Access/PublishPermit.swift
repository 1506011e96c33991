import BindingProtocol

/// Allows to send a frame to everybody with the right `fanout`. Nothing is published without one, and only this file
/// makes them.
struct PublishPermit: Hashable, Sendable {
  private init() {}

  /// For heartbeats, which concern no model.
  static let heartbeat = PublishPermit()

  /// - Returns: nil if somebody with `fanout` may not read the model, stored or ephemeral.
  init?(for id: String, by policy: AccessPolicy?) {
    guard let policy else { return }
    guard policy.isPublished(Names.storedModel(of: id)) else { return nil }
  }
}
