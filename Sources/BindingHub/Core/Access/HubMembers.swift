/// For whom a gateway may speak: the members, without those who are kicked, each with the roles that its invitations
/// gave it. The authenticator's list, without keys.
package struct HubMembers: Hashable, Sendable {
  /// The roles by name.
  package private(set) var roles: [String: Set<String>] = [:]

  /// Nobody.
  package init() {}

  /// Adds a member by one of its keys or pages.
  package mutating func add(_ name: String, role: String?) {
    roles[name, default: []].formUnion(role.map { [$0] } ?? [])
  }

  mutating func remove(_ name: String) { roles[name] = nil }

  /// The same without some of them.
  package func without(_ names: some Sequence<String>) -> HubMembers {
    var rest = self
    for name in names { rest.remove(name) }
    return rest
  }

  /// Whether a name is a member's, and the role one that an invitation gave it.
  func contains(_ name: String, as role: String?) -> Bool {
    guard let given = roles[name] else { return false }
    return role.map { given.contains($0) } ?? true
  }
}
