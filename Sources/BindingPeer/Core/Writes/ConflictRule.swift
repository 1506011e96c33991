import BindingProtocol

/// How a set of one field reacts to what others commit meanwhile. A plain set, which has no rule, overwrites it.
package enum ConflictRule: Sendable, Hashable {
  /// Applies only if no other peer changed the field; otherwise the write ends as a conflict.
  case compareAndSet
  /// Keeps the words of both writers (`TextMerge`).
  case text
  /// The program is asked for a value that replaces both: `PeerQuestion.merge`, answered by `Session.merged`.
  case asked
  /// Takes back a step of this peer: its value and condition are found when it is sent (`UndoBook.finalize`). If
  /// another write changed the field, it ends as a conflict.
  case restore
}

/// A conflict rule with the value that the writer saw.
package struct RuledWrite: Sendable, Hashable {
  /// How the set reacts to what others commit meanwhile.
  package var rule: ConflictRule
  /// The value that the writer saw; nil: none.
  package var base: FieldValue?

  /// Creates a rule on the value that the writer saw; nil for none.
  package init(_ rule: ConflictRule, base: FieldValue?) {
    self.rule = rule
    self.base = base
  }
}

/// What becomes of a plain set that waited long for a hub while others changed its field.
public enum OfflineRule: Sendable, Hashable {
  /// It ends as a conflict that carries both values.
  case yields
  /// It overwrites what the others wrote.
  case wins
  /// It ends as expired.
  case drops
}

/// Two values of one field, for the program to merge into one.
package struct MergeQuestion: Sendable, Hashable {
  /// The field's name.
  package var field: String
  /// The value that the writer saw; nil: none.
  package var base: FieldValue?
  /// The value that the writer set.
  package var mine: FieldValue
  /// The value that is committed now; nil: none.
  package var theirs: FieldValue?

  /// Creates a question; nil stands for no value.
  package init(field: String, base: FieldValue?, mine: FieldValue, theirs: FieldValue?) {
    self.field = field
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }
}

extension Pending {
  /// Whether it is sent as it is: it has no rule and has not waited long.
  func isPlain(at now: UInt64, _ options: SessionOptions) -> Bool {
    rules.isEmpty && proposal.metadata.isEmpty && !hasWaited(at: now, options)
  }

  /// Whether it waited so long that it yields to what others wrote meanwhile (docs/guide/offline.md).
  func hasWaited(at now: UInt64, _ options: SessionOptions) -> Bool {
    isOld || now >= writtenAt + options.offlineMilliseconds
  }

  /// The fields that have rules, sorted by name.
  var ruledFields: [(field: String, rule: ConflictRule)] {
    rules.isEmpty ? [] : rules.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Records on which value a field was written. A write that supersedes one never sent is based on what that one was
  /// based on. A superseding text, which was edited as it showed merged with the writes of others, is based on what
  /// the field shows without the superseded write.
  /// - Parameters:
  ///   - below: what the field shows without the superseded write.
  ///   - isOwn: whether that is a pending write of this peer.
  mutating func stand(
    _ field: String, on ruled: RuledWrite, inPlaceOf earlier: [Pending], over below: FieldValue?, isOwn: Bool
  ) {
    guard let now = seen[field] else { return }
    guard let former = earlier.last(where: { $0.rules[field] != nil }), let formerSeen = former.seen[field] else {
      // Without a value the writer saw the declared default, which no other peer wrote.
      let isUnset = !isOwn && now.value.isSame(as: nil)
      seen[field] = Seen(
        value: .value(isUnset ? nil : ruled.base), epoch: now.epoch, version: now.version, isOwn: isOwn,
        ground: isUnset ? ruled.base : nil)
      return
    }
    seen[field] = formerSeen
    guard ruled.rule == .text, let edited = former.value(of: field) else { return }
    let isSame = formerSeen.isUntouched(below, at: now.version) || formerSeen.value.isSame(as: below)
    let shown = isSame ? edited : former.overlaid(below, field, edited, at: now.version)
    if !FieldValue.isSame(ruled.base, shown),
      let text = FieldValue.mergedText(base: ruled.base, first: shown, second: value(of: field))
    {
      replace(field, by: text)
    }
    if !isSame { seen[field] = Seen(value: .value(below), epoch: now.epoch, version: now.version, isOwn: isOwn) }
  }

  /// The value that a set gives the field over the present one.
  /// - Parameter version: that of the committed value; 0: the field was never written.
  func overlaid(_ value: FieldValue?, _ field: String, _ mine: FieldValue?, at version: Version) -> FieldValue? {
    guard rules[field] == .text, let seen = seen[field], !seen.isUntouched(value, at: version),
      !seen.value.isSame(as: value)
    else { return mine }
    return FieldValue.mergedText(base: seen.base, first: value, second: mine) ?? mine
  }

  /// Replaces the value that was written by the result of a merge.
  mutating func replace(_ field: String, by value: FieldValue) {
    for index in proposal.operations.indices where proposal.operations[index].field == field {
      proposal.operations[index].value = value
    }
    for index in overlay.indices where overlay[index].field == field { overlay[index].value = value }
    merging.isRewritten = true
  }

  /// Whether the replica holds the commit for which the write was refused.
  func hasArrived(in replica: Replica) -> Bool {
    merging.waitsFor.map { $0.epoch != replica.epoch || $0.version <= replica.version } ?? true
  }

  /// A field of the conditions whose version is unchanged, although its value is not what the writer saw. One that was
  /// never written is unchanged in whatever epoch the writer saw it, and a later replica need not know it.
  func fieldSeenAlone(in replica: Replica) -> String? {
    proposal.conditions.first { condition in
      guard let seen = seen[condition.field] else { return false }
      let field = replica.field(condition.field)
      let version = field?.version ?? 0
      let isUnchanged = seen.version == version && (version == 0 || seen.epoch == replica.epoch)
      return isUnchanged && !seen.value.isSame(as: field?.value)
    }?.field
  }

  func value(of field: String) -> FieldValue? { overlay.first { $0.field == field }?.value }

  /// Whether rules cover everything that is written, so that a resend on another base is harmless: merging the same
  /// words again gives the same text.
  var isRepeatable: Bool {
    proposal.operations.allSatisfy { $0.verb == .set && rules[$0.field] == .text }
  }
}

extension FieldValue {
  /// Whether both are the same JSON value, in whatever notation.
  static func isSame(_ one: FieldValue?, _ other: FieldValue?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.isSame(as: other)
  }

  /// The text of a JSON string; "" if there is no value; nil for any other value.
  static func text(_ value: FieldValue?) -> String? {
    guard let value else { return "" }
    guard case .string(let text)? = try? value.json else { return nil }
    return text
  }

  /// The merge of two edits of one text; nil if one of the three is not a text.
  static func mergedText(base: FieldValue?, first: FieldValue?, second: FieldValue?) -> FieldValue? {
    guard let base = text(base), let first = text(first), let second = text(second) else { return nil }
    return FieldValue(json: .string(TextMerge.merge(base: base, first: first, second: second)))
  }
}
