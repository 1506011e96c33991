import BindingWire

/// The rules of a description as one model's slots refer to them.
struct RulesInForce {
  var rules = ModelRules()
  /// Tells these rules from all others that were in force in this model; 0: none ever were.
  var turn: UInt32 = 0
  /// The version of the description; 0: there is none.
  var version: Version = 0
}

extension ModelLog {
  /// What the description asks of a field, looked up by name once while the same rules are in force.
  func rule(of id: FieldID) -> FieldRule? {
    if rules.turn == 0 { return nil }
    if fields[id].rulesTurn != rules.turn {
      fields[id].rulesTurn = rules.turn
      fields[id].rule = rules.rules[fields[id].name]
    }
    return fields[id].rule
  }

  /// From here on the batch in hand is decided by a new description; without one every field is free.
  func describe(_ rules: ModelRules, at version: Version) {
    lastRulesTurn &+= 1
    self.rules = RulesInForce(rules: rules, turn: rules.isEmpty ? 0 : lastRulesTurn, version: version)
  }

  /// The rules of the description as it is decided, where it did not come through a proposal.
  func takeDecidedRules() {
    let id = fields.descriptionID
    guard Int(id) < fields.count else { return }
    let slot = fields[id]
    guard rules.version != slot.decided.version else { return }
    let value = slot.isDecided ? decidedValue(slot) : slot.fieldValue
    // A malformed one, which an older hub may have let through, binds nobody.
    let rules = value.flatMap { value in value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0) } }
    describe(rules ?? ModelRules(), at: slot.decided.version)
  }

  /// After a batch was taken in: nothing is decided beyond what is stored. Our own batch's description has been read
  /// already.
  func takeStoredRules() {
    takeDecidedRules()
    storedRules = rules
  }
}
