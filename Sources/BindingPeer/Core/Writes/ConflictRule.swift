import BindingProtocol

/// How a set of one field stands to what others commit meanwhile. A plain set, without a rule, goes over it.
public enum ConflictRule: Sendable, Hashable {
  /// Only if nobody else changed the field; else it ends as a conflict.
  case compareAndSet
  /// Both writers' words stand (`TextMerge`).
  case text
  /// Somebody outside is asked what becomes of the two values: `PeerAction.merge`, answered by `Session.merged`.
  case asked
}

/// A rule, and the value that its writer saw when it wrote; nil for none.
public struct RuledWrite: Sendable, Hashable {
  public var rule: ConflictRule
  public var base: FieldValue?

  public init(_ rule: ConflictRule, base: FieldValue?) {
    self.rule = rule
    self.base = base
  }
}

/// What becomes of a plain set that waited long for a hub, while others changed its field.
public enum OfflineRule: Sendable, Hashable {
  /// It ends as a conflict that has both values.
  case yields
  /// It goes over what the others wrote.
  case wins
  /// It ends as expired.
  case drops
}

/// Two values of one field that somebody has to make one.
public struct MergeQuestion: Sendable, Hashable {
  public var field: String
  /// What the writer saw when it wrote; nil for no value.
  public var base: FieldValue?
  public var mine: FieldValue
  /// What is committed now.
  public var theirs: FieldValue?

  public init(field: String, base: FieldValue?, mine: FieldValue, theirs: FieldValue?) {
    self.field = field
    self.base = base
    self.mine = mine
    self.theirs = theirs
  }
}

extension Pending {
  /// Whether it goes as it is: no rule, and not waited long.
  func isPlain(at now: UInt64, _ options: SessionOptions) -> Bool { rules.isEmpty && !hasWaited(at: now, options) }

  /// Whether what others wrote meanwhile counts more (docs/guide/offline.md).
  func hasWaited(at now: UInt64, _ options: SessionOptions) -> Bool {
    isOld || now >= writtenAt + options.offlineMilliseconds
  }

  /// What its writer saw, wrote, and what rule the field has.
  var ruledFields: [(field: String, rule: ConflictRule)] {
    rules.isEmpty ? [] : rules.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Notes what a field was written on. Where it takes the place of a write that was never sent, it stands on what that
  /// stood on; a text, which was edited as it showed over what others wrote, on what is there without that write.
  /// - Parameters:
  ///   - below: what the field shows without the write in whose place it comes.
  ///   - isOwn: whether that is a pending write of ours.
  mutating func stand(
    _ field: String, on ruled: RuledWrite, inPlaceOf earlier: [Pending], over below: FieldValue?, isOwn: Bool
  ) {
    guard let now = seen[field] else { return }
    guard let former = earlier.last(where: { $0.rules[field] != nil }), let formerSeen = former.seen[field] else {
      // Where there was no value its writer saw the declared default, which is none of what others wrote.
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

  /// What a set becomes over what is there by now.
  /// - Parameter version: that of the committed value; 0: nobody ever wrote there.
  func overlaid(_ value: FieldValue?, _ field: String, _ mine: FieldValue?, at version: Version) -> FieldValue? {
    guard rules[field] == .text, let seen = seen[field], !seen.isUntouched(value, at: version),
      !seen.value.isSame(as: value)
    else { return mine }
    return FieldValue.mergedText(base: seen.base, first: value, second: mine) ?? mine
  }

  /// Puts another value in the place of what was written: it is what the two became.
  mutating func replace(_ field: String, by value: FieldValue) {
    for index in proposal.operations.indices where proposal.operations[index].field == field {
      proposal.operations[index].value = value
    }
    for index in overlay.indices where overlay[index].field == field { overlay[index].value = value }
    isRewritten = true
  }

  /// Whether the replica holds what this was refused for.
  func hasArrived(in replica: Replica) -> Bool {
    waitsFor.map { $0.epoch != replica.epoch || $0.version <= replica.version } ?? true
  }

  /// A field of its conditions that has not changed since, and yet is not what its writer saw.
  func fieldSeenAlone(in replica: Replica) -> String? {
    proposal.conditions.first { condition in
      guard let seen = seen[condition.field], let index = replica.index(of: condition.field) else { return false }
      let field = replica.fields[index]
      return seen.epoch == replica.epoch && seen.version == field.version && !seen.value.isSame(as: field.value)
    }?.field
  }

  func value(of field: String) -> FieldValue? { overlay.first { $0.field == field }?.value }

  /// Whether the rules speak of all that is written, so that it may be tried again on another base without harm: a
  /// merge of the same words is the same text.
  var isRepeatable: Bool {
    proposal.operations.allSatisfy { $0.verb == .set && rules[$0.field] == .text }
  }
}

extension FieldValue {
  /// Whether both are the same value, however it is written.
  static func isSame(_ one: FieldValue?, _ other: FieldValue?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one.isSame(as: other)
  }

  /// The text of a JSON string; "" where there is no value; nil for anything else.
  static func text(_ value: FieldValue?) -> String? {
    guard let value else { return "" }
    guard case .string(let text)? = try? value.json else { return nil }
    return text
  }

  /// What two edits of one text become; nil where one of the three is no text.
  static func mergedText(base: FieldValue?, first: FieldValue?, second: FieldValue?) -> FieldValue? {
    guard let base = text(base), let first = text(first), let second = text(second) else { return nil }
    return FieldValue(json: .string(TextMerge.merge(base: base, first: first, second: second)))
  }
}
