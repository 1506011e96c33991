import BindingProtocol

extension ModelLog {
  /// Puts the offered fields into the pending batch: in their old order, only into fields not written in this
  /// epoch, under the offering peers' names and without a number. So they are no proposal's outcome and raise no
  /// last decided number. A batch takes what fits into one message; the rest follows with the next.
  /// - Returns: the number of recovered fields, and whether all were recovered.
  func adopt(_ replicas: MergedReplicas, epoch: Epoch, wall: UInt64, limits: Limits) -> (count: Int, isComplete: Bool) {
    adopt(replicas.numbers)
    openBatch(epoch: epoch, time: wall)
    // Recovered values are not checked against the description: it may be newer than they are.
    batch.lists.forget()
    defer {
      adoptDecidedRules()
      setRecoveredHeads()
    }
    var count = 0
    // Fields of one old commit are recovered together; a field that a later commit wrote too is in that one.
    let old = replicas.fields.values.sorted {
      ($0.point, $0.offerer.tag.rawValue, $0.name) < ($1.point, $1.offerer.tag.rawValue, $1.name)
    }
    var index = 0
    while index < old.count {
      let first = old[index]
      let end = old[index...].firstIndex { $0.point != first.point || $0.offerer != first.offerer } ?? old.count
      let together = old[index..<end].filter { mayRecover($0, epoch) }
      index = end
      guard !together.isEmpty else { continue }
      guard hasRoom(limits) else { return (count, false) }
      count += self.recover(together, by: first.offerer, limits)
    }
    guard hasRoom(limits) else { return (count, false) }
    let (deleted, isComplete) = deleteStale(replicas, epoch)
    return (count + deleted, isComplete)
  }

  /// The peer that was asked for its replica is gone, or joins again.
  func giveUpOffer(of session: SessionID) {
    if let point = recovery.underWay?.forget(session) { recovery.asked.withdraw(at: point) }
  }

  func recordBroughtBack(_ field: FieldID, from point: RecoveryPoint) {
    recovery.broughtBack.record(field, at: fields[field].version, from: point)
  }

  private func hasRoom(_ limits: Limits) -> Bool {
    !batch.pending.commits.isFull && batch.pending.commits.byteCount < limits.chunkBytes
  }

  /// Records the numbers that replicas saw decided and this log did not decide.
  private func adopt(_ numbers: [Tag: ProposalNumber]) {
    for (tag, number) in numbers.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let lastDecided = writers.index(of: tag).map { writer in writers.with(writer) { $0.lastDecided } } ?? 0
      guard number > lastDecided, number > writers.seenNumbers[tag] ?? 0 else { continue }
      batch.borrow()
      batch.pending.decisions.append(Decision(seen: number, of: tag))
    }
  }

  /// Commits the fields of one old commit again.
  private func recover(_ together: [MergedReplicas.Field], by offerer: Origin, _ limits: Limits) -> Int {
    guard fields.count < limits.maxModelFields || together.contains(where: { fields.id(of: $0.name) != nil }) else {
      return 0
    }
    var count = 0
    let version = nextVersion
    let writer = writers.index(for: offerer)
    batch.pending.commits.beginCommit(origin: batch.pending.commits.origin(offerer), number: 0, hops: 0)
    for field in together {
      guard let id = fields.id(of: field.name) ?? addRecovered(field.name, limits) else { continue }
      guard batch.pending.commits.change(id, field.value) else { break }
      record(id, version, value: field.value.map { batch.pending.commits.lastValue(of: $0.bytes.count) }, by: writer)
      batch.pending.recoveredFields.append((id, field.point))
      count += 1
    }
    batch.pending.commits.endCommit()
    return count
  }

  /// Deletes fields that the store has from an old epoch and the replica furthest ahead does not: they had been
  /// deleted by then.
  private func deleteStale(_ replicas: MergedReplicas, _ epoch: Epoch) -> (count: Int, isComplete: Bool) {
    let furthest = replicas.furthest
    let stale = (0..<FieldID(fields.count)).filter { id in
      let slot = fields[id]
      guard slot.hasValue, recovery.broughtBack.point(of: id, at: slot.version) == nil, !fields.isDecided(id),
        !furthest.names.contains(slot.name)
      else { return false }
      return slot.oldPoint(in: epoch).map { $0 < furthest.point } ?? false
    }
    guard !stale.isEmpty else { return (0, true) }
    let version = nextVersion
    let writer = writers.index(for: furthest.offerer)
    batch.pending.commits.beginCommit(origin: batch.pending.commits.origin(furthest.offerer), number: 0, hops: 0)
    var count = 0
    for id in stale where batch.pending.commits.delete(id) {
      record(id, version, value: nil, by: writer)
      batch.pending.recoveredFields.append((id, furthest.point))
      count += 1
    }
    batch.pending.commits.endCommit()
    return (count, count == stale.count)
  }

  /// Whether an offered field may be recovered: it was not written in this epoch, and the offer is later than the
  /// stored state. A proposal that its writer resent and this hub decided has another outcome by now.
  private func mayRecover(_ offered: MergedReplicas.Field, _ epoch: Epoch) -> Bool {
    if offered.number > 0, let writer = writers.index(of: offered.tag),
      writers.with(writer, { $0.hasDecided(offered.number) })
    {
      return false
    }
    // The hub counts the elements that it has.
    if let value = offered.value, ListElements.count(ofHead: value) != nil { return false }
    guard let id = fields.id(of: offered.name) else { return true }
    let slot = fields[id]
    if fields.isDecided(id) { return false }
    if slot.version == 0 || slot.isWeak { return true }
    guard let old = recovery.broughtBack.point(of: id, at: slot.version) ?? slot.oldPoint(in: epoch),
      old < offered.point
    else {
      return false
    }
    // A field unchanged through several epochs has its version of the first: it is the same write.
    return old.version != offered.point.version || slot.fieldValue != offered.value
  }

  private func addRecovered(_ name: String, _ limits: Limits) -> FieldID? {
    guard fields.count < limits.maxModelFields else { return nil }
    let id = fields.add(name)
    _ = batch.pending.commits.introduce(name)
    return id
  }
}
