import BindingKeys
import BindingProtocol

/// The file of rights, as a person writes it (docs/reference/access-format.md).
package struct AccessFile: Sendable {
  /// What it says.
  package let policy: AccessPolicy
  /// What is allowed but hardly meant, a sentence each.
  package let warnings: [String]

  /// Reads the file's text.
  package init(_ text: String) throws(AccessFileError) {
    let json: JSON
    do throws(WireError) { json = try JSON(parsing: text) } catch {
      throw AccessFileError(place: "the file", problem: "is not JSON: \(error.problem)")
    }
    let file = try Members(of: json, at: "the file", known: ["bindbus", "version", "roles", "members"])
    guard file["bindbus"] == "access" else {
      throw AccessFileError(place: "the file", problem: "must say \"bindbus\": \"access\"")
    }
    guard file["version"] == 1 else {
      throw AccessFileError(place: "version", problem: "must be 1; this release reads no other")
    }
    var roles: [String: AccessRole] = [:]
    var limits: [String: [NameLimits.Kind: Int]] = [:]
    for (name, value) in try Members(of: file["roles"] ?? .object([]), at: "roles").all {
      try AccessFile.checkName(name, at: "roles")
      roles[name] = try AccessRole(value, at: "roles.\(name)")
      if let given = value["limits"] { limits[name] = try AccessFile.limits(given, at: "roles.\(name).limits") }
    }
    var names: [String: [String]] = [:]
    for (name, value) in try Members(of: file["members"] ?? .object([]), at: "members").all {
      if name != "*", !HubUser.isLocal(name) { try AccessFile.checkName(name, at: "members") }
      let place = "members.\(PrintedText.escaped(name))"
      let given = try AccessFile.texts(value, at: place)
      if let role = given.first(where: { roles[$0] == nil }) {
        throw AccessFileError(
          place: place, problem: "names the role '\(PrintedText.escaped(role, limit: 80))', which roles does not define"
        )
      }
      names[name] = given
    }
    policy = AccessPolicy(roles: roles, names: names, limits: limits)
    warnings = AccessFile.warnings(policy)
  }

  private static func warnings(_ policy: AccessPolicy) -> [String] {
    var warnings: [String] = []
    let used = Set(policy.names.values.joined())
    for role in policy.roles.keys.sorted() where !used.contains(role) {
      warnings.append("Nobody has the role \(role), unless an invitation gave it")
    }
    for role in policy.roles.filter({ $0.value.isLimitedSubscriber }).keys.sorted() {
      warnings.append(
        "The role \(role) has fanout and may not read every model: the others are not published, but sent session by "
          + "session. Without fanout it costs the others nothing")
    }
    let hub = Limits()
    for (kind, most) in [(NameLimits.Kind.sessions, hub.maxSessions), (.models, hub.maxModels)] {
      for (role, limits) in policy.limits.sorted(by: { $0.key < $1.key }) where limits[kind] ?? 0 > most {
        warnings.append("The role \(role) may have \(limits[kind] ?? 0) \(kind.rawValue), and a hub has \(most) in all")
      }
    }
    return warnings
  }

  /// Reads how much a role allows its bearers to use.
  private static func limits(_ json: JSON, at place: String) throws(AccessFileError) -> [NameLimits.Kind: Int] {
    let members = try Members(of: json, at: place, known: NameLimits.Kind.allCases.map(\.rawValue))
    var limits: [NameLimits.Kind: Int] = [:]
    for kind in NameLimits.Kind.allCases {
      guard let value = members[kind.rawValue] else { continue }
      guard case .integer(let number) = value, number >= 1, number <= NameLimits.Kind.highest else {
        throw AccessFileError(
          place: "\(place).\(kind.rawValue)", problem: "must be a whole number from 1 to \(NameLimits.Kind.highest)")
      }
      limits[kind] = Int(number)
    }
    return limits
  }

  fileprivate static func texts(_ json: JSON, at place: String) throws(AccessFileError) -> [String] {
    guard let elements = json.elements else {
      throw AccessFileError(place: place, problem: "must be a list of texts, such as [\"…\"]")
    }
    var texts: [String] = []
    for element in elements {
      guard let text = element.string else {
        throw AccessFileError(place: place, problem: "must be a list of texts, such as [\"…\"]")
      }
      texts.append(text)
    }
    return texts
  }

  private static func checkName(_ name: String, at place: String) throws(AccessFileError) {
    do throws(MemberError) { try BindingKeys.Members.checkName(name) } catch {
      let more = place == "members" ? "; or uid:NUMBER for a user of the hub's machine, or * for everybody else" : ""
      throw AccessFileError(place: place, problem: "\(error)\(more)")
    }
  }
}

/// What is wrong with a file of rights, and where.
package struct AccessFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path to the place, such as `roles.staff.read`.
  package let place: String
  package let problem: String

  package var description: String { "\(place): \(problem)" }
}

extension AccessRole {
  private static let flags = ["fanout", "recover", "admin", "gateway"]
  private static let known = Right.allCases.map(\.rawValue) + flags + ["limits"]

  fileprivate init(_ json: JSON, at place: String) throws(AccessFileError) {
    let members = try Members(of: json, at: place, known: AccessRole.known)
    var patterns: [Right: [AccessPattern]] = [:]
    for right in Right.allCases {
      guard let value = members[right.rawValue] else { continue }
      let place = "\(place).\(right.rawValue)"
      var read: [AccessPattern] = []
      for text in try AccessFile.texts(value, at: place) { read.append(try AccessRole.pattern(text, right, at: place)) }
      patterns[right] = read
    }
    var flags: [String: Bool] = [:]
    for name in AccessRole.flags {
      guard let value = members[name] else { continue }
      guard let flag = value.boolean else {
        throw AccessFileError(place: "\(place).\(name)", problem: "must be true or false")
      }
      flags[name] = flag
    }
    self.init(
      patterns, fanout: flags["fanout"] ?? false, recover: flags["recover"] ?? false, admin: flags["admin"] ?? false,
      gateway: flags["gateway"] ?? false)
  }

  private static func pattern(
    _ text: String, _ right: Right, at place: String
  ) throws(AccessFileError) -> AccessPattern {
    guard let pattern = AccessPattern(text) else {
      throw AccessFileError(
        place: place,
        problem: "'\(PrintedText.escaped(text, limit: 80))' can match nothing: a pattern is a model's id"
          + (right.isByField ? ", with or without .FIELD, " : " ") + "in which * stands for any characters")
    }
    guard right.isByField || !pattern.namesFields else {
      throw AccessFileError(
        place: place,
        problem: "\(right.rawValue) reaches whole models, and \(text) names a field. Move the field into a model of "
          + "its own")
    }
    return pattern
  }
}

/// The members of an object, each once and known.
private struct Members {
  let all: [(name: String, value: JSON)]

  /// - Parameter known: the names that may occur; nil: any.
  init(of json: JSON, at place: String, known: [String]? = nil) throws(AccessFileError) {
    guard case .object(let members) = json else { throw AccessFileError(place: place, problem: "must be an object") }
    var seen: Set<String> = []
    for member in members {
      let name = PrintedText.escaped(member.name, limit: 80)
      guard seen.insert(member.name).inserted else {
        throw AccessFileError(place: place, problem: "has '\(name)' twice")
      }
      if let known, !known.contains(member.name) {
        throw AccessFileError(
          place: place, problem: "has '\(name)', which is unknown; known are \(known.joined(separator: ", "))")
      }
    }
    all = members.map { ($0.name, $0.value) }
  }

  subscript(name: String) -> JSON? { all.first { $0.name == name }?.value }
}
