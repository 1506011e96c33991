package import BindingProtocol

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

/// Sessions that speak for somebody else than their connection's user.
extension HubMachine {
  /// What a peer is told that cannot read the messages of a hub with keys.
  static let usersNeeded =
    "this hub has keys and names users in its messages, which this peer cannot read; it needs a version with the "
    + "capability \(Capability.users)"

  /// Lets gateways speak for these members from now on, and for nobody else; nil: for nobody. Sessions that speak for
  /// another end with the drain, before it decides anything.
  package mutating func apply(_ members: HubMembers?) {
    hub.access.apply(members)
    recovery.believeOthers(&hub)
  }

  /// Tells every session, and later ones after their welcome, which keys the hub has and will have.
  package mutating func announce(_ keys: AnnouncedKeys, into output: inout HubOutput) {
    hub.keys = keys
    for session in hub.sessions.inOrder { hub.sendKeys(to: session.id, &output) }
  }

  /// What a welcome says of the hub and, for a session that speaks for somebody, that the hub knows it and what pages
  /// show by it.
  func capabilities(on connection: ConnectionID, representing user: UserRights?) -> [String] {
    let counts = hub.mayCount(connection) ? [Capability.counts] : []
    var all = edgeCapabilities(Capability.all + [Capability.writes] + counts)
    if hub.configuration.isInsecure { all.append(Capability.insecure) }
    guard let user else { return all }
    return all + [Capability.representing] + (user.isUnlimited || user.isAdmin ? [Capability.administering] : [])
  }

  /// Refuses what concerns the whole hub to those without the right to it.
  mutating func isAdmin(_ header: PeerHeader, _ connection: ConnectionID, _ output: inout HubOutput) -> Bool {
    let user = hub.access.rights(in: header.session, on: connection)
    guard !user.isUnlimited, !user.isAdmin else { return true }
    hub.deny("\(user.words) lacks the right admin", header.session, connection, &output)
    return false
  }

  /// Ends the sessions that speak for somebody who is a member no longer, or may do something else now. Nothing that
  /// is decided from now on reaches them.
  mutating func endRepresented(_ time: HubTime, _ output: inout HubOutput) {
    for id in hub.access.takeEnded() {
      guard let session = hub.sessions[id] else { continue }
      hub.error(
        .notPermitted, "\(session.identity.user ?? "") may not go on in this session; say hello again", id,
        session.connection, &output)
      end(id, time, forgetting: false, &output)
    }
  }
}
