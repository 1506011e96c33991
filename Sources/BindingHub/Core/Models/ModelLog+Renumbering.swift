import BindingProtocol

/// Names of deleted fields, which are given back when there are many: the fields that are left get other ids.
extension ModelLog {
  /// Names of deleted fields that can be given back at least. Of a described one it stays known that it was deleted:
  /// its default must not be written again.
  var spareNames: Int { max(0, fields.count - fields.valueCount - storedRules.rules.count - 1) }

  /// The ids of the fields that stay.
  var idsToKeep: [FieldID] {
    (0..<FieldID(fields.count)).filter { id in
      let slot = fields[id]
      return slot.hasValue || id == fields.descriptionID || storedRules.rules.describes(slot.name)
    }
  }

  /// Forgets all fields but these, which are numbered from 0 on. Nothing is in the pending batch.
  func renumber(_ kept: [FieldID]) {
    guard kept.last.map({ Int($0) < fields.count }) ?? true else { return }
    fields.keep(kept)
    ruleIndices.removeAll()
    broughtBack.keep(kept)
    // What was deleted up to here is known to nobody.
    deltasFrom = version
    forgetRecent()
  }
}
