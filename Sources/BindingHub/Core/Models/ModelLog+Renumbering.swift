import BindingProtocol

/// Gives back the names of deleted fields when there are many; the remaining fields get other ids.
extension ModelLog {
  /// The least number of names that can be given back. A described field stays known as deleted, so that its
  /// default is not written again.
  var spareNames: Int { max(0, fields.count - fields.valueCount - storedRules.rules.count - 1) }

  /// Whether it has enough names of deleted fields to give them back.
  func isWorn(_ configuration: HubMachineConfiguration) -> Bool {
    let limit = configuration.limits.maxModelFields
    if let most = configuration.maxDeletedNames { return spareNames >= max(most, 1) }
    return fields.count >= limit * 3 / 4 && spareNames >= max(limit / 8, 1)
  }

  /// The ids of the fields that remain.
  var idsToKeep: [FieldID] {
    (0..<FieldID(fields.count)).filter { id in
      let slot = fields[id]
      return slot.hasValue || id == fields.descriptionID || storedRules.rules.describes(slot.name)
    }
  }

  /// Drops all fields but these, and renumbers them from 0. The pending batch must be empty.
  func renumber(_ kept: [FieldID]) {
    guard kept.last.map({ Int($0) < fields.count }) ?? true else { return }
    fields.keep(kept)
    ruleIndices.removeAll()
    broughtBack.keep(kept)
    // Deletions up to here are no longer known.
    deltasFrom = version
    forgetRecent()
  }
}
