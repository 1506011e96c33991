import BindingWire

/// A model's pending writes in their order, and which of them lie over which field (the *rebase*: committed values,
/// pending laid over again).
struct Outbox: Sendable {
  private(set) var order: [WriteID] = []
  private var pending = Keyed<WriteID, Pending>()
  private var byNumber: [ProposalNumber: WriteID] = [:]
  /// The writes over each field, oldest first.
  private var over = Keyed<String, [WriteID]>()
  private(set) var lastNumber: ProposalNumber = 0
  private(set) var bytes = 0
  /// Writes of earlier lives without an outcome: nothing of this life is sent before them.
  private(set) var carried: Swift.Set<WriteID> = []
  /// The last write with a condition: nothing before it is folded away, for the condition may speak of it.
  private var lastConditional: WriteID?
  /// Whether something may have to be sent: seen without looking at each write.
  private(set) var mayBeDue = false
  var count: Int { pending.count }

  var isEmpty: Bool { pending.isEmpty }
  /// Writes of this life without an outcome.
  var undecided: Int { pending.indices.count { pending[at: $0].isUndecided } - carried.count }
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
    mayBeDue = true
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
    guard let place = pending.place(of: id) else { return }
    body(&pending[at: place])
    if pending[at: place].needsSending { mayBeDue = true }
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
    guard let number = number(of: id) else { return }
    byNumber[number] = nil
    update(id) {
      $0.number = nil
      $0.needsSending = true
    }
  }

  /// The outcome is known; the write may still lie over the committed value.
  mutating func decide(_ id: WriteID, at version: Version) {
    if let number = number(of: id) { byNumber[number] = nil }
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
      guard let place = over.place(of: field) else { continue }
      over[at: place].removeAll { $0 == id }
      if over[at: place].isEmpty { over[field] = nil }
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

  /// What is to be sent with the next drain, oldest first.
  mutating func toSend() -> [WriteID] {
    var due: [WriteID] = []
    for id in order {
      guard let place = pending.place(of: id), pending[at: place].needsSending, pending[at: place].isUndecided else {
        continue
      }
      due.append(id)
    }
    mayBeDue = !due.isEmpty
    return due
  }

  /// The hub may lack all of it.
  mutating func sendAllAgain() {
    for id in order { update(id) { $0.needsSending = true } }
  }

  /// Sends again what two beats have brought no outcome for (R15).
  mutating func sendAgain(sentBefore beat: UInt64) {
    for id in byNumber.values { update(id) { if beat >= $0.sentAtBeat + 2 { $0.needsSending = true } } }
  }

  /// Whether the write makes what lies below it in a field invisible.
  private func covers(_ write: Int, _ field: String) -> Bool {
    guard !pending[at: write].isHidden, pending[at: write].rules[field] != .text else { return false }
    return pending[at: write].overlay.indices.contains { place in
      let verb = pending[at: write].overlay[place].verb
      return (verb == .set || !verb.takesValue) && pending[at: write].overlay[place].field == field
    }
  }

  /// The value that shows: the committed one with what is pending laid over, oldest first.
  func shown(_ field: String, over committed: FieldValue?) -> FieldValue? {
    guard let writes = over.place(of: field) else { return committed }
    var value = committed
    // Of many writes over one field only the last set and what follows it counts.
    var from = over[at: writes].count - 1
    while from > 0, pending.place(of: over[at: writes][from]).map({ covers($0, field) }) != true { from -= 1 }
    for id in over[at: writes][from...] {
      guard let place = pending.place(of: id), !pending[at: place].isHidden else { continue }
      for number in pending[at: place].overlay.indices where pending[at: place].overlay[number].field == field {
        let operation = pending[at: place].overlay[number]
        switch operation.verb {
        case .set:
          if pending[at: place].rules[field] == .text, let seen = pending[at: place].seen[field],
            !seen.value.isSame(as: value)
          {
            value =
              FieldValue.mergedText(base: seen.base, first: value, second: operation.value) ?? operation.value
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

  /// The writes that show, oldest first.
  var laidOver: [WriteID] {
    order.filter { id in pending.place(of: id).map { !pending[at: $0].isHidden } ?? false }
  }

  /// The fields that writes lie over, in no order.
  var fields: ContiguousArray<String> { over.keys }

  /// Whether no earlier write of ours lies over the field, or waits for its commit to arrive.
  func isFirst(_ id: WriteID, over field: String) -> Bool { over[field]?.first == id }

  /// The writes over a field, oldest first.
  func writes(over field: String) -> [Pending] { over[field]?.compactMap { pending[$0] } ?? [] }

  /// Whether a write of ours lies over the field.
  func isPending(_ field: String) -> Bool {
    over[field]?.contains { id in pending.place(of: id).map { !pending[at: $0].isHidden } ?? false } ?? false
  }

  /// Whether the write has no outcome; false if it is not here.
  func isUndecided(_ id: WriteID) -> Bool { pending.place(of: id).map { pending[at: $0].isUndecided } ?? false }

  /// The number that the write has got; nil if it was never sent.
  func number(of id: WriteID) -> ProposalNumber? { pending.place(of: id).flatMap { pending[at: $0].number } }

  /// Whether a write of ours on the field has no outcome.
  func isUndecided(_ field: String) -> Bool { over[field]?.contains { isUndecided($0) } ?? false }

  func isInFlight(_ field: String) -> Bool { over[field]?.contains { number(of: $0) != nil } ?? false }

  /// Forgets what the committed values held: they are another life's now, which may have lost it. What it has not lost
  /// is hidden again by its mark. Returns the fields that may show another value now.
  mutating func unhide() -> [String] {
    var fields: [String] = []
    for id in order {
      guard let place = pending.place(of: id), pending[at: place].isHidden, pending[at: place].isUndecided else {
        continue
      }
      update(id) { $0.isHidden = false }
      fields += pending[at: place].overlay.map(\.field)
    }
    return fields
  }

  /// Hides what the committed values hold already. Returns the fields that may show another value now.
  mutating func hide(upTo mark: ProposalNumber) -> [String] {
    var fields: [String] = []
    for id in order {
      guard let place = pending.place(of: id), let number = pending[at: place].number, number <= mark,
        !pending[at: place].isHidden
      else { continue }
      update(id) { $0.isHidden = true }
      fields += pending[at: place].overlay.map(\.field)
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
    // Most often there is nothing: that is seen without looking each up in its order.
    guard pending.indices.contains(where: { place in pending[at: place].committedAt.map { $0 <= version } ?? false })
    else { return [] }
    let done = order.filter { id in
      pending.place(of: id).flatMap { pending[at: $0].committedAt }.map { $0 <= version } ?? false
    }
    return done.flatMap { remove($0) }
  }
}
