import BindingProtocol

/// What one user may, by all its roles together. A right is a function of names alone, so it is decided before
/// anything is looked up: what exists and what does not are refused alike.
package struct UserRights: Hashable, Sendable {
  /// The user; empty: everybody, at a hub without a policy.
  package let name: String
  /// nil: everything is allowed.
  private let roles: [AccessRole]?
  let roleNames: [String]

  /// Everything.
  package static let all = UserRights()

  /// Nothing.
  static let none = UserRights(name: "", roles: [], roleNames: [])

  private init() { (name, roles, roleNames) = ("", nil, []) }

  init(name: String, roles: [AccessRole], roleNames: [String]) {
    (self.name, self.roles, self.roleNames) = (name, roles, roleNames)
  }

  package var isUnlimited: Bool { roles == nil }
  /// Whether it may connect to the publishing socket.
  package var hasFanout: Bool { has(\.fanout) }
  package var mayRecover: Bool { has(\.recover) }
  package var isAdmin: Bool { has(\.admin) }

  /// Whether it may read a model, stored or ephemeral.
  package func mayRead(_ id: String) -> Bool {
    guard let roles else { return true }
    let model = Names.storedModel(of: id)
    return roles.contains { $0.allows(.read, on: model) }
  }

  /// What it may do with a model; an ephemeral model goes by the rights on its stored one.
  package func rights(on id: String) -> ModelRights {
    guard let roles else { return .all }
    let model = Names.storedModel(of: id)
    func any(_ right: AccessRole.Right) -> Bool { roles.contains { $0.allows(right, on: model) } }
    func fields(_ right: AccessRole.Right) -> FieldSelection {
      FieldSelection(roles.flatMap { $0.patterns[right] ?? [] }.filter { $0.matches(model: model) })
    }
    return ModelRights(
      mayOwn: any(.own), mayBePresent: any(.present), mayDescribe: any(.describe), mayRecover: mayRecover,
      write: fields(.write), delete: fields(.delete))
  }

  /// Who is refused, in words that name its roles and no pattern: patterns tell what exists.
  package var words: String {
    let roles = roleNames.isEmpty ? "no role" : roleNames.sorted().joined(separator: ", ")
    return "\(PrintedText.escaped(name)) (\(roles))"
  }

  private func has(_ right: KeyPath<AccessRole, Bool>) -> Bool { roles?.contains { $0[keyPath: right] } ?? true }
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

  /// Whether its replica is believed when the hub has lost commits.
  package var isBelieved: Bool { mayRecover || write == .all }

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

  init(_ patterns: [AccessPattern]) {
    if patterns.isEmpty {
      self = .none
    } else if patterns.contains(where: { !$0.namesFields }) {
      self = .all
    } else {
      self = .some(patterns)
    }
  }

  /// Patterns of its names. Too many for a message are told as one that matches all: the hub decides in any case.
  fileprivate var patterns: [NamePattern] {
    switch self {
    case .none: return []
    case .all: return [.everything]
    case .some(let patterns):
      let fields = patterns.compactMap(\.field)
      return fields.count > Int(UInt8.max) ? [.everything] : fields
    }
  }

  package func contains(_ field: String) -> Bool {
    switch self {
    case .none: false
    case .all: true
    case .some(let patterns): patterns.contains { $0.matches(field: field) }
    }
  }
}
