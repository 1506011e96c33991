import BindingProtocol

/// Who may do what at a hub: roles, and the names that have them. What no role allows is denied.
package struct AccessPolicy: Hashable, Sendable {
  /// The roles by name.
  package var roles: [String: AccessRole] { didSet { limited = AccessPolicy.limited(roles) } }
  /// The roles of names: of members, of local users (`uid:1000`), and `*` for everybody who is not named.
  package var names: [String: [String]]
  /// The limits that roles name, by role; they change no right.
  package var limits: [String: [NameLimits.Kind: Int]]
  /// What each role with `fanout` reads that does not read every model; those that read the same count once. Usually
  /// there are none, however many roles there are.
  private var limited: [[AccessPattern]]

  /// Makes a policy.
  package init(
    roles: [String: AccessRole] = [:], names: [String: [String]] = [:], limits: [String: [NameLimits.Kind: Int]] = [:]
  ) {
    self.roles = roles
    self.names = names
    self.limits = limits
    limited = AccessPolicy.limited(roles)
  }

  private static func limited(_ roles: [String: AccessRole]) -> [[AccessPattern]] {
    var known: Set<[AccessPattern]> = []
    return roles.filter { $0.value.isLimitedSubscriber }.sorted { $0.key < $1.key }.compactMap { _, role in
      let readable = AccessRole.Right.reading.flatMap { role.patterns[$0] ?? [] }
      return known.insert(readable).inserted ? readable : nil
    }
  }

  /// What somebody may.
  package func rights(of user: HubPrincipal) -> UserRights {
    if user == .sibling { return .reader }
    guard let name = user.name, let given = roleNames(of: user) else { return .all }
    return UserRights(name: name, roles: given.compactMap { roles[$0] }, roleNames: given)
  }

  /// The roles that somebody has; nil: nothing limits it.
  func roleNames(of user: HubPrincipal) -> [String]? {
    switch user {
    // The file may give the hub's own user less.
    case .owner(let name): name.flatMap { names[$0] }
    case .named(let name, let role): names[name] ?? role.map { [$0] } ?? names["*"] ?? []
    case .sibling: nil
    }
  }

  /// Whether a model's messages may go to everybody who has the right `fanout`: every role with it may read the
  /// model, whoever has the role now.
  package func isPublished(_ model: String) -> Bool {
    limited.allSatisfy { $0.contains { $0.matches(model: model) } }
  }

  /// The roles with `fanout` that may not read a model, in order: because of them it is sent session by session.
  package func rolesThatPreventPublishing(_ model: String) -> [String] {
    roles.filter { $0.value.fanout && !$0.value.allows(.read, on: model) }.keys.sorted()
  }
}

/// Somebody whom a hub has let in.
package enum HubPrincipal: Hashable, Sendable {
  /// The user who runs the hub, or root, with the name by which a policy can limit it (`uid:0`); nil: a connection
  /// within the hub's process.
  case owner(name: String?)
  /// A member or another local user, with the role that its invitation gave it.
  case named(String, role: String?)
  /// Another hub of the same log: it reads, and nothing else.
  case sibling

  /// The name by which a policy knows it; nil: none.
  var name: String? {
    switch self {
    case .owner(let name): name
    case .named(let name, _): name
    case .sibling: nil
    }
  }
}

/// What a role allows.
package struct AccessRole: Hashable, Sendable {
  /// A right on models, or on fields of models.
  package enum Right: String, CaseIterable, Sendable {
    /// To join a model: its values, who is present, its commits from now on.
    case read
    /// To change fields. Includes `read`, as do the following: answers tell what a model holds.
    case write
    /// To delete fields.
    case delete
    /// To claim the ownership of a model, and so to judge others' writes.
    case own
    /// To hold ephemeral fields, and to announce something of oneself.
    case present
    /// To write a model's description.
    case describe
    /// To ask for earlier commits of a model that one may read. A role that does not name it has it wherever it may
    /// read.
    case history

    /// Those that let their bearer read the model, too.
    static let reading = allCases.filter { $0 != .history }

    /// Whether its patterns may name fields.
    package var isByField: Bool { self == .write || self == .delete }
  }

  /// What each right reaches.
  package var patterns: [Right: [AccessPattern]]
  /// To receive what the hub publishes to all: only models that every role with this right may read are published.
  package var fanout: Bool
  /// To have one's replicas believed when the hub has lost commits.
  package var recover: Bool
  /// To see the hub's status, and to compare replicas.
  package var admin: Bool
  /// To speak for other members, within one's own rights.
  package var gateway: Bool

  /// Makes a role.
  package init(
    _ patterns: [Right: [AccessPattern]] = [:], fanout: Bool = false, recover: Bool = false, admin: Bool = false,
    gateway: Bool = false
  ) {
    (self.patterns, self.fanout, self.recover) = (patterns, fanout, recover)
    (self.admin, self.gateway) = (admin, gateway)
  }

  /// Whether it allows something on a model; for a right by field, on any of its fields.
  package func allows(_ right: Right, on model: String) -> Bool {
    if right == .read { return Right.reading.contains { reaches($0, model) } }
    if right == .history { return allows(.read, on: model) && (patterns[.history] == nil || reaches(.history, model)) }
    return reaches(right, model)
  }

  /// Whether it has `fanout` and may not read every model.
  package var isLimitedSubscriber: Bool {
    fanout && !Right.reading.contains { patterns[$0]?.contains { $0.isEverything } ?? false }
  }

  private func reaches(_ right: Right, _ model: String) -> Bool {
    patterns[right]?.contains { $0.matches(model: model) } ?? false
  }
}

/// A pattern of model ids, or of model ids and of field names with a dot between.
package struct AccessPattern: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as it is written.
  package let description: String
  private let model: NamePattern
  /// nil: all fields but the description.
  let field: NamePattern?

  /// Every model, and every field but the description.
  static let everything = AccessPattern()

  private init() { (description, model, field) = ("*", .everything, nil) }

  /// Reads a pattern; nil: it can match nothing.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let model = NamePattern(parts[0]) else { return nil }
    (description, self.model) = (text, model)
    if parts.count > 1 {
      guard !parts[1].contains("/"), let field = NamePattern(parts[1]) else { return nil }
      self.field = field
    } else {
      field = nil
    }
  }

  /// Whether it matches every model.
  package var isEverything: Bool { field == nil && model.isEverything }

  /// Whether it names fields.
  package var namesFields: Bool { field != nil }

  package func matches(model id: String) -> Bool { model.matches(id) }

  package func matches(field name: String) -> Bool { field?.matches(name) ?? true }
}
