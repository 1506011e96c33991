import BindingProtocol

/// The rules of a description as one model's slots refer to them.
struct RulesInForce {
  var rules = ModelRules()
  /// Tells these rules from all others that were in force in this model; 0: none ever were.
  var turn: UInt32 = 0
  /// The version of the description; 0: there is none.
  var version: Version = 0
}

/// Where a field's rule stands among the model's rules of that turn, -1: it is free.
struct CachedRuleIndex {
  var index: Int32 = -1
  var turn: UInt32 = 0
}

extension ModelLog {
  /// What the description asks of a field, looked up by name once while the same rules are in force.
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

  /// Takes back the names from this id on: the next of that id is another field, with another rule.
  func dropNames(from id: Int) {
    fields.truncate(to: id)
    if ruleIndices.count > id { ruleIndices.removeSubrange(id...) }
  }

  /// Whether a value of this field needs a closer look than any other's.
  @inline(__always)
  func isRuled(_ id: FieldID) -> Bool { rules.turn != 0 || id == fields.descriptionID }

  /// From here on the pending batch is decided by a new description; without one every field is free.
  func describe(_ rules: ModelRules, at version: Version) {
    lastRulesTurn &+= 1
    if self.rules.version != version { rulesBefore = self.rules }
    self.rules = RulesInForce(rules: rules, turn: rules.isEmpty ? 0 : lastRulesTurn, version: version)
  }

  /// The commit that was to make `version` is not: the rules before it are in force again.
  func revertRules(of version: Version) {
    if rules.version == version { rules = rulesBefore }
  }

  /// The rules of the description as it is decided, where it did not come through a proposal.
  func adoptDecidedRules() {
    let id = fields.descriptionID
    guard Int(id) < fields.count, rules.version != fields.decidedVersion(id) else { return }
    let slot = fields[id]
    let value = fields.isDecided(id) ? decidedValue(id) : slot.fieldValue
    // A malformed one, which an older hub may have let through, binds nobody.
    let rules = value.flatMap { value in value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0) } }
    describe(rules ?? ModelRules(), at: fields.decidedVersion(id))
  }

  /// After a batch was taken in: nothing is decided beyond what is stored. Our own batch's description has been read
  /// already.
  func adoptStoredRules() {
    adoptDecidedRules()
    if storedRules.turn != rules.turn || storedRules.version != rules.version { storedRules = rules }
  }
}
