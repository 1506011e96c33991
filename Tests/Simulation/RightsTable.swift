import BindingHub
import BindingProtocol

/// Who may do what in the models of a history: a plain table, by user and model. The hub's policy is written from it;
/// the checks read the table itself.
struct RightsTable {
  /// What one user may do with one model.
  struct Rights: Equatable {
    var mayRead: Bool
    /// By field.
    var mayWrite: [Bool]
    var mayDelete: [Bool]

    static let all = Rights(mayRead: true, mayWrite: same(true), mayDelete: same(true))
    static let none = Rights(mayRead: false, mayWrite: same(false), mayDelete: same(false))

    private static func same(_ value: Bool) -> [Bool] { Array(repeating: value, count: SimulatedField.count) }

    /// Whoever may write may read.
    init(mayRead: Bool, mayWrite: [Bool], mayDelete: [Bool]) {
      self.mayRead = mayRead || mayWrite.contains(true) || mayDelete.contains(true)
      (self.mayWrite, self.mayDelete) = (mayWrite, mayDelete)
    }

    init(drawnFrom chance: inout Chance) {
      switch chance.below(20) {
      case 0..<10: self = .all
      case 10..<13: self = Rights(mayRead: true, mayWrite: Rights.same(false), mayDelete: Rights.same(false))
      case 13..<17:
        self = Rights(
          mayRead: true, mayWrite: Rights.draw(500, &chance), mayDelete: Rights.draw(300, &chance))
      default: self = .none
      }
    }

    /// Elements go by their list.
    private static func draw(_ rate: Int, _ chance: inout Chance) -> [Bool] {
      let drawn = (0...SimulatedField.head).map { _ in chance.perMille(rate) }
      return SimulatedField.names.indices.map { drawn[min($0, SimulatedField.head)] }
    }

    func allowsChange(of field: Int, to value: FieldValue?) -> Bool {
      // Whoever describes a model may also remove the description.
      value == nil && field != SimulatedField.description ? mayDelete[field] : mayWrite[field]
    }
  }

  /// One user; the last one of a table is a stranger, who never may do everything.
  struct User {
    var models: [Rights]
    var hasFanout: Bool
    /// Whether it reaches the hub through the gateway, which names it in its hellos.
    var isCarried = false
    /// What its name may write; nil: as much as any.
    var limits: Limits?
    /// By model: whether this user once lacked a right, or the right to read.
    var wasDenied: [Bool]
    var wasUnreadable: [Bool]

    mutating func remember() {
      for (model, rights) in models.enumerated() {
        if rights != .all { wasDenied[model] = true }
        if !rights.mayRead { wasUnreadable[model] = true }
      }
    }
  }

  /// How much one user may write.
  struct Limits: Equatable {
    var writesPerSecond: Int
    var bytesPerSecond: Int
  }

  private(set) var users: [User]
  private let modelNames: [String]
  /// The model in which the gateway may do nothing, and so those may not for whom it speaks; nil: none.
  private let beyondGateway: Int?
  /// Models with drawn rights; visitors may do everything in the one after them.
  private let limited: Int

  /// The first user may do everything, so that there is always somebody whose replica is believed.
  init(users count: Int, _ context: SimulationContext, _ chance: inout Chance) {
    modelNames = context.modelNames
    limited = context.profile.models
    let drawn = chance.below(2 * limited)
    beyondGateway = drawn < limited ? drawn : nil
    let nothing = modelNames.map { _ in false }
    let everything = User(
      models: modelNames.map { _ in .all }, hasFanout: true, wasDenied: nothing, wasUnreadable: nothing)
    users = Array(repeating: everything, count: count)
    for user in 1..<count {
      users[user].isCarried = user < count - 1 && chance.perMille(400)
      for model in 0..<limited { draw(user, model, &chance) }
      users[user].hasFanout = chance.perMille(700) && !users[user].isCarried
    }
  }

  var stranger: Int { users.count - 1 }

  /// Gives some user other rights.
  mutating func change(_ chance: inout Chance) {
    let user = 1 + chance.below(users.count - 1)
    if chance.perMille(200), !users[user].isCarried { users[user].hasFanout.toggle() }
    draw(user, chance.below(limited), &chance)
  }

  /// Limits what some users may write; the stranger is left as it is.
  mutating func drawLimits(_ chance: inout Chance) {
    for user in 0..<stranger where chance.perMille(500) { drawLimits(of: user, &chance) }
  }

  /// Gives some user other limits.
  mutating func changeLimits(_ chance: inout Chance) { drawLimits(of: chance.below(stranger), &chance) }

  private mutating func drawLimits(of user: Int, _ chance: inout Chance) {
    users[user].limits = Limits(
      writesPerSecond: 2 + chance.below(4), bytesPerSecond: chance.perMille(700) ? 1_000_000 : 200 + chance.below(300))
  }

  /// Takes all rights on a model from a user.
  mutating func takeAway(_ model: Int, from user: Int) {
    guard user > 0, model < limited else { return }
    users[user].models[model] = .none
    users[user].remember()
  }

  private mutating func draw(_ user: Int, _ model: Int, _ chance: inout Chance) {
    var rights = Rights(drawnFrom: &chance)
    if user == stranger, rights == .all { rights = .none }
    if users[user].isCarried, model == beyondGateway { rights = .none }
    users[user].models[model] = rights
    users[user].remember()
  }

  /// Whether a user may write a field.
  func isWritable(_ field: Int, of model: Int, by user: Int) -> Bool { users[user].models[model].mayWrite[field] }

  func mayRead(_ user: Int, _ model: Int) -> Bool { users[user].models[model].mayRead }

  /// Whether what is published reaches only those who may read the model.
  func mayBePublished(_ model: Int) -> Bool { users.allSatisfy { !$0.hasFanout || $0.models[model].mayRead } }

  // MARK: The hub's policy

  /// Who is at the other end of a user's connection.
  func principal(of user: Int) -> HubPrincipal {
    .named(users[user].isCarried ? "gateway" : "u\(user)", role: nil)
  }

  /// Whom the gateway names in the hellos of a user; nil: the user has a connection of its own.
  func representation(of user: Int) -> Representation? {
    users[user].isCarried ? Representation(name: "u\(user)") : nil
  }

  /// For whom a gateway may speak.
  var members: HubMembers {
    var members = HubMembers()
    for user in users.indices { members.add("u\(user)", role: nil) }
    return members
  }

  /// The same as a policy.
  var policy: AccessPolicy {
    var policy = AccessPolicy()
    for (index, user) in users.enumerated() {
      var patterns: [AccessRole.Right: [AccessPattern]] = [:]
      func allow(_ right: AccessRole.Right, _ text: String) {
        if let pattern = AccessPattern(text) { patterns[right, default: []].append(pattern) }
      }
      for (index, model) in modelNames.enumerated() {
        // The gateway's lack of rights alone must keep it from those for whom it speaks.
        let rights = user.isCarried && index == beyondGateway ? .all : user.models[index]
        if rights.mayRead { allow(.read, model) }
        for (right, fields) in [(AccessRole.Right.write, rights.mayWrite), (.delete, rights.mayDelete)] {
          if !fields.contains(false) { allow(right, model) }
          for field in fields.indices where fields[field] && field != SimulatedField.description {
            allow(right, "\(model).\(SimulatedField.names[field])")
          }
        }
        if rights.mayWrite[SimulatedField.description] { allow(.describe, model) }
      }
      policy.roles["r\(index)"] = AccessRole(patterns, fanout: user.hasFanout, recover: index == 0)
      policy.names["u\(index)"] = ["r\(index)"]
      if let limits = user.limits {
        policy.limits["r\(index)"] = [
          .writesPerSecond: limits.writesPerSecond, .bytesPerSecond: limits.bytesPerSecond,
        ]
      }
    }
    let others = modelNames.enumerated().filter { $0.offset != beyondGateway }
      .compactMap { AccessPattern($0.element) }
    let everything = Dictionary(uniqueKeysWithValues: AccessRole.Right.allCases.map { ($0, others) })
    policy.roles["gateway"] = AccessRole(everything, gateway: true)
    policy.names["gateway"] = ["gateway"]
    return policy
  }
}
