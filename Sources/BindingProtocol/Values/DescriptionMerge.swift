/// What becomes of a description when a program shares its own (protocol.md §8): additions are merged, nothing is
/// narrowed. Hub and peers share it, so a peer knows before it proposes whether its share would change anything.
package struct DescriptionMerge: Sendable {
  /// The merged description; the stored one, byte for byte, if the share changes nothing.
  package let merged: FieldValue
  /// Whether it differs from the stored one.
  package let isChange: Bool
  /// Where the declaration differs from the merged description for good, sorted by field.
  package let differences: [RuleDifference]
  /// Which alias names another field already; nil: none.
  package let aliasConflict: String?

  /// Merges a declaration; nil if one of the two is not an object of this form.
  package init?(of declared: FieldValue, into stored: FieldValue?) {
    guard let declaration = DescribedModel(declared) else { return nil }
    guard let stored else {
      (merged, isChange, differences, aliasConflict) = (declared, true, [], nil)
      return
    }
    guard var description = DescribedModel(stored) else { return nil }
    description.merge(declaration)
    differences = description.differences(of: declaration)
    aliasConflict = description.aliasConflict
    guard let text = description.finished else {
      (merged, isChange) = (stored, false)
      return
    }
    (merged, isChange) = (text, true)
  }

  /// Where a declaration differs from a description for good.
  package static func differences(of declared: FieldValue, from described: FieldValue) -> [RuleDifference] {
    guard let declared = DescribedModel(declared), let described = DescribedModel(described) else { return [] }
    return described.differences(of: declared)
  }
}

/// A description as text, field by field.
package struct DescribedModel: Sendable {
  private var members: ObjectText
  private var fields: ObjectText
  private var release: Int
  private(set) var readFields: [String: DescribedField] = [:]
  private(set) var aliasConflict: String?

  /// nil unless the text, and its `fields`, are objects.
  package init?(_ text: FieldValue) {
    guard let members = ObjectText(text) else { return nil }
    self.members = members
    release = members.count("release") ?? 0
    guard let fields = members["fields"].map(ObjectText.init) ?? ObjectText() else { return nil }
    self.fields = fields
    for name in fields.names { readFields[name] = fields[name].flatMap { DescribedField($0, release: release) } }
  }

  /// A described field; nil if it is not described.
  package func field(_ name: String) -> DescribedField? { readFields[name] }

  mutating func merge(_ declared: DescribedModel) {
    let isNewer = declared.release > release
    release = max(release, declared.release)
    for name in declared.fields.names {
      guard let field = declared.readFields[name] else { continue }
      guard var present = readFields[name] else {
        if fields[name] == nil { write(field, named: name, isMoved: declared.release != release) }
        continue
      }
      present.merge(field)
      write(present, named: name, isMoved: isNewer)
    }
    if isNewer {
      members["release"] = FieldValue(json: .integer(Int64(release)))
      // Fields that the newer release does not declare keep the release that they have.
      for name in fields.names where declared.readFields[name] == nil {
        if let field = readFields[name] { write(field, named: name, isMoved: true) }
      }
    }
    mergeAliases(of: declared)
    for name in declared.members.names where !["fields", "release", "alias"].contains(name) && members[name] == nil {
      members[name] = declared.members[name]
    }
  }

  private mutating func write(_ field: DescribedField, named name: String, isMoved: Bool) {
    var field = field
    field.writeReleases(in: release, isMoved: isMoved)
    readFields[name] = field
    if field.members.isChanged || fields[name] == nil { fields[name] = field.members.text }
  }

  /// Adds the aliases of a declaration. A present one stays as it is.
  private mutating func mergeAliases(of declared: DescribedModel) {
    guard let added = declared.members["alias"].flatMap(ObjectText.init), !added.names.isEmpty else { return }
    var aliases = members["alias"].flatMap(ObjectText.init) ?? ObjectText()
    for name in added.names {
      guard let present = aliases.json(name)?.string, let new = added.json(name)?.string, present != new else {
        aliases[name] = added[name]
        continue
      }
      aliasConflict = "\(name) is another name of \(present), and cannot be one of \(new)"
    }
    if aliases.isChanged { members["alias"] = aliases.text }
  }

  func differences(of declared: DescribedModel) -> [RuleDifference] {
    declared.readFields.keys.sorted().compactMap { name in
      guard let mine = readFields[name], let theirs = declared.readFields[name] else { return nil }
      return mine.difference(of: theirs, named: name)
    }
  }

  /// The text with the changes; nil if there are none.
  var finished: FieldValue? {
    guard members.isChanged || fields.isChanged else { return nil }
    var members = members
    if fields.isChanged { members["fields"] = fields.text }
    return members.text
  }
}
