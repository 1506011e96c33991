import BindingPeer
import BindingProtocol

/// The model `@hub`: the hub's report as fields, one for each member, for pages to read.
struct OwnModel: Sendable {
  static let id = "@hub"

  let epoch: Epoch
  private(set) var version: Version = 0
  private var fields: [String: CommittedField] = [:]

  init(epoch: Epoch) { self.epoch = epoch }

  /// Applies a new report. Unchanged members are ignored.
  /// - Returns: the commit; nil if nothing changed.
  mutating func apply(_ members: [JSON.Member], from hub: Origin, time: UInt64) -> CommitInfo? {
    var changes: [FieldChange] = []
    var named: Set<String> = []
    for member in members where (try? Names.checkField(member.name)) != nil {
      named.insert(member.name)
      let value = FieldValue(json: member.value)
      if fields[member.name]?.value != value { changes.append(FieldChange(field: member.name, value: value)) }
    }
    for field in fields.values where field.value != nil && !named.contains(field.name) {
      changes.append(FieldChange(field: field.name, value: nil))
    }
    guard !changes.isEmpty else { return nil }
    changes.sort { $0.field < $1.field }
    version += 1
    for change in changes {
      fields[change.field] = CommittedField(
        name: change.field, value: change.value, version: version, origin: hub, number: 0, time: time)
    }
    return CommitInfo(version: version, origin: hub, number: 0, time: time, hops: 0, changes: changes, own: false)
  }

  func committed(after version: Version) -> [CommittedField] {
    fields.values.filter { $0.version > version && (version > 0 || $0.value != nil) }.sorted { $0.name < $1.name }
  }
}
