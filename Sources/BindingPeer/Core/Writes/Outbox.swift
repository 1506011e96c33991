import BindingProtocol

/// A model's pending writes in their order, and which of them lie over which field (the *rebase*: committed values,
/// pending laid over again).
struct Outbox: Sendable {
  /// They are named when they are made, so that is their order.
  private(set) var pending = SortedArrayMap<WriteID, Pending>()
  /// Numbers without an outcome, and whose they are.
  private var byNumber = SortedArrayMap<ProposalNumber, WriteID>()
  /// The writes over each field, oldest first; a field over which there were some may have none.
  private(set) var over = IndexedMap<String, [WriteID]>()
  /// The fields for which an empty list is kept, at most: it is filled again soon where few are written in turn.
  private static let keptLists = 64
  /// What may be of use soon, so that with many pending writes not all are looked at for each: writes that may have to
  /// be sent; numbered ones that may lie over a value.
  private var due = MonotonicQueue<WriteID>()
  private var overlaidByNumber = MonotonicQueue<OverlaidWrite>()
  /// Writes that are committed and wait for the replica.
  private var arriving: [WriteID] = []
  private var unacknowledgedCount = 0
  private(set) var lastNumber: ProposalNumber = 0
  /// No later write has a number.
  private var lastNumbered = WriteID(rawValue: 0)
  /// The committed values hold what was decided of our numbers up to here. A copy of an outbox that lags behind its
  /// original gives a write such a number only then.
  private var lastDecided: ProposalNumber = 0
  private(set) var bytes = 0
  /// Writes of earlier lives without an outcome: nothing of this life is sent before them.
  private(set) var carried: Swift.Set<WriteID> = []
  /// The last write with a condition: nothing before it is folded away, for the condition may speak of it.
  private var lastConditional: WriteID?
  private struct OverlaidWrite: Hashable, Comparable, Sendable {
    let number: ProposalNumber
    let write: WriteID
    static func < (left: OverlaidWrite, right: OverlaidWrite) -> Bool { left.number < right.number }
  }

  /// Whether something may have to be sent: seen without looking at each write.
  var mayBeDue: Bool { due.first != nil }
  var count: Int { pending.count }

  var isEmpty: Bool { pending.isEmpty }
  /// Writes of this life without an outcome.
  var unacknowledged: Int { unacknowledgedCount - carried.count }
  var inFlight: Int { byNumber.count }
  /// All writes, oldest first.
  var order: [WriteID] { Array(pending.keys) }

  subscript(id: WriteID) -> Pending? { pending[id] }

  func id(of number: ProposalNumber) -> WriteID? { byNumber[number] }

  /// The lowest number without an outcome: what a join tells.
  var lowestUnacknowledged: ProposalNumber {
    byNumber.firstKey ?? lastNumber + 1
  }

  /// Whether there is a number for each write that has none yet, and for one more.
  var hasNumbers: Bool { Int(ProposalNumber.max - lastNumber) > count + 1 }

  /// Goes on numbering where an earlier membership of this identity ended.
  mutating func resume(after number: ProposalNumber) { lastNumber = number }

  mutating func append(_ write: consuming Pending) {
    if write.isUnacknowledged { unacknowledgedCount += 1 } else { arriving.append(write.id) }
    due.enter(write.id)
    if !write.proposal.conditions.isEmpty { lastConditional = write.id }
    bytes += write.bytes
    if write.carried != nil { carried.insert(write.id) }
    if let number = write.number {
      byNumber[number] = write.id
      lastNumber = max(lastNumber, number)
      lastNumbered = max(lastNumbered, write.id)
      overlaidByNumber.enter(OverlaidWrite(number: number, write: write.id))
    }
    for operation in write.overlay { over[operation.field, default: []].append(write.id) }
    let id = write.id
    pending.insert(write, for: id)
  }

  mutating func update(_ id: WriteID, _ body: (inout Pending) -> Void) {
    guard let index = pending.index(of: id) else { return }
    let wasUnacknowledged = pending[at: index].isUnacknowledged
    let wasOverlaid = !pending[at: index].isHidden && pending[at: index].number != nil
    body(&pending[at: index])
    if wasUnacknowledged, !pending[at: index].isUnacknowledged {
      unacknowledgedCount -= 1
      arriving.append(id)
    }
    if pending[at: index].needsSending { due.enter(id) }
    if !wasOverlaid, !pending[at: index].isHidden, let number = pending[at: index].number {
      overlaidByNumber.enter(OverlaidWrite(number: number, write: id))
    }
  }

  /// Gives the write the next number: from now on it is what it is (R3).
  mutating func number(_ id: WriteID, in epoch: Epoch) -> ProposalNumber {
    lastNumber += 1
    byNumber[lastNumber] = id
    lastNumbered = max(lastNumbered, id)
    let (number, isDecided) = (lastNumber, lastNumber <= lastDecided)
    update(id) {
      $0.number = number
      $0.numberedIn = epoch
      if isDecided { $0.isHidden = true }
    }
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

  /// Takes the write out. Returns what lay over the fields.
  @discardableResult
  mutating func remove(_ id: WriteID) -> [FieldOperation] {
    guard let write = pending.removeValue(forKey: id) else { return [] }
    bytes -= write.bytes
    carried.remove(id)
    if write.isUnacknowledged { unacknowledgedCount -= 1 }
    if let number = write.number, byNumber[number] == id { byNumber[number] = nil }
    for operation in write.overlay {
      guard let index = over.index(of: operation.field) else { continue }
      if let first = over[at: index].firstIndex(of: id) { over[at: index].remove(at: first) }
      if over[at: index].isEmpty, over.count > Outbox.keptLists { over[operation.field] = nil }
    }
    return write.overlay
  }

  /// The writes that a plain set makes needless: plain sets that were never sent, over each of whose fields they are
  /// the last, and all of whose fields it sets (R3), by the same rules: else a set would end with the
  /// conflict of one that is compared, or that be compared with what was never committed.
  func replaced(by proposal: Proposal, rules: [String: ConflictRule]) -> [WriteID] {
    guard proposal.isPlainSet else { return [] }
    if proposal.operations.count == 1 {
      let field = proposal.operations[0].field
      return lastReplaced(in: field, rules) { $0 == field }.map { [$0] } ?? []
    }
    let fields = Swift.Set(proposal.operations.map(\.field))
    return Swift.Set(fields.compactMap { lastReplaced(in: $0, rules, fields.contains) }).sorted()
  }

  /// The last write over the field, if a set by these rules of all fields that are `meant` makes it needless.
  private func lastReplaced(
    in field: String, _ rules: [String: ConflictRule], _ meant: (String) -> Bool
  ) -> WriteID? {
    guard let last = over[field]?.last, lastConditional.map({ $0 < last }) ?? true,
      let index = pending.index(of: last), pending[at: index].number == nil, pending[at: index].carried == nil,
      pending[at: index].proposal.isPlainSet, pending[at: index].rules == rules,
      pending[at: index].proposal.operations.allSatisfy({ meant($0.field) && over[$0.field]?.last == last })
    else { return nil }
    return last
  }

  /// What is to be sent with the next drain: what has a number, in that order, for the hub decides nothing after one
  /// that is missing; then the oldest of the others, as far as there is `room` for them.
  mutating func toSend(room: Int) -> [WriteID] {
    due.sort()
    while let first = due.first, !isDue(first) { due.removeFirst() }
    var numbered: [(number: ProposalNumber, write: WriteID)] = []
    var others: [WriteID] = []
    for id in due.all where isDue(id) {
      if let number = number(of: id) {
        numbered.append((number, id))
      } else if others.count < room {
        others.append(id)
      } else if id > lastNumbered {
        break
      }
    }
    // A write that lost a comparison and tries again has a later number than younger ones.
    numbered.sort { $0.number < $1.number }
    return numbered.map(\.write) + others
  }

  private func isDue(_ id: WriteID) -> Bool {
    pending.index(of: id).map { pending[at: $0].needsSending && pending[at: $0].isUnacknowledged } ?? false
  }

  /// The hub may lack all of it.
  mutating func sendAllAgain() {
    for id in order { update(id) { $0.needsSending = true } }
  }

  /// Sends again what two heartbeats have brought no outcome for (R15).
  mutating func sendAgain(sentBefore heartbeat: UInt64) {
    for id in Array(byNumber.elements) {
      update(id) { if heartbeat >= $0.sentAtHeartbeat + 2 { $0.needsSending = true } }
    }
  }

  /// Forgets what the committed values held: they are another life's now, which may have lost it. What it has not lost
  /// is hidden again by its mark. Returns what lay over fields that may show another value now.
  mutating func unhide() -> [FieldOperation] {
    lastDecided = 0
    var uncovered: [FieldOperation] = []
    for id in order {
      guard let index = pending.index(of: id), pending[at: index].isHidden, pending[at: index].isUnacknowledged else {
        continue
      }
      update(id) { $0.isHidden = false }
      uncovered += pending[at: index].overlay
    }
    return uncovered
  }

  /// Hides what the committed values hold already. Returns what lay over fields that may show another value now.
  mutating func hide(upTo lastDecided: ProposalNumber) -> [FieldOperation] {
    self.lastDecided = max(self.lastDecided, lastDecided)
    var uncovered: [FieldOperation] = []
    overlaidByNumber.sort()
    while let next = overlaidByNumber.first, next.number <= lastDecided {
      overlaidByNumber.removeFirst()
      guard let index = pending.index(of: next.write), pending[at: index].number == next.number,
        !pending[at: index].isHidden
      else { continue }
      update(next.write) { $0.isHidden = true }
      uncovered += pending[at: index].overlay
    }
    return uncovered
  }

  /// The same for what an earlier life wrote under that tag.
  mutating func hide(carriedBy tag: Tag, upTo lastDecided: ProposalNumber) -> [FieldOperation] {
    var uncovered: [FieldOperation] = []
    for id in order {
      guard let write = pending[id], let carried = write.carried, carried.tag == tag, !write.isHidden,
        let number = carried.number, number <= lastDecided
      else { continue }
      update(id) { $0.isHidden = true }
      uncovered += write.overlay
    }
    return uncovered
  }

  /// The writes that the replica has reached, oldest first, which are to be taken out.
  mutating func takeArrived(by version: Version) -> [WriteID] {
    guard !arriving.isEmpty else { return [] }
    var done: [WriteID] = []
    arriving.removeAll { id in
      guard let index = pending.index(of: id), let committed = pending[at: index].committedAt else { return true }
      guard committed <= version else { return false }
      done.append(id)
      return true
    }
    if done.count > 1 { done.sort() }
    return done
  }
}
