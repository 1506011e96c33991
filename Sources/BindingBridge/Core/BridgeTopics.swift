/// The topics of a bridge: `bindbus/shop/kiosk-1/level/state` is the field `level` of the model `shop/kiosk-1`.
package struct BridgeTopics: Equatable, Sendable {
  /// What all of them begin with, without a slash at its end.
  package let root: String

  /// - Returns: nil if a topic cannot begin so: it is empty, or has a wildcard, an empty part or a zero byte.
  package init?(root: String) {
    let parts = root.split(separator: "/", omittingEmptySubsequences: false)
    guard !root.isEmpty, root.utf8.count <= 200, !parts.contains(""), !root.contains(where: { "+#\0$".contains($0) })
    else { return nil }
    self.root = root
  }

  /// Whether the bridge is there and has a hub: `online` or `offline`, retained.
  package var availability: String { "\(root)/availability" }
  /// The field's value, retained.
  package func state(_ model: String, _ field: String) -> String { "\(root)/\(model)/\(field)/state" }
  /// Where values for it are received.
  package func set(_ model: String, _ field: String) -> String { "\(root)/\(model)/\(field)/set" }
  /// Why one was not taken.
  package func refused(_ model: String, _ field: String) -> String { "\(root)/\(model)/\(field)/refused" }
  /// What a bridge subscribes to for a model.
  package func sets(of model: String) -> String { "\(root)/\(model)/+/set" }
  /// All topics of the bridge.
  package var all: String { "\(root)/#" }

  /// The model and the field of a topic with this end; nil: it is none.
  package func field(of topic: String, end: String) -> (model: String, field: String)? {
    guard topic.hasPrefix(root + "/") else { return nil }
    let parts = topic.dropFirst(root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count >= 3, parts.last == Substring(end), !parts.contains("") else { return nil }
    return (parts.dropLast(2).joined(separator: "/"), String(parts[parts.count - 2]))
  }
}
