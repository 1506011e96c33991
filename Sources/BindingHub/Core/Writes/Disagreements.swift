import BindingProtocol

/// What peers declare of models otherwise than the models' descriptions say. They tell it by proposing their own
/// description as a default, which yields to the one that is there.
struct Disagreements {
  struct Entry {
    let tag: Tag
    let model: String
    let peer: String
    /// The version of the description that was in force: of another one nothing is known.
    let version: Version
    let differences: [RuleDifference]
  }
  private(set) var entries: [Entry] = []
  private var reported: Set<String> = []

  /// Entries kept at most, and fields of one.
  private static let most = 256
  private static let mostFields = 20

  /// - Returns: whether that is news of this peer and model, also when it is started again.
  mutating func record(_ origin: Origin, _ model: String, _ version: Version, _ differences: [RuleDifference]) -> Bool {
    entries.removeAll { $0.tag == origin.tag && $0.model == model }
    if entries.count >= Self.most { entries.removeFirst() }
    entries.append(
      Entry(
        tag: origin.tag, model: model, peer: origin.fullName, version: version,
        differences: Array(differences.prefix(Self.mostFields))))
    if reported.count >= 4 * Self.most { reported.removeAll() }
    return reported.insert("\(model) \(origin.name) \(differences.words)").inserted
  }
}

/// A description that was proposed where there is one.
struct Declared {
  let origin: Origin
  let model: ModelLog
  let value: FieldValue
}

extension HubMachine {
  /// Looks at the descriptions that were proposed in this drain where there is another one.
  mutating func recordDisagreements(_ output: inout HubOutput) {
    for declared in sequencer.declared {
      let model = declared.model
      guard let slot = model.storedDescription, let present = slot.fieldValue,
        let rules = present.bytes.withUnsafeBytes({ try? ModelRules(describedBy: $0) }),
        let theirs = declared.value.bytes.withUnsafeBytes({ try? ModelRules(describedBy: $0) })
      else { continue }
      let differences = theirs.differences(from: rules)
      guard !differences.isEmpty,
        disagreements.record(declared.origin, model.id, slot.version, differences)
      else { continue }
      output.notices.append(
        .declaredOtherwise(peer: declared.origin.fullName, model: model.id, differences: differences))
    }
    sequencer.declared.removeAll()
  }

  /// What the peers that are here declare otherwise, for the status.
  var disagreementsJSON: JSON {
    .array(
      disagreements.entries.compactMap { entry in
        guard sessions.identities[entry.tag]?.session != nil, let index = modelIndex[entry.model],
          models[index].storedDescription?.version == entry.version
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

extension ModelLog {
  /// The field of the description, where it was ever written.
  fileprivate var storedDescription: FieldSlot? {
    Int(fields.descriptionID) < fields.count ? fields[fields.descriptionID] : nil
  }
}
