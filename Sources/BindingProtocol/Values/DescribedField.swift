/// One field of a description, as text, and how a declaration is merged into it (protocol.md §8). Hub and peers share
/// it.
package struct DescribedField: Sendable {
  /// The members for forms, and the default: that of the highest release stays.
  static let shownMembers = [
    "title", "help", "order", "group", "widget", "readOnly", "secret", "step", "default",
  ]
  /// The members that make up the rule for values, besides `type` and `ephemeral`.
  private static let widened: Swift.Set<String> = ["min", "max", "maxLength", "choices"]
  private static let releaseMembers: Swift.Set<String> = ["release", "releases"]

  private(set) var members: ObjectText
  /// The rule for values; nil if it is malformed.
  package private(set) var rule: FieldRule?
  /// The highest release that declared the field.
  package private(set) var release: Int
  /// The releases of the shown members that a lower release declared.
  private var memberReleases: [String: Int] = [:]
  private var hasNewReleases = false

  /// Reads a field of a description whose release is `release`; nil unless the text is an object.
  package init?(_ text: FieldValue, release: Int) {
    guard let members = ObjectText(text) else { return nil }
    self.members = members
    self.release = members.count("release") ?? release
    rule = Self.rule(of: text)
    guard let releases = members["releases"].flatMap(ObjectText.init) else { return }
    for name in releases.names where Self.shownMembers.contains(name) {
      if let number = releases.count(name), number < self.release { memberReleases[name] = number }
    }
  }

  private static func rule(of text: FieldValue) -> FieldRule? {
    (try? text.json).flatMap { try? FieldRule(describedBy: $0, at: "") }
  }

  private func release(of member: String) -> Int { memberReleases[member] ?? release }

  // MARK: Merging

  /// Merges a declaration. A field of another type, unit or scope stays as it is: its values mean something else.
  mutating func merge(_ declared: DescribedField) {
    guard meansSame(as: declared) else { return }
    if members["unit"] == nil, let unit = declared.members["unit"] { members["unit"] = unit }
    widen(to: declared)
    for name in Self.shownMembers {
      guard let value = declared.members[name] else { continue }
      let isNewer = declared.release(of: name) > release(of: name)
      guard members[name] == nil || isNewer else { continue }
      memberReleases[name] = declared.release(of: name)
      hasNewReleases = true
      if members[name]?.isSame(as: value) != true { members[name] = value }
    }
    // A member keeps its release where the field's becomes higher.
    if declared.release > release {
      for name in Self.shownMembers where members[name] != nil && memberReleases[name] == nil {
        memberReleases[name] = release
      }
      release = declared.release
      hasNewReleases = true
    }
    for member in declared.members.members where isUnknown(member.name) && members[member.name] == nil {
      members[member.name] = declared.members[member.name]
    }
    if members.isChanged { rule = Self.rule(of: members.text) }
  }

  /// Whether values of both mean the same. A unit that only one of them names is added.
  private func meansSame(as declared: DescribedField) -> Bool {
    guard type == declared.type, isEphemeral == declared.isEphemeral else { return false }
    guard let unit = members["unit"], let other = declared.members["unit"] else { return true }
    return unit.isSame(as: other)
  }

  private var type: String { members.json("type")?.string ?? FieldType.any.rawValue }
  private var isEphemeral: Bool { members.json("ephemeral")?.boolean ?? false }
  private var policy: String { members.json("policy")?.string ?? "lastWrite" }

  /// Whether this version does not know the member.
  private func isUnknown(_ name: String) -> Bool {
    !Self.shownMembers.contains(name) && !Self.widened.contains(name) && !Self.releaseMembers.contains(name)
      && !["type", "ephemeral", "unit", "policy", "pattern", "expires", "formerly"].contains(name)
  }

  /// Widens the rule until it allows what the declaration allows.
  private mutating func widen(to declared: DescribedField) {
    widen("min", to: declared) { $0.isBelow($1) }
    widen("max", to: declared) { $1.isBelow($0) }
    if let length = members.count("maxLength") {
      let other = declared.members.count("maxLength")
      if let other, other > length {
        members["maxLength"] = declared.members["maxLength"]
      } else if other == nil {
        members["maxLength"] = nil
      }
    }
    guard let choices = members["choices"], members.json("choices")?.elements?.isEmpty == false else { return }
    if let others = declared.members["choices"], declared.members.json("choices")?.elements?.isEmpty == false {
      members["choices"] = Merge.apply(.union, operand: others, to: choices)
    } else {
      members["choices"] = nil
    }
  }

  private mutating func widen(_ name: String, to declared: DescribedField, if isWider: (Bound, Bound) -> Bool) {
    guard let bound = members.json(name).flatMap(Bound.init) else { return }
    guard let other = declared.members.json(name).flatMap(Bound.init) else {
      members[name] = nil
      return
    }
    if isWider(other, bound) { members[name] = declared.members[name] }
  }

  /// Writes the releases: the field's where it differs from the description's, and the lower ones of its members.
  /// - Parameter isMoved: whether the description's release is another one than the field's text was written for.
  mutating func writeReleases(in description: Int, isMoved: Bool) {
    guard hasNewReleases || isMoved else { return }
    hasNewReleases = false
    members["release"] = release == description ? nil : FieldValue(json: .integer(Int64(release)))
    let lower = memberReleases.filter { $0.value < release && members[$0.key] != nil }.sorted { $0.key < $1.key }
    let releases = lower.map { JSON.Member($0.key, .integer(Int64($0.value))) }
    members["releases"] = releases.isEmpty ? nil : FieldValue(json: .object(releases))
  }

  // MARK: Differences

  /// The members in which a declaration differs from this field for good: no share removes the difference. An older
  /// release that shows another title is only older.
  func mismatches(of declared: DescribedField) -> [String] {
    var names: [String] = []
    if !meansSame(as: declared), type == declared.type, isEphemeral == declared.isEphemeral { names.append("unit") }
    if policy != declared.policy { names.append("policy") }
    if let pattern = declared.members["pattern"], members["pattern"]?.isSame(as: pattern) != true {
      names.append("pattern")
    }
    if members.json("expires") != declared.members.json("expires") { names.append("expires") }
    for name in Self.shownMembers where name != "order" && declared.release(of: name) == release(of: name) {
      guard let mine = members[name], let theirs = declared.members[name], !mine.isSame(as: theirs) else { continue }
      names.append(name)
    }
    for name in declared.members.names where isUnknown(name) {
      if let mine = members[name], declared.members[name]?.isSame(as: mine) == false { names.append(name) }
    }
    return names
  }

  /// Whether the declaration allows values that this field does not.
  func allowsLess(than declared: DescribedField) -> Bool {
    guard let mine = rule, let theirs = declared.rule, !mine.allowsSame(as: theirs) else { return false }
    if type != declared.type || isEphemeral != declared.isEphemeral { return true }
    var wider = self
    wider.widen(to: declared)
    return wider.members.text != members.text
  }

  /// In which way a declaration differs from this field for good; nil: in none.
  package func difference(of declared: DescribedField, named field: String) -> RuleDifference? {
    // The declaration reads these values by a mapping.
    if declared.form.isMapped(from: form) { return nil }
    let names = mismatches(of: declared)
    let isRule = allowsLess(than: declared)
    guard isRule || !names.isEmpty else { return nil }
    func words(_ described: DescribedField) -> String {
      let allowance = isRule || names.isEmpty ? [described.rule?.allowance ?? FieldType.any.rawValue] : []
      let others = names.map { name in
        if name == "policy" { return "policy \(described.policy)" }
        return described.members.json(name).map { "\(name) \($0.short)" } ?? "no \(name)"
      }
      return (allowance + others).joined(separator: ", ")
    }
    return RuleDifference(field: field, declared: words(declared), described: words(self))
  }
}

/// A bound of a description: a number, compared without rounding, or the text that only peers use. Every text is above
/// every number, so that bounds have one order.
private enum Bound {
  case number(WireNumber)
  case text(String)

  init?(_ json: JSON) {
    if case .string(let text) = json {
      self = .text(text)
    } else if let number = WireNumber(json) {
      self = .number(number)
    } else {
      return nil
    }
  }

  func isBelow(_ other: Bound) -> Bool {
    switch (self, other) {
    case (.number(let left), .number(let right)): left.isLess(than: right)
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.number, .text): true
    case (.text, .number): false
    }
  }
}
