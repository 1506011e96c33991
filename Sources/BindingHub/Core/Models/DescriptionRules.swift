import BindingProtocol

/// The rules of a model's description, as decided and as stored.
struct DescriptionRules {
  /// The rules of one description, as the fields of the model refer to them.
  struct InForce {
    var rules = ModelRules()
    /// Distinguishes these rules from all others that applied to this model; 0: none.
    var turn: UInt32 = 0
    /// The version of the description; 0: none.
    var version: Version = 0
  }
  /// The index of a field's rule among the rules of that turn; -1: no rule.
  private struct CachedIndex {
    var index: Int32 = -1
    var turn: UInt32 = 0
  }
  /// The rules with the pending batch's decisions, and as stored.
  private(set) var current = InForce()
  private(set) var stored = InForce()
  /// The rules before the last commit that changed the description.
  private(set) var before = InForce()
  private var lastTurn: UInt32 = 0
  /// By field, for those whose rule was looked up.
  private var indices: [CachedIndex] = []

  /// The rule of a field, one of `count`; looked up by name once per change of the rules.
  mutating func rule(of id: FieldID, count: Int, name: @autoclosure () -> String) -> FieldRule? {
    let at = Int(id)
    if at >= indices.count { indices += repeatElement(CachedIndex(), count: count - indices.count) }
    if indices[at].turn != current.turn {
      indices[at].turn = current.turn
      indices[at].index = current.rules.index(of: name()).map { Int32($0) } ?? -1
    }
    let ruleIndex = Int(indices[at].index)
    return ruleIndex < 0 ? nil : current.rules[ruleIndex]
  }

  /// Lets a new description apply to the rest of the pending batch. Empty rules free every field.
  mutating func describe(_ rules: ModelRules, at version: Version) {
    lastTurn &+= 1
    if current.version != version { before = current }
    current = InForce(rules: rules, turn: rules.isEmpty ? 0 : lastTurn, version: version)
  }

  /// Restores the earlier rules when the commit for `version` is rolled back.
  mutating func revert(_ version: Version) { if current.version == version { current = before } }

  /// Restores the stored rules when the pending batch is dropped.
  mutating func revertToStored() { current = stored }

  /// The decided rules are stored.
  mutating func store() {
    if stored.turn != current.turn || stored.version != current.version { stored = current }
  }

  /// The fields from this id on have gone, or are others.
  mutating func dropFields(from id: Int) { if indices.count > id { indices.removeSubrange(id...) } }
}
