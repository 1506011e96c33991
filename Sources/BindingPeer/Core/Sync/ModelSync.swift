import BindingProtocol

/// One joined model of a peer: its committed values, its pending writes, and how far it follows the hub.
///
/// A field has up to four values. `replica` holds the committed one; the writes in `writes` overlay it, oldest first,
/// which gives the shown one; the replica remembers which one observers were last notified of. `takeUpdate` is the
/// difference of the last two (docs/design/values.md).
struct ModelSync: Sendable {
  /// The model's id; for an ephemeral model its name.
  let id: String
  let isEphemeral: Bool
  var join: JoinState
  var replica = Replica()
  var writes = WriteQueue()
  var catchup = CatchupBuffer()
  /// Ephemeral models: the fields that this peer claims.
  var claims = Claims()
  /// What the lists show, as of the last update.
  var lists = ModelLists()
  var update = UpdateBuilder()
  var divergence = DivergenceRepair()
  var expiring = ExpiringFields()
  var keeping = ReplicaKeeping()
  /// The steps that can be undone; nil: the program has not asked for undo, and nothing is recorded.
  var undo: UndoBook?
  /// Replicas of other logs that this peer followed, never sent; it resumes from them if their hub returns.
  private var otherLogs: [LogID: Replica] = [:]
  /// The confirmed number and applied version that the last `alive` reported.
  private var reported: (confirmed: ProposalNumber, applied: Version) = (0, 0)

  init(id: String, now: UInt64, after number: ProposalNumber) {
    self.id = id
    isEphemeral = Names.isEphemeral(id)
    join = JoinState(now: now)
    writes.resume(after: number)
  }

  // MARK: Reading

  /// The value that a field shows.
  func shown(_ field: String) -> FieldValue? {
    guard let index = replica.index(of: field) else { return writes.shown(field, over: nil, at: 0) }
    return shown(at: index)
  }

  /// The value that the replica's field at an index shows.
  func shown(at index: Int) -> FieldValue? {
    writes.shown(replica.fields[index].name, over: base(at: index), at: replica.fields[index].version)
  }

  /// Everything that shows, as one update with the cause `snapshot`; nil while there is nothing to show.
  var present: ModelUpdate? {
    let changes = replica.fields.indices.compactMap { index -> ShownChange? in
      shown(at: index).map { ShownChange(field: replica.fields[index].name, old: nil, new: $0) }
    }
    // Before a hub was seen there may be writes of this run or an earlier one.
    guard replica.version > 0 || !changes.isEmpty else { return nil }
    return ModelUpdate(
      model: id, cause: .snapshot, changes: changes, confirmed: [], epoch: replica.epoch,
      version: replica.version, commits: [], coalesced: replica.version, proposalHops: 0)
  }

  /// All that is known of a field; nil if the field is unknown and the model is not current.
  func record(of name: String) -> FieldRecord? {
    guard let index = replica.index(of: name) else {
      guard join.isCurrent else { return nil }
      return FieldRecord(
        shown: nil, committed: nil, epoch: replica.epoch, version: replica.version, origin: .none, time: 0,
        isPending: false)
    }
    let field = replica.fields[index]
    return FieldRecord(
      shown: shown(at: index), committed: field.value, epoch: replica.epoch,
      // A field without a value is known to have none as of the replica's version.
      version: field.value == nil ? replica.version : field.version, origin: field.origin, time: field.time,
      isPending: writes.isPending(name), isExpired: expiring.stale[name] != nil)
  }

  /// Whether the replica holds this version of this epoch, or a later one.
  func holds(_ version: Version, _ epoch: Epoch) -> Bool {
    !join.startsOver && epoch == replica.epoch && version <= replica.version
  }

  /// Whether its writes may be sent now.
  func maySend(_ now: UInt64) -> Bool { join.isCurrent && writes.sendsFrom <= now && writes.carried.isEmpty }

  // MARK: Updates

  /// Marks the fields of these operations, whose shown values may have changed.
  mutating func touch(_ overlay: [FieldOperation]) {
    for operation in overlay { touch(operation.field) }
  }

  mutating func touch(_ field: String) { replica.touch(replica.findOrInsert(field)) }

  /// The update to deliver now; nil if nothing has happened.
  mutating func takeUpdate() -> ModelUpdate? {
    guard update.cause != nil else { return nil }
    var changes: [ShownChange] = []
    var confirmed: [String] = []
    var covered: [String] = []
    var touched = ModelLists.Touched()
    for index in replica.sortedTouched() {
      if replica.fields[index].isElement { touched.elements.append(index) }
      let name = replica.fields[index].name
      let isOurs = !writes.isEmpty && writes.isPending(name)
      if var change = replica.show(shown(at: index), at: index) {
        change.isOurs = isOurs
        if change.concernsHead { touched.heads.append(name) }
        changes.append(change)
      } else {
        confirmed.append(name)
        if isOurs { covered.append(name) }
      }
    }
    replica.forgetTouched()
    var taken = update.take(
      model: id, epoch: replica.epoch, version: replica.version, (changes, confirmed, covered))
    if !touched.isEmpty { taken?.lists = updateLists(touched) }
    return taken
  }

  /// What the next `alive` says of this model; nil: nothing new. The hub keeps its decisions on this peer's writes
  /// until the peer confirms that it has their outcomes.
  mutating func takeAlive() -> AliveEntry? {
    guard let topic = join.topic, join.isCurrent else { return nil }
    let entry = AliveEntry(topic: topic, confirmed: lowestUnconfirmed - 1, applied: replica.version)
    guard entry.confirmed != reported.confirmed || entry.applied != reported.applied else { return nil }
    reported = (entry.confirmed, entry.applied)
    return entry
  }

  // MARK: Claims of an ephemeral model

  /// The claims to write again because the hub may lack them.
  var claimsToRepeat: [Proposal] { claims.proposals(writes) { _, _ in true } }

  /// The claims to write again because the replica lacks them (`Claims.lost`).
  mutating func lostClaims(of tag: Tag) -> [Proposal] { claims.lost(replica, writes, of: tag) }

  /// The deletions of fields that this peer held before it joined (`Claims.deletions`).
  mutating func orphanDeletions(of tag: Tag) -> [Proposal] {
    claims.findOrphans(replica, of: tag)
    return claims.deletions(replica, writes, of: tag)
  }

  // MARK: Connections

  /// The hub has welcomed this session: its field ids are new, and it may lack any of the writes.
  /// - Parameter knows: whether the hub, under this start number, still knows this peer.
  mutating func welcome(from start: StartNumber, knows isKnown: Bool, _ context: inout SessionContext) {
    replica.forgetIDs()
    writes.sendAllAgain()
    guard isEphemeral, !isKnown || replica.epoch != Epoch(start) else { return }
    claims.mayBeAnew = true
    if replica.epoch != Epoch(start) { claims.lookForOrphans() }
    endForgotten(&context)
  }

  /// Discards what belonged to the connection; replica and pending writes stay.
  mutating func disconnect(heardAt time: UInt64) {
    join.disconnect(at: time)
    divergence.count = 0
    catchup.removeAll()
    writes.sendsFrom = 0
  }

  /// The hub does not let this peer read the model, or no longer: drops what was read, and ends the writes. A write
  /// that may have reached the hub while this peer had the right ends as unknown.
  mutating func giveUp(because text: String, _ context: inout SessionContext) {
    for write in writes.order {
      guard let pending = writes[write] else { continue }
      if pending.isUnacknowledged {
        // The session that sends an earlier run's write is refused itself.
        guard pending.carried == nil else { continue }
        let wasSent = pending.number != nil || pending.sending.wasSent || pending.sending.isSecondTry
        let outcome: Outcome =
          wasSent
          ? .unknown("it was sent, and this peer may no longer read the model") : .refused(Refusal(.notPermitted, text))
        settle(write, as: outcome, &context)
      }
      release(write)
      update.record(.outcome)
    }
    undo?.removeAll()
    guard replica.version > 0 else { return }
    catchup.removeAll()
    replica.become(Replica())
    keeping.becomeCurrent()
    join.startsOver = false
    update.record(.detached)
  }

  /// The hub has another log: sets the replica aside and restores what is known of the other log.
  mutating func changeLog(from old: LogID, to new: LogID) {
    undo?.belong(to: new)
    if replica.version > 0 {
      // Few hubs take turns at one address: four replicas aside are enough.
      if otherLogs.count >= 4, let least = otherLogs.keys.min() { otherLogs[least] = nil }
      otherLogs[old] = replica
    }
    let known = otherLogs.removeValue(forKey: new)
    replica.become(known ?? Replica())
    keeping.changeLog(isKnown: known != nil)
    join.startsOver = false
    update.record(.detached)
  }

  /// The keep file has replicas of other logs.
  mutating func restore(_ others: [LogID: KeptReplica]) {
    for (log, kept) in others { otherLogs[log] = Replica(kept) }
  }
}

/// The repair of a replica that differed from the hub's model at the same version.
struct DivergenceRepair: Sendable {
  /// The replica is being replaced.
  var isUnderWay = false
  /// How many repairs have ended in this session.
  var count: UInt32 = 0

  /// - Returns: whether a repair was under way.
  mutating func end() -> Bool {
    guard isUnderWay else { return false }
    isUnderWay = false
    count += 1
    return true
  }
}
