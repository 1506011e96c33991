import BindingProtocol

/// The fields that a peer has in an ephemeral model, as the hub decided, each with the number of the deciding write,
/// since outcomes arrive in any order. Writes without an outcome are not included: they are resent.
///
/// Claims are separate from the replica, which lacks what the hub removed when it took this peer for gone, and what a
/// restarted hub has not received.
struct Claims: Sendable {
  private struct Claim: Sendable {
    /// nil: deleted or given up.
    var value: FieldValue?
    var number: ProposalNumber
  }
  private var fields: [String: Claim] = [:]
  private var clearedBy: ProposalNumber = 0
  /// Fields that this peer still held from before it joined, to be given up; nil: the model has not been current yet at
  /// this hub.
  private var orphans: [String]?
  /// The model may have ended, or have forgotten this peer, since it was last current.
  var mayBeAnew = false

  /// The fields to claim, in the order of their names.
  var all: [(field: String, value: FieldValue)] {
    fields.compactMap { name, claim in claim.value.map { (name, $0) } }.sorted { $0.field < $1.field }
  }

  func has(_ field: String) -> Bool { fields[field]?.value != nil }

  func claims(_ value: FieldValue?, in field: String) -> Bool { value != nil && fields[field]?.value == value }

  var isEmpty: Bool { fields.values.allSatisfy { $0.value == nil } }

  /// Applies a write that the hub has committed, or found to change nothing (`isKept`).
  mutating func apply(_ write: Pending, isKept: Bool) {
    guard let number = write.number else { return }
    for operation in write.proposal.operations {
      switch operation.verb {
      case .set: record(operation.value, in: operation.field, by: number)
      case .delete: record(nil, in: operation.field, by: number)
      case .clear:
        clearedBy = max(clearedBy, number)
        fields = fields.filter { $0.value.number > number }
      case .setIfAbsent, .add, .max, .min, .union, .insert, .move, .replace, .describe:
        if !isKept { record(nil, in: operation.field, by: number) }
      }
    }
  }

  /// Forgets deletions with lower numbers: all outcomes below that number are known.
  mutating func forget(before number: ProposalNumber) {
    fields = fields.filter { $0.value.value != nil || $0.value.number >= number }
  }

  /// Records a field's value. The write with the higher number counts, whichever outcome arrives first.
  mutating func record(_ value: FieldValue?, in field: String, by number: ProposalNumber) {
    guard number > clearedBy, fields[field].map({ $0.number <= number }) ?? true else { return }
    fields[field] = Claim(value: value, number: number)
  }

  /// Updates the claims by the outcome of a write.
  mutating func settle(
    _ write: Pending, as outcome: Outcome, by tag: Tag, _ replica: Replica, _ writes: WriteQueue
  ) {
    switch outcome {
    case .committed: apply(write, isKept: false)
    case .unchanged: apply(write, isKept: true)
    case .superseded, .expired: break
    case .refused(let refusal):
      guard let number = write.number else { return }
      for operation in write.overlay {
        // Another peer owns it by now, or a new description excludes a value that the hub accepted before.
        let isLost =
          refusal.code == .notOwner
          ? replica.isOthers(operation.field, than: tag) : claims(operation.value, in: operation.field)
        if isLost { record(nil, in: operation.field, by: number) }
      }
    case .conflict, .unknown:
      // The result of a withdrawn write is unknown; earlier values stand.
      guard let number = write.number, !write.sending.isVoid else { return }
      for field in write.overlay.map(\.field) where !field.hasPrefix(Names.presencePrefix) {
        // An earlier write is under way, and the replica does not have its value yet.
        guard !writes.isUnacknowledged(field, before: number) else { continue }
        record(replica.value(of: field, ifOf: tag), in: field, by: number)
      }
    }
  }

  // MARK: Claiming again

  /// The claims to write again, of fields that no write under way concerns.
  func proposals(_ writes: WriteQueue, where isMissing: (String, FieldValue) -> Bool) -> [Proposal] {
    var proposals: [Proposal] = []
    for (field, value) in all where !writes.isUnacknowledged(field) && isMissing(field, value) {
      proposals.append(Proposal(operations: [FieldOperation(.set, field, value)]))
    }
    return proposals
  }

  /// The claims that the replica lacks although no write is under way: they were decided before the hub took this peer
  /// for gone.
  mutating func lost(_ replica: Replica, _ writes: WriteQueue, of tag: Tag) -> [Proposal] {
    guard !isEmpty else { return [] }
    forget(before: writes.lowestUnacknowledged)
    return proposals(writes) { !replica.holds($1, in: $0, of: tag) }
  }

  /// The model is at another hub now, which may not have learned what this peer has given up elsewhere.
  mutating func lookForOrphans() { orphans = nil }

  /// Finds, once at a hub, this peer's fields from before it joined: the model was left without the hub learning of it,
  /// and joined again before the hub would have taken this peer for gone. The program has announced none of them since.
  mutating func findOrphans(_ replica: Replica, of tag: Tag) {
    guard orphans == nil else { return }
    let own = replica.fields.filter { $0.value != nil && $0.origin.tag == tag }.map(\.name)
    let announced = replica.value(of: Names.me, ifOf: tag) == nil ? [] : [Names.me]
    orphans = own.filter { !$0.hasPrefix(Names.presencePrefix) }.sorted() + announced
  }

  /// Deletes the orphaned fields, except those that the program has written since. What cannot be written now is
  /// retried with a later heartbeat.
  mutating func deletions(_ replica: Replica, _ writes: WriteQueue, of tag: Tag) -> [Proposal] {
    guard let found = orphans, !found.isEmpty else { return [] }
    var left: [String] = []
    for field in found where replica.value(of: field, ifOf: tag) != nil && !has(field) { left.append(field) }
    orphans = left
    var proposals: [Proposal] = []
    for field in left where !writes.isUnacknowledged(field) {
      proposals.append(Proposal(operations: [FieldOperation(.delete, field)]))
    }
    return proposals
  }
}

extension Replica {
  /// Whether a field of an ephemeral model has the value that its peer claims.
  func holds(_ value: FieldValue, in field: String, of tag: Tag) -> Bool {
    let own = self.value(of: field, ifOf: tag)
    return field == Names.me ? own?.jsonIfValid == value.jsonIfValid : own == value
  }

  /// Whether another peer has a field of an ephemeral model.
  func isOthers(_ field: String, than tag: Tag) -> Bool {
    index(of: field).map { fields[$0].value != nil && fields[$0].origin.tag != tag } ?? false
  }

  /// The value that a peer has in a field of an ephemeral model; nil: none, or the field is another peer's.
  func value(of field: String, ifOf tag: Tag) -> FieldValue? {
    guard field == Names.me else {
      return index(of: field).flatMap { fields[$0].origin.tag == tag ? fields[$0].value : nil }
    }
    // A peer's announcement is stored in the field of its presence slot.
    let slot = fields.lazy.filter { $0.name.hasPrefix(Names.presencePrefix) }.compactMap { $0.value?.jsonIfValid }
      .first { $0["tag"] == .string(tag.description) }
    return slot?["says"].map { FieldValue(json: $0) }
  }
}
