import BindingProtocol

/// The rules of a description, as the slots of one model refer to them.
struct RulesInForce {
  var rules = ModelRules()
  /// Distinguishes these rules from all others that applied to this model; 0: none.
  var turn: UInt32 = 0
  /// The version of the description; 0: none.
  var version: Version = 0
}

/// The index of a field's rule among the model's rules of that turn; -1: no rule.
struct CachedRuleIndex {
  var index: Int32 = -1
  var turn: UInt32 = 0
}

extension ModelLog {
  /// The rule of a field; looked up by name once per change of the rules.
  func rule(of id: FieldID) -> FieldRule? {
    let index = Int(id)
    if index >= ruleIndices.count {
      ruleIndices += repeatElement(CachedRuleIndex(), count: fields.count - ruleIndices.count)
    }
    if ruleIndices[index].turn != rules.turn {
      ruleIndices[index].turn = rules.turn
      ruleIndices[index].index = rules.rules.index(of: fields[id].name).map { Int32($0) } ?? -1
    }
    let ruleIndex = Int(ruleIndices[index].index)
    return ruleIndex < 0 ? nil : rules.rules[ruleIndex]
  }

  /// Removes the names from this id on. The next field with such an id is another one, with another rule.
  func dropNames(from id: Int) {
    fields.truncate(to: id)
    if ruleIndices.count > id { ruleIndices.removeSubrange(id...) }
  }

  /// Whether a value of this field needs a check against the rules, or is the description.
  @inline(__always)
  func isRuled(_ id: FieldID) -> Bool { rules.turn != 0 || id == fields.descriptionID }

  /// Lets a new description apply to the rest of the pending batch. Empty rules free every field.
  func describe(_ rules: ModelRules, at version: Version) {
    lastRulesTurn &+= 1
    if self.rules.version != version { rulesBefore = self.rules }
    self.rules = RulesInForce(rules: rules, turn: rules.isEmpty ? 0 : lastRulesTurn, version: version)
  }

  /// Restores the earlier rules when the commit for `version` is rolled back.
  func revertRules(of version: Version) {
    if rules.version == version { rules = rulesBefore }
  }

  /// Adopts the rules of the decided description, where it did not come through a proposal.
  func adoptDecidedRules() {
    let id = fields.descriptionID
    guard Int(id) < fields.count, rules.version != fields.decidedVersion(id) else { return }
    let slot = fields[id]
    let value = fields.isDecided(id) ? decidedValue(id) : slot.fieldValue
    // A malformed description, which an older hub may have accepted, binds no field.
    let rules = value.flatMap { value in value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0) } }
    describe(rules ?? ModelRules(), at: fields.decidedVersion(id))
  }

  /// Adopts the stored rules after a batch is applied. The description of this hub's own batch has been parsed
  /// already.
  func adoptStoredRules() {
    adoptDecidedRules()
    if storedRules.turn != rules.turn || storedRules.version != rules.version { storedRules = rules }
  }
}
