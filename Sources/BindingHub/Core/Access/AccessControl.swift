import BindingProtocol

/// Who is at the other end of each request connection, for whom its sessions speak, and what each may do.
struct AccessControl {
  /// nil: everybody may do everything.
  private(set) var policy: AccessPolicy?
  private var users: [ConnectionID: (principal: HubPrincipal, rights: UserRights)] = [:]
  /// Whether another hub of the log has connected: it only reads, also where everybody may do everything.
  private var hasSiblings = false
  /// The sessions that speak for another than their connection's user.
  private var represented: [SessionID: RepresentedUser] = [:]
  /// For whom a gateway may speak; nil: the hub knows no members.
  private var members: HubMembers?
  /// The sessions that speak for somebody who may do something else now, since the last drain.
  private var ended: Set<SessionID> = []
  /// What was asked without the right to it, since the last drain; few, as nobody may fill the hub's memory.
  private var denied: [String] = []
  private static let mostDenied = 16
  /// The users remembered before those without a session are forgotten.
  private var quota = 1_024

  /// What may be done over a connection: nothing, as long as nobody has said whose it is.
  func rights(of connection: ConnectionID) -> UserRights {
    guard policy != nil || hasSiblings, connection < HubMachine.firstInProcessConnection else { return .all }
    if policy == nil { return users[connection]?.rights ?? .all }
    return users[connection]?.rights ?? .none
  }

  /// What may be done in a session: what its user may, or for whom it speaks.
  func rights(in session: SessionID, on connection: ConnectionID) -> UserRights {
    // No look-up for the hubs without a gateway that speaks for others.
    guard !represented.isEmpty, let user = represented[session], user.connection == connection else {
      return rights(of: connection)
    }
    return user.rights
  }

  func rights(of session: SessionRecord) -> UserRights { rights(in: session.id, on: session.connection) }

  /// What a session's rights follow from, to be asked for also when it is over.
  func standing(of session: SessionRecord) -> Standing {
    let somebody = represented[session.id].flatMap { $0.connection == session.connection ? $0.representation : nil }
    return Standing(
      isInProcess: session.connection >= HubMachine.firstInProcessConnection,
      principal: principal(of: session.connection), representation: somebody)
  }

  /// What may be done from now on with a standing of earlier.
  func rights(of standing: Standing) -> UserRights {
    guard !standing.isInProcess else { return .all }
    let own = standing.principal.map { rights(of: $0) } ?? (policy == nil ? .all : .none)
    guard let somebody = standing.representation else { return own }
    guard members?.contains(somebody.name, as: somebody.role) == true else { return .none }
    return rights(of: somebody, within: own)
  }

  /// What limits a session's writes to a model; nil: nothing.
  func limitation(in session: SessionID, on connection: ConnectionID, of model: String) -> WriteLimitation? {
    let user = rights(in: session, on: connection)
    return user.isUnlimited ? nil : WriteLimitation(user: user, rights: user.rights(on: model))
  }

  func isKnown(_ connection: ConnectionID) -> Bool { users[connection] != nil }

  /// Who is at the other end of a connection; nil: nobody has said, or it is within the hub's process.
  func principal(of connection: ConnectionID) -> HubPrincipal? { users.isEmpty ? nil : users[connection]?.principal }

  /// Whose a connection is and the roles that count, for people; nil: nobody has said, or it is the hub's own.
  func user(of connection: ConnectionID) -> (name: String, roles: [String])? {
    guard let user = users[connection], let name = user.principal.name else { return nil }
    return (name, user.rights.roleNames)
  }

  /// For whom a session speaks, else whose its connection is.
  func user(of session: SessionRecord) -> (name: String, roles: [String])? {
    guard let user = represented[session.id] else { return self.user(of: session.connection) }
    return (user.representation.name, user.rights.roleNames)
  }

  /// Remembers a denial for the log.
  mutating func deny(_ text: String) { if denied.count < AccessControl.mostDenied { denied.append(text) } }

  /// Hands the denials over.
  mutating func takeDenied() -> [String] {
    defer { if !denied.isEmpty { denied.removeAll() } }
    return denied
  }

  /// Records whose a connection is.
  mutating func identify(_ connection: ConnectionID, as user: HubPrincipal, _ sessions: SessionTable) {
    if users.count >= quota {
      users = users.filter { sessions.byConnection[$0.key] != nil }
      quota = 2 * users.count + 1_024
    }
    if user == .sibling { hasSiblings = true }
    users[connection] = (user, rights(of: user))
  }

  /// What somebody may do, by the policy if there is one.
  private func rights(of user: HubPrincipal) -> UserRights {
    user == .sibling ? .reader : policy?.rights(of: user) ?? .all
  }

  // MARK: Speaking for others

  /// Whether a connection's sessions may speak for others. Where everybody may do everything, the hub's own user may,
  /// and nobody else: it is a right over names.
  func isGateway(_ connection: ConnectionID) -> Bool {
    guard connection < HubMachine.firstInProcessConnection else { return true }
    guard let user = users[connection], user.rights.isGateway else { return false }
    if policy == nil, case .named = user.principal { return false }
    return true
  }

  /// For whom a hello speaks; nil: for its connection's user.
  /// - Throws: `Refusal` if it may not.
  func representation(in capabilities: [String], on connection: ConnectionID) throws(Refusal) -> Representation? {
    let claims = capabilities.compactMap { Representation(capability: $0) }
    guard let claim = claims.first else { return nil }
    guard isGateway(connection) else {
      throw Refusal(.notPermitted, "\(rights(of: connection).words) lacks the right gateway")
    }
    guard claims.count == 1 else { throw Refusal(.notPermitted, "a session speaks for one member, not for several") }
    guard members?.contains(claim.name, as: claim.role) == true else {
      throw Refusal(
        .notPermitted, "\(PrintedText.escaped(claim.name, limit: 80)) is no member with that role, or is kicked")
    }
    return claim
  }

  /// What a gateway may do for somebody.
  func rights(of somebody: Representation, through connection: ConnectionID) -> UserRights {
    rights(of: somebody, within: rights(of: connection))
  }

  private func rights(of somebody: Representation, within gateway: UserRights) -> UserRights {
    guard let policy else { return .all }
    return policy.rights(of: .named(somebody.name, role: somebody.role)).limited(to: gateway)
  }

  /// A session speaks for somebody.
  mutating func represent(_ somebody: Representation, in session: SessionID, through connection: ConnectionID) {
    let rights = rights(of: somebody, through: connection)
    represented[session] = RepresentedUser(representation: somebody, connection: connection, rights: rights)
  }

  /// A session has ended.
  mutating func forget(_ session: SessionID) {
    if !represented.isEmpty { represented[session] = nil }
  }

  /// Other members may be spoken for from now on.
  mutating func apply(_ members: HubMembers?) {
    self.members = members
    for (session, user) in represented
    where members?.contains(user.representation.name, as: user.representation.role) != true { ended.insert(session) }
  }

  /// Hands over the sessions that may not go on.
  mutating func takeEnded() -> [SessionID] {
    guard !ended.isEmpty else { return [] }
    defer { ended.removeAll() }
    return ended.sorted()
  }

  /// Another policy is in force from now on.
  /// - Returns: the connections whose rights have changed.
  mutating func apply(_ policy: AccessPolicy?) -> [ConnectionID] {
    self.policy = policy
    var changed: [ConnectionID] = []
    for (connection, user) in users {
      let rights = rights(of: user.principal)
      if rights != user.rights { changed.append(connection) }
      users[connection] = (user.principal, rights)
    }
    for (session, user) in represented {
      let rights = rights(of: user.representation, through: user.connection)
      if rights != user.rights { ended.insert(session) }
      represented[session]?.rights = rights
    }
    return changed.sorted()
  }
}

/// From which a session's rights follow, under any policy.
struct Standing {
  let isInProcess: Bool
  /// Whose its connection is; nil: nobody has said.
  let principal: HubPrincipal?
  /// For whom it speaks; nil: for its connection's user.
  let representation: Representation?
}

/// For whom a session speaks.
private struct RepresentedUser {
  let representation: Representation
  let connection: ConnectionID
  var rights: UserRights
}

/// What limits one session's writes to one model. A class, because a seat in the model carries it.
final class WriteLimitation: Sendable {
  let user: UserRights
  let rights: ModelRights

  init(user: UserRights, rights: ModelRights) { (self.user, self.rights) = (user, rights) }
}

/// Checks of a proposal's operations.
extension Sequencer {
  /// Refuses a change without the right to it. Whoever proposes has joined the model and may read it, so the answer
  /// tells nothing else.
  func checkRight(
    to verb: Verb, _ field: @autoclosure () -> String, in model: ModelLog
  ) throws(Verdict) {
    guard let refusal = limitation?.refusal(of: verb, field(), in: model) else { return }
    throw .refused(refusal.code, refusal.text)
  }

  /// Refuses to delete all fields without the right to delete each field that there may be.
  func checkRightToClear(_ model: ModelLog) throws(Verdict) {
    guard let refusal = limitation?.refusal(of: .clear, "", in: model) else { return }
    throw .refused(refusal.code, refusal.text)
  }
}

extension WriteLimitation {
  /// Why an operation is not permitted; nil: it is.
  /// - Parameters:
  ///   - verb: nil: one that this hub does not know, which changes the field.
  ///   - field: has no meaning with `clear`.
  func refusal(of verb: Verb?, _ field: @autoclosure () -> String, in model: ModelLog) -> Refusal? {
    let isEphemeral = model.ephemeral != nil
    let (place, right): (String, AccessRole.Right?)
    if verb == .clear {
      (place, right) = (model.id, rights.missingToClear(isEphemeral: isEphemeral))
    } else {
      let field = field()
      let missing = rights.missing(toChange: field, isDeletion: verb == .delete, isEphemeral: isEphemeral)
      (place, right) = ("\(model.id).\(field)", missing)
    }
    return right.map { Refusal(.notPermitted, "\(place): \(user.words) lacks the right \($0.rawValue)") }
  }
}
