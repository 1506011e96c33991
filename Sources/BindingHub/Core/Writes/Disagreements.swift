import BindingProtocol

/// Differences between what peers declare of models and the models' descriptions. A peer reveals one by proposing
/// its own description with `setIfAbsent`, which does not replace an existing one.
struct Disagreements {
  struct Entry {
    let tag: Tag
    let model: String
    let peer: String
    /// The version of the description that applied; nothing is known of others.
    let version: Version
    let differences: [RuleDifference]
  }
  private var entries: [Entry] = []
  private var reported: Set<String> = []

  /// The most entries, and the most fields of one.
  private static let most = 256
  private static let mostFields = 20

  /// - Returns: whether this is new for the peer's name and model. A restarted peer is not reported again.
  private mutating func record(_ origin: Origin, _ model: String, _ version: Version, _ differences: [RuleDifference])
    -> Bool
  {
    entries.removeAll { $0.tag == origin.tag && $0.model == model }
    if entries.count >= Self.most { entries.removeFirst() }
    entries.append(
      Entry(
        tag: origin.tag, model: model, peer: origin.fullName, version: version,
        differences: Array(differences.prefix(Self.mostFields))))
    if reported.count >= 4 * Self.most { reported.removeAll() }
    return reported.insert("\(model) \(origin.name) \(differences.words)").inserted
  }

  /// Compares the descriptions proposed in this drain with the existing ones.
  mutating func record(_ proposed: [Declared], _ output: inout HubOutput) {
    for declared in proposed {
      let model = declared.model
      guard let slot = model.storedDescription, let present = slot.fieldValue else { continue }
      let differences = DescriptionMerge.differences(of: declared.value, from: present)
      guard !differences.isEmpty, record(declared.origin, model.id, slot.version, differences) else { continue }
      output.notices.append(
        .declaredOtherwise(peer: declared.origin.fullName, model: model.id, differences: differences))
    }
  }

  /// The disagreements of connected peers, for the status.
  func json(_ hub: HubContext) -> JSON {
    .array(
      entries.compactMap { entry in
        guard hub.sessions.identities[entry.tag]?.session != nil, let index = hub.models.index(named: entry.model),
          hub.models[index].storedDescription?.version == entry.version
        else { return nil }
        let fields = entry.differences.map { difference in
          JSON.Member(
            difference.field,
            .object([
              .init("declared", .string(difference.declared)), .init("described", .string(difference.described)),
            ]))
        }
        return .object([
          .init("model", .string(entry.model)), .init("peer", .string(entry.peer)), .init("fields", .object(fields)),
        ])
      })
  }
}

/// A description proposed for a model that already has one.
struct Declared {
  let origin: Origin
  let model: ModelLog
  let value: FieldValue
}
