import BindingProtocol

/// A model's pending writes in order, and which of them overlay which field. After each commit they overlay the
/// committed values again (a *rebase*).
struct WriteQueue: Sendable {
  /// By id: ids rise in the order in which writes are made.
  private(set) var pending = SortedArrayMap<WriteID, Pending>()
  /// The writes in flight by number.
  private var byNumber = SortedArrayMap<ProposalNumber, WriteID>()
  /// The writes over each field, oldest first. A list may be empty.
  private(set) var over = IndexedMap<String, [WriteID]>()
  /// The most fields whose list is kept when it empties: where few fields are written in turn, it soon fills again.
  private static let keptLists = 64
  /// Candidates, so that not all of many pending writes are searched: writes that may have to be sent, and numbered
  /// ones that may overlay a value.
  private var due = MonotonicQueue<WriteID>()
  private var overlaidByNumber = MonotonicQueue<OverlaidWrite>()
  /// Committed writes that wait until the replica reaches their version.
  private var arriving: [WriteID] = []
  private var unacknowledgedCount = 0
  private(set) var lastNumber: ProposalNumber = 0
  /// No later write has a number.
  private var lastNumbered = WriteID(rawValue: 0)
  /// The committed values hold what was decided of our numbers up to here. Only an outbox copy that lags behind its
  /// original still assigns such a number.
  private(set) var lastDecided: ProposalNumber = 0
  private(set) var bytes = 0
  /// No proposal is sent before this time: the hub has deferred one.
  var sendsFrom: UInt64 = 0
  /// Writes of earlier runs without an outcome: no write of this run is sent before they end.
  private(set) var carried: Swift.Set<WriteID> = []
  /// The last write with a condition. No write before it is superseded, since the condition may refer to it.
  private var lastConditional: WriteID?
  /// The description by which values of fields whose type was changed are checked.
  var forms = DescribedForms()
  private struct OverlaidWrite: Hashable, Comparable, Sendable {
    let number: ProposalNumber
    let write: WriteID
    static func < (left: OverlaidWrite, right: OverlaidWrite) -> Bool { left.number < right.number }
  }

  /// Whether something may have to be sent. Does not search the writes.
  var mayBeDue: Bool { due.first != nil }
  var count: Int { pending.count }

  var isEmpty: Bool { pending.isEmpty }
  /// Whether the commit of an acknowledged write has not arrived.
  var awaitsCommits: Bool { !arriving.isEmpty }
  /// The number of this run's writes without an outcome.
  var unacknowledged: Int { unacknowledgedCount - carried.count }
  var inFlight: Int { byNumber.count }
  /// All writes, oldest first.
  var order: [WriteID] { Array(pending.keys) }

  subscript(id: WriteID) -> Pending? { pending[id] }

  func id(of number: ProposalNumber) -> WriteID? { byNumber[number] }

  /// The lowest number without an outcome, which a join sends.
  var lowestUnacknowledged: ProposalNumber {
    byNumber.firstKey ?? lastNumber + 1
  }

  /// Whether numbers remain for every write that has none, and for one more.
  var hasNumbers: Bool { Int(ProposalNumber.max - lastNumber) > count + 1 }

  /// Resumes numbering after an earlier membership of this identity.
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
    // Several operations of one write may concern one element of a list.
    let isOfList = write.proposal.isOfList
    for operation in write.overlay where !isOfList || over[operation.field]?.last != write.id {
      over[operation.field, default: []].append(write.id)
    }
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
    if pending[at: index].sending.isDue { due.enter(id) }
    if !wasOverlaid, !pending[at: index].isHidden, let number = pending[at: index].number {
      overlaidByNumber.enter(OverlaidWrite(number: number, write: id))
    }
  }

  /// Assigns the next number: from now on the write is final (R3).
  mutating func number(_ id: WriteID, in epoch: Epoch) -> ProposalNumber {
    lastNumber += 1
    byNumber[lastNumber] = id
    lastNumbered = max(lastNumbered, id)
    let (number, isDecided) = (lastNumber, lastNumber <= lastDecided)
    update(id) {
      $0.number = number
      $0.sending.epoch = epoch
      if isDecided { $0.isHidden = true }
    }
    return number
  }

  /// Takes the number away, as if the write had never been sent: the hub forgot our numbers, or the write was
  /// converted.
  mutating func unnumber(_ id: WriteID) {
    guard let number = number(of: id) else { return }
    byNumber[number] = nil
    update(id) {
      $0.number = nil
      $0.sending.isDue = true
    }
  }

  /// Records that the write is committed at a version; it may still overlay the committed value.
  mutating func decide(_ id: WriteID, at version: Version) {
    if let number = number(of: id) { byNumber[number] = nil }
    carried.remove(id)
    update(id) { $0.committedAt = version }
  }

  /// Removes the write. Returns the operations that overlaid fields.
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
      if over[at: index].isEmpty, over.count > WriteQueue.keptLists { over[operation.field] = nil }
    }
    return write.overlay
  }

  /// The writes that a plain set supersedes: plain sets that were never sent, all of whose fields it sets, and that
  /// are the last over each of those (R3). Their rules must be equal: otherwise a plain set would end with the
  /// conflict of a compared one, or a compared set would be compared with a value that was never committed.
  func replaced(by proposal: Proposal, rules: [String: ConflictRule]) -> [WriteID] {
    guard proposal.isPlainSet else { return [] }
    if proposal.operations.count == 1 {
      let field = proposal.operations[0].field
      return lastReplaced(in: field, rules) { $0 == field }.map { [$0] } ?? []
    }
    let fields = Swift.Set(proposal.operations.map(\.field))
    return Swift.Set(fields.compactMap { lastReplaced(in: $0, rules, fields.contains) }).sorted()
  }

  /// The last write over the field, if a set of all `meant` fields by these rules supersedes it.
  private func lastReplaced(
    in field: String, _ rules: [String: ConflictRule], _ meant: (String) -> Bool
  ) -> WriteID? {
    guard let last = over[field]?.last, lastConditional.map({ $0 < last }) ?? true,
      let index = pending.index(of: last), pending[at: index].number == nil, pending[at: index].carried == nil,
      !pending[at: index].sending.isSecondTry, pending[at: index].proposal.isPlainSet,
      pending[at: index].rules == rules,
      pending[at: index].proposal.operations.allSatisfy({ meant($0.field) && over[$0.field]?.last == last })
    else { return nil }
    return last
  }

  /// The writes to send with the next drain: first the numbered ones in the order of their numbers, because the hub
  /// decides nothing after a missing number; then the oldest others, at most `room`.
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
    // A write that lost a comparison and tries again has a later number than younger writes.
    numbered.sort { $0.number < $1.number }
    return numbered.map(\.write) + others
  }

  private func isDue(_ id: WriteID) -> Bool {
    pending.index(of: id).map { pending[at: $0].sending.isDue && pending[at: $0].isUnacknowledged } ?? false
  }

  /// Marks all writes for resending: the hub may lack any of them.
  mutating func sendAllAgain() {
    for id in order { update(id) { $0.sending.isDue = true } }
  }

  /// Marks for resending what has this number or a later one.
  mutating func sendAgain(from number: ProposalNumber) {
    for id in order { update(id) { if let mine = $0.number, mine >= number { $0.sending.isDue = true } } }
  }

  /// Marks for resending what has no outcome after two heartbeats (R15).
  mutating func sendAgain(sentBefore heartbeat: UInt64) {
    for id in Array(byNumber.elements) {
      update(id) { if heartbeat >= $0.sending.heartbeat + 2 { $0.sending.isDue = true } }
    }
  }

  /// Shows decided writes again after a change of epoch, which may have lost them. The last decided number hides
  /// those that it kept. Returns operations over fields whose shown values may change.
  mutating func unhide() -> [FieldOperation] {
    lastDecided = 0
    var uncovered: [FieldOperation] = []
    for id in order {
      guard let index = pending.index(of: id), pending[at: index].isHidden, pending[at: index].isUnacknowledged,
        !pending[at: index].sending.hasLapsed
      else {
        continue
      }
      update(id) { $0.isHidden = false }
      uncovered += pending[at: index].overlay
    }
    return uncovered
  }

  /// Hides writes whose effect the committed values hold. Returns operations over fields whose shown values may
  /// change.
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

  /// Hides writes of an earlier run with this tag, up to a number. Returns operations over fields whose shown values
  /// may change.
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

  /// The writes whose commits the replica has reached, oldest first. The caller removes them.
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
