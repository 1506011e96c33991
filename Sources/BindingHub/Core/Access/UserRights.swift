import BindingProtocol

/// What one user may, by all its roles together. A right is a function of names alone, so it is decided before
/// anything is looked up: what exists and what does not are refused alike.
package struct UserRights: Hashable, Sendable {
  /// The user; empty: everybody, at a hub without a policy.
  package let name: String
  /// nil: everything is allowed.
  private let roles: [AccessRole]?
  /// The roles of the gateway that speaks for the user: nothing beyond them is allowed. nil: everything is.
  private var carrierRoles: [AccessRole]?
  let roleNames: [String]

  /// Everything.
  package static let all = UserRights()

  /// Nothing.
  static let none = UserRights(name: "", roles: [], roleNames: [])

  /// To read everything, and what is published.
  static let reader = UserRights(
    name: "another hub of the log", roles: [AccessRole([.read: [.everything]], fanout: true)], roleNames: ["sibling"])

  private init() { (name, roles, roleNames) = ("", nil, []) }

  init(name: String, roles: [AccessRole], roleNames: [String]) {
    (self.name, self.roles, self.roleNames) = (name, roles, roleNames)
  }

  /// The same, as far as the gateway that speaks for the user may do it too.
  func limited(to gateway: UserRights) -> UserRights {
    var rights = self
    rights.carrierRoles = gateway.roles
    return rights
  }

  package var isUnlimited: Bool { roles == nil && carrierRoles == nil }
  /// Whether it may connect to the publishing socket.
  package var hasFanout: Bool { has(\.fanout) }
  package var mayRecover: Bool { has(\.recover) }
  package var isAdmin: Bool { has(\.admin) }
  /// Whether it may speak for other members.
  package var isGateway: Bool { has(\.gateway) }

  /// Whether it may read a model, stored or ephemeral.
  package func mayRead(_ id: String) -> Bool {
    let model = Names.storedModel(of: id)
    return isAllowed { $0.allows(.read, on: model) }
  }

  /// Whether it may ask for a model's earlier commits. Rights to read reach whole models, so a page has no field that
  /// may not be read.
  package func mayReadHistory(of id: String) -> Bool { isAllowed { $0.allows(.history, on: id) } }

  /// What it may do with a model; an ephemeral model goes by the rights on its stored one.
  package func rights(on id: String) -> ModelRights {
    let model = Names.storedModel(of: id)
    return UserRights.rights(of: roles, on: model).intersection(UserRights.rights(of: carrierRoles, on: model))
  }

  private static func rights(of roles: [AccessRole]?, on model: String) -> ModelRights {
    guard let roles else { return .all }
    func any(_ right: AccessRole.Right) -> Bool { roles.contains { $0.allows(right, on: model) } }
    func fields(_ right: AccessRole.Right) -> FieldSelection {
      FieldSelection(roles.flatMap { $0.patterns[right] ?? [] }.filter { $0.matches(model: model) })
    }
    return ModelRights(
      mayOwn: any(.own), mayBePresent: any(.present), mayDescribe: any(.describe),
      mayRecover: roles.contains(where: \.recover), write: fields(.write), delete: fields(.delete))
  }

  /// Who is refused, in words that name its roles and no pattern: patterns tell what exists.
  package var words: String {
    let roles = roleNames.isEmpty ? "no role" : roleNames.sorted().joined(separator: ", ")
    return "\(PrintedText.escaped(name)) (\(roles))"
  }

  private func has(_ right: KeyPath<AccessRole, Bool>) -> Bool { isAllowed { $0[keyPath: right] } }

  private func isAllowed(by role: (AccessRole) -> Bool) -> Bool {
    (roles?.contains(where: role) ?? true) && (carrierRoles?.contains(where: role) ?? true)
  }
}

/// What one user may do with one model.
package struct ModelRights: Hashable, Sendable {
  package var mayOwn: Bool
  package var mayBePresent: Bool
  package var mayDescribe: Bool
  package var mayRecover: Bool
  /// The fields that it may change, and those that it may delete.
  package var write: FieldSelection
  package var delete: FieldSelection

  /// Everything.
  package static let all = ModelRights(
    mayOwn: true, mayBePresent: true, mayDescribe: true, mayRecover: true, write: .all, delete: .all)

  /// What both allow.
  func intersection(_ other: ModelRights) -> ModelRights {
    guard self != .all else { return other }
    guard other != .all else { return self }
    return ModelRights(
      mayOwn: mayOwn && other.mayOwn, mayBePresent: mayBePresent && other.mayBePresent,
      mayDescribe: mayDescribe && other.mayDescribe, mayRecover: mayRecover && other.mayRecover,
      write: write.intersection(other.write), delete: delete.intersection(other.delete))
  }

  /// Whether its replica is believed when the hub has lost commits.
  package var isBelieved: Bool {
    mayRecover || write == .all
  }

  /// The same, as it is told to a session.
  func message(to session: SessionID, _ topic: Topic) -> SessionRights {
    SessionRights(
      session: session, topic: topic, mayOwn: mayOwn, mayBePresent: mayBePresent, mayDescribe: mayDescribe,
      write: write.patterns, delete: delete.patterns)
  }

  /// The right that a change of a field lacks; nil: none.
  func missing(toChange field: String, isDeletion: Bool, isEphemeral: Bool) -> AccessRole.Right? {
    if isEphemeral, field == Names.owner { return mayOwn ? nil : .own }
    if isEphemeral { return mayBePresent ? nil : .present }
    if field == Names.description { return mayDescribe ? nil : .describe }
    if isDeletion { return delete.contains(field) ? nil : .delete }
    return write.contains(field) ? nil : .write
  }

  /// The right that the deletion of all fields lacks; nil: none.
  func missingToClear(isEphemeral: Bool) -> AccessRole.Right? {
    if isEphemeral { return mayBePresent ? nil : .present }
    if delete != .all { return .delete }
    return mayDescribe ? nil : .describe
  }
}

/// Fields of one model.
package enum FieldSelection: Hashable, Sendable {
  case none
  /// All but the description.
  case all
  case some([AccessPattern])
  /// Those that a pattern of each list matches.
  case both([AccessPattern], [AccessPattern])

  init(_ patterns: [AccessPattern]) {
    if patterns.isEmpty {
      self = .none
    } else if patterns.contains(where: { !$0.namesFields }) {
      self = .all
    } else {
      self = .some(patterns)
    }
  }

  func intersection(_ other: FieldSelection) -> FieldSelection {
    switch (self, other) {
    case (.none, _), (_, .none): .none
    case (.all, let selection), (let selection, .all): selection
    case (.some(let left), .some(let right)): left == right ? .some(left) : .both(left, right)
    // Rights are cut once, to those of a gateway, which has no gateway of its own.
    case (.both, _), (_, .both): .none
    }
  }

  /// Patterns of its names, or of more than them. Too many for a message are told as one that
  /// matches all: the hub decides in any case.
  fileprivate var patterns: [NamePattern] {
    switch self {
    case .none: return []
    case .all: return [.everything]
    case .some(let patterns), .both(let patterns, _):
      let fields = patterns.compactMap(\.field)
      return fields.count > Int(UInt8.max) ? [.everything] : fields
    }
  }

  /// Whether a field is among them; an element of a list goes by its list.
  package func contains(_ field: String) -> Bool {
    let field = Names.whole(field)
    return switch self {
    case .none: false
    case .all: true
    case .some(let patterns): patterns.contains { $0.matches(field: field) }
    case .both(let left, let right):
      left.contains { $0.matches(field: field) } && right.contains { $0.matches(field: field) }
    }
  }
}
