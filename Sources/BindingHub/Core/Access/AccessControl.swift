import BindingProtocol

/// Who is at the other end of each request connection, and what each may do.
struct AccessControl {
  /// nil: everybody may do everything.
  private(set) var policy: AccessPolicy?
  private var users: [ConnectionID: (principal: HubPrincipal, rights: UserRights)] = [:]
  /// What was asked without the right to it, since the last drain; few, as nobody may fill the hub's memory.
  private var denied: [String] = []
  private static let mostDenied = 16
  /// The users remembered before those without a session are forgotten.
  private var quota = 1_024

  /// What may be done over a connection: nothing, as long as nobody has said whose it is.
  func rights(of connection: ConnectionID) -> UserRights {
    guard policy != nil, connection < HubMachine.firstInProcessConnection else { return .all }
    return users[connection]?.rights ?? .none
  }

  /// What limits the writes of a connection to a model; nil: nothing.
  func limitation(of connection: ConnectionID, in model: String) -> WriteLimitation? {
    let user = rights(of: connection)
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
    users[connection] = (user, policy?.rights(of: user) ?? .all)
  }

  /// Another policy is in force from now on.
  /// - Returns: the connections whose rights have changed.
  mutating func apply(_ policy: AccessPolicy?) -> [ConnectionID] {
    self.policy = policy
    var changed: [ConnectionID] = []
    for (connection, user) in users {
      let rights = policy?.rights(of: user.principal) ?? .all
      if rights != user.rights { changed.append(connection) }
      users[connection] = (user.principal, rights)
    }
    return changed.sorted()
  }
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
    guard let limitation else { return }
    let field = field()
    guard
      let right = limitation.rights.missing(
        toChange: field, isDeletion: verb == .delete, isEphemeral: model.ephemeral != nil)
    else { return }
    throw limitation.refusal("\(model.id).\(field)", right)
  }

  /// Refuses to delete all fields without the right to delete each field that there may be.
  func checkRightToClear(_ model: ModelLog) throws(Verdict) {
    guard let limitation, let right = limitation.rights.missingToClear(isEphemeral: model.ephemeral != nil) else {
      return
    }
    throw limitation.refusal(model.id, right)
  }
}

extension WriteLimitation {
  fileprivate func refusal(_ place: String, _ right: AccessRole.Right) -> Sequencer.Verdict {
    .refused(.notPermitted, "\(place): \(user.words) lacks the right \(right.rawValue)")
  }
}
