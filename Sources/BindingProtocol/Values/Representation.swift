/// Somebody for whom a gateway speaks in a session of its connection: named among a hello's capabilities as `for:NAME`,
/// or as `for:NAME:ROLE` with the role of an invitation (§15.6).
package struct Representation: Hashable, Sendable {
  /// The member.
  package var name: String
  /// What its invitation gave it; it counts where the hub's policy does not name the member.
  package var role: String?

  private static let prefix = Capability.representing + ":"

  /// Makes one.
  package init(name: String, role: String? = nil) { (self.name, self.role) = (name, role) }

  /// Reads a capability; nil: it is another one.
  package init?(capability: String) {
    guard capability.hasPrefix(Representation.prefix) else { return nil }
    let parts = capability.dropFirst(Representation.prefix.count)
      .split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    self.init(name: String(parts[0]), role: parts.count > 1 ? String(parts[1]) : nil)
  }

  /// How a hello names it.
  package var text: String { Representation.prefix + name + (role.map { ":" + $0 } ?? "") }
}
