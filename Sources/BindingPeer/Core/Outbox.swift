import BindingWire

/// A write that has no outcome yet, or whose commit has not arrived.
struct Pending: Sendable {
  let id: WriteID
  var proposal: Proposal
  /// What lies over the committed values: the operations, `clear` spelled out by field.
  var overlay: [FieldOperation]
  let bytes: Int
  let writtenAt: UInt64
  /// What its writer saw of the fields that it sets; where a rule merged it with what others wrote, what it stands on.
  var seen: [String: Seen]
  /// By field: how it stands to what others write.
  var rules: [String: ConflictRule] = [:]
  /// By field: what becomes of it when it waited long. Without one it yields.
  var offline: [String: OfflineRule] = [:]
  /// How often it was refused as a conflict and merged.
  var attempts = 0
  /// How often somebody was asked what becomes of it.
  var askings = 0
  /// It is not sent before the replica has reached this version, if the epoch is still that one.
  var waitsFor: (epoch: Epoch, version: Version)?
  /// Somebody is asked what becomes of it.
  var isAsking = false
  var number: ProposalNumber?
  var isVoid = false
  /// To be sent, or sent again, with the next drain.
  var needsSending = true
  var sentAtBeat: UInt64 = 0
  /// Its effect is in the committed values already, or it was refused: it no longer lies over them (R4, R5).
  var isHidden = false
  /// The hub has committed it; it lies over until the replica reaches that version (R6).
  var committedAt: Version?
  /// It waited long already when this session took it up.
  var isOld = false
  /// Set for what an earlier life of the program wrote: another session sends it, here it only lies over.
  var carried: Carried?

  struct Carried: Sendable {
    let tag: Tag
    /// The number under which the other session sent it.
    var number: ProposalNumber?
  }

  struct Seen: Sendable {
    let value: Sight
    let epoch: Epoch
    let version: Version
  }

  /// A committed value as a writer saw it; of an earlier life only the digest is known.
  enum Sight: Sendable {
    case value(FieldValue?)
    case digest(UInt64?)

    var digest: UInt64? {
      switch self {
      case .value(let value): value.map { value in value.bytes.withUnsafeBytes { Digest.ofValue($0) } }
      case .digest(let digest): digest
      }
    }

    /// The value, where it is known.
    var known: FieldValue? {
      if case .value(let value) = self { value } else { nil }
    }

    func isSame(as other: FieldValue?) -> Bool {
      switch self {
      case .value(let value): value == other
      case .digest(let digest): digest == Sight.value(other).digest
      }
    }
  }

  var isUndecided: Bool { committedAt == nil }
}

/// A model's pending writes in their order, and which of them lie over which field (the *rebase*: committed values,
/// pending laid over again).
struct Outbox: Sendable {
  private(set) var order: [WriteID] = []
  private var pending: [WriteID: Pending] = [:]
  private var byNumber: [ProposalNumber: WriteID] = [:]
  /// The writes over each field, oldest first.
  private var over: [String: [WriteID]] = [:]
  private(set) var lastNumber: ProposalNumber = 0
  private(set) var bytes = 0
  /// Writes of earlier lives without an outcome: nothing of this life is sent before them.
  private(set) var carried: Swift.Set<WriteID> = []
  /// The last write with a condition: nothing before it is folded away, for the condition may speak of it.
  private var lastConditional: WriteID?
  var count: Int { pending.count }

  var isEmpty: Bool { pending.isEmpty }
  /// Writes of this life without an outcome.
  var undecided: Int { pending.values.count { $0.isUndecided } - carried.count }
  var inFlight: Int { byNumber.count }

  subscript(id: WriteID) -> Pending? { pending[id] }

  func id(of number: ProposalNumber) -> WriteID? { byNumber[number] }

  func with(_ number: ProposalNumber) -> Pending? { byNumber[number].flatMap { pending[$0] } }

  /// The lowest number without an outcome: what a join tells.
  var lowestUndecided: ProposalNumber {
    #if MUTANTS
      if Mutant.isOn(.confirmTooFar) { return (byNumber.keys.min() ?? lastNumber) + 1 }
    #endif
    return byNumber.keys.min() ?? lastNumber + 1
  }

  /// Whether there is a number for each write that has none yet, and for one more.
  var hasNumbers: Bool { Int(ProposalNumber.max - lastNumber) > order.count + 1 }

  /// Goes on numbering where an earlier membership of this identity ended.
  mutating func resume(after number: ProposalNumber) { lastNumber = number }

  mutating func append(_ write: Pending) {
    order.append(write.id)
    if !write.proposal.conditions.isEmpty { lastConditional = write.id }
    bytes += write.bytes
    pending[write.id] = write
    if write.carried != nil { carried.insert(write.id) }
    if let number = write.number {
      byNumber[number] = write.id
      lastNumber = max(lastNumber, number)
    }
    for operation in write.overlay { over[operation.field, default: []].append(write.id) }
  }

  mutating func update(_ id: WriteID, _ body: (inout Pending) -> Void) {
    guard pending[id] != nil else { return }
    // SAFETY: looked at the line above.
    body(&pending[id]!)
    #if MUTANTS
      if Mutant.isOn(.neverResend), pending[id]?.number != nil { pending[id]?.needsSending = false }
    #endif
  }

  /// Gives the write the next number: from now on it is what it is (R3).
  mutating func number(_ id: WriteID) -> ProposalNumber {
    lastNumber += 1
    byNumber[lastNumber] = id
    let number = lastNumber
    update(id) { $0.number = number }
    return number
  }

  /// The hub has forgotten our numbers, or the write was converted: it is as if never sent.
  mutating func unnumber(_ id: WriteID) {
    guard let number = pending[id]?.number else { return }
    byNumber[number] = nil
    update(id) {
      $0.number = nil
      $0.needsSending = true
    }
  }

  /// The outcome is known; the write may still lie over the committed value.
  mutating func decide(_ id: WriteID, at version: Version) {
    if let number = pending[id]?.number { byNumber[number] = nil }
    carried.remove(id)
    update(id) { $0.committedAt = version }
  }

  /// Takes the write out. Returns the fields that it lay over.
  @discardableResult
  mutating func remove(_ id: WriteID) -> [String] {
    guard let write = pending.removeValue(forKey: id) else { return [] }
    bytes -= write.bytes
    carried.remove(id)
    if let number = write.number, byNumber[number] == id { byNumber[number] = nil }
    order.removeAll { $0 == id }
    let fields = write.overlay.map(\.field)
    for field in fields {
      over[field]?.removeAll { $0 == id }
      if over[field]?.isEmpty == true { over[field] = nil }
    }
    return fields
  }

  /// The writes that a plain set makes needless: plain sets that were never sent, over each of whose fields they are
  /// the last, and all of whose fields it sets (R3), by the same rules: else a set would end with the
  /// conflict of one that is compared, or that be compared with what was never committed.
  func replaced(by proposal: Proposal, rules: [String: ConflictRule]) -> [WriteID] {
    guard proposal.isPlainSet else { return [] }
    let fields = Swift.Set(proposal.operations.map(\.field))
    #if MUTANTS
      if Mutant.isOn(.foldSent) || Mutant.isOn(.foldPartly) { return replacedWrongly(by: fields) }
    #endif
    var replaced: Swift.Set<WriteID> = []
    for field in fields {
      guard let last = over[field]?.last, lastConditional.map({ $0 < last }) ?? true, let write = pending[last],
        write.number == nil, write.carried == nil, write.proposal.isPlainSet,
        write.rules == rules,
        write.proposal.operations.allSatisfy({ fields.contains($0.field) && over[$0.field]?.last == last })
      else { continue }
      replaced.insert(last)
    }
    return replaced.sorted()
  }

  #if MUTANTS
    private func replacedWrongly(by fields: Swift.Set<String>) -> [WriteID] {
      Swift.Set(fields.compactMap { over[$0]?.last }).filter { id in
        guard let write = pending[id], write.proposal.isPlainSet, write.isUndecided else { return false }
        if Mutant.isOn(.foldPartly) { return write.number == nil }
        return write.proposal.operations.allSatisfy { fields.contains($0.field) }
      }.sorted()
    }
  #endif

  /// The value that shows: the committed one with what is pending laid over, oldest first.
  func shown(_ field: String, over committed: FieldValue?) -> FieldValue? {
    guard let writes = over[field] else { return committed }
    var value = committed
    for id in writes {
      guard let write = pending[id], !write.isHidden else { continue }
      for operation in write.overlay where operation.field == field {
        switch operation.verb {
        case .set:
          if write.rules[field] == .text, let seen = write.seen[field], !seen.value.isSame(as: value) {
            value =
              FieldValue.mergedText(base: seen.value.known, first: value, second: operation.value) ?? operation.value
          } else {
            value = operation.value
          }
        case .delete, .clear: value = nil
        case .whenUnset: value = value ?? operation.value
        case .add, .max, .min, .union:
          if let operand = operation.value { value = Merge.apply(operation.verb, operand: operand, to: value) ?? value }
        }
      }
    }
    return value
  }

  /// Whether no earlier write of ours lies over the field, or waits for its commit to arrive.
  func isFirst(_ id: WriteID, over field: String) -> Bool { over[field]?.first == id }

  /// The writes over a field, oldest first.
  func writes(over field: String) -> [Pending] { over[field]?.compactMap { pending[$0] } ?? [] }

  /// Whether a write of ours lies over the field.
  func isPending(_ field: String) -> Bool { over[field]?.contains { pending[$0]?.isHidden == false } ?? false }

  /// Whether a write of ours on the field has no outcome.
  func isUndecided(_ field: String) -> Bool { over[field]?.contains { pending[$0]?.isUndecided == true } ?? false }

  func isInFlight(_ field: String) -> Bool { over[field]?.contains { pending[$0]?.number != nil } ?? false }

  /// Hides what the committed values hold already. Returns the fields that may show another value now.
  mutating func hide(upTo mark: ProposalNumber) -> [String] {
    var fields: [String] = []
    for id in order {
      guard let write = pending[id], let number = write.number, number <= mark, !write.isHidden else { continue }
      update(id) { $0.isHidden = true }
      fields += write.overlay.map(\.field)
    }
    return fields
  }

  /// The same for what an earlier life wrote under that tag.
  mutating func hide(carriedBy tag: Tag, upTo mark: ProposalNumber) -> [String] {
    var fields: [String] = []
    for id in order {
      guard let write = pending[id], let carried = write.carried, carried.tag == tag, !write.isHidden,
        let number = carried.number, number <= mark
      else { continue }
      update(id) { $0.isHidden = true }
      fields += write.overlay.map(\.field)
    }
    return fields
  }

  /// Takes out what the replica has reached. Returns the fields concerned.
  mutating func drop(reached version: Version) -> [String] {
    let done = order.filter { pending[$0]?.committedAt.map { $0 <= version } ?? false }
    return done.flatMap { remove($0) }
  }
}
