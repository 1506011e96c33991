import BindingProtocol

/// One model at the hub: its stored fields, its writers' last decided numbers, and the batch being decided or
/// stored.
///
/// A class, because sessions, joins and the sequencer all work on one model at a time and the machine holds many;
/// only the machine has references. Its properties are `@exclusivity(unchecked)`: the machine is one value, used by
/// one thread, and the run-time checks cost a fifth of the hub's throughput.
final class ModelLog {
  /// The model's id; an ephemeral model's name.
  let id: String
  @exclusivity(unchecked) var topic: Topic
  /// The additional state of an ephemeral model; nil: a stored model.
  let ephemeral: EphemeralState?
  /// The index of the ephemeral or stored counterpart; nil: none was made.
  @exclusivity(unchecked) var counterpart: Int?
  /// The owner, which must approve every other peer's write.
  @exclusivity(unchecked) var owner: Tag?
  /// The proposal for which the owner's approval is awaited.
  @exclusivity(unchecked) var pendingApproval: PendingApproval?
  @exclusivity(unchecked) var fields = FieldSlots()
  @exclusivity(unchecked) var version: Version = 0
  /// The number of the log's last record, its epoch, and the wall time of the last record that changed a field.
  @exclusivity(unchecked) var records: UInt64 = 0
  @exclusivity(unchecked) var lastEpoch: Epoch = 0
  @exclusivity(unchecked) var lastTime: UInt64 = 0
  /// Where the log begins: the floor, if the model was made in this start of the hub.
  let beginning: LogFloor
  /// Deletions up to here may be forgotten, so no delta begins before this version.
  @exclusivity(unchecked) var deltasFrom: Version
  @exclusivity(unchecked) private(set) var writers: [WriterRecord] = []
  @exclusivity(unchecked) private var writerIndex: [Tag: Int] = [:]
  @exclusivity(unchecked) private var forgetting: Set<Tag> = []

  /// Joined sessions, and those among them that are served on the request connection.
  @exclusivity(unchecked) var sessions: Set<SessionID> = [] { didSet { seating &+= 1 } }
  @exclusivity(unchecked) var routed: Set<SessionID> = []
  /// Counts changes that may move a session's seat or end it.
  @exclusivity(unchecked) private(set) var seating: UInt64
  /// Sessions whose join waits for a subscription, a recovery or the store.
  @exclusivity(unchecked) var waitingJoins: [SessionID] = []
  @exclusivity(unchecked) var wasAnnounced = false
  /// A writer with unconfirmed outcomes was forgotten here for want of room, but not in the store.
  @exclusivity(unchecked) var hasForgottenWriter = false

  private let pool: BatchPool
  /// Readable at any time; writable only after `borrowBatch`.
  @exclusivity(unchecked) private(set) var pendingBatch: PendingBatch
  @exclusivity(unchecked) var isAppending = false
  /// Proposals that arrived while a batch is being stored or the owner is being asked.
  @exclusivity(unchecked) var waiting: [Waiting] = []
  @exclusivity(unchecked) var recovery: Recovery?
  /// Replicas that this hub has asked for in the current epoch.
  @exclusivity(unchecked) var asked = AskedReplicas()
  /// The furthest point of an old epoch that the store had when the current one began. Only later replicas can
  /// help.
  @exclusivity(unchecked) var storedFrom: RecoveryPoint?
  /// The positions in an old epoch from which fields were recovered.
  @exclusivity(unchecked) var broughtBack = BroughtBack()
  /// By writer: the highest number that a replica showed as committed in an older epoch. It does not raise the last
  /// decided number: a resent proposal up to it ends as unknown.
  @exclusivity(unchecked) private(set) var seenNumbers: [Tag: ProposalNumber] = [:]

  /// The description's rules with the pending batch's decisions, and as stored.
  @exclusivity(unchecked) var rules = RulesInForce()
  @exclusivity(unchecked) var storedRules = RulesInForce()
  /// The rules before the last commit that changed the description.
  @exclusivity(unchecked) var rulesBefore = RulesInForce()
  @exclusivity(unchecked) var lastRulesTurn: UInt32 = 0
  /// By field, for those whose rule was looked up.
  @exclusivity(unchecked) var ruleIndices: [CachedRuleIndex] = []

  /// The fields that the most recent commits touched.
  @exclusivity(unchecked) private var recent: [(version: Version, field: FieldID)] = []
  @exclusivity(unchecked) private var recentSince: Version

  /// The model's removal, while it is under way.
  @exclusivity(unchecked) var removal: Removal?
  /// The identity whose join made the model in this start of the hub.
  @exclusivity(unchecked) var maker: Tag?

  /// - Parameters:
  ///   - beginning: the version and record after which the log begins.
  ///   - pool: unused batches, shared by the models of one hub.
  init(
    id: String, topic: Topic, ephemeral: EphemeralState? = nil, beginning: LogFloor = .none,
    pool: BatchPool = BatchPool()
  ) {
    self.pool = pool
    pendingBatch = pool.none
    self.id = id
    self.topic = topic
    self.ephemeral = ephemeral
    self.beginning = beginning
    (version, records, deltasFrom) = (beginning.version, beginning.record, beginning.version)
    recentSince = beginning.version
    // A seat in one model never matches one in another model that reuses the index.
    seating = UInt64(topic) << 32
  }

  /// The version that the next commit gets.
  var nextVersion: Version { (pendingBatch.isOpen ? pendingBatch.commits.version : version) + 1 }

  func writer(for origin: Origin) -> Int {
    if !forgetting.isEmpty { forgetting.remove(origin.tag) }
    if let index = writerIndex[origin.tag] { return index }
    writerIndex[origin.tag] = writers.count
    writers.append(WriterRecord(origin: origin))
    return writers.count - 1
  }

  func knownWriter(_ tag: Tag) -> Int? { writerIndex[tag] }

  func withWriter<Result>(_ index: Int, _ body: (inout WriterRecord) -> Result) -> Result { body(&writers[index]) }

  func lastStored(of tag: Tag) -> ProposalNumber { knownWriter(tag).map { writers[$0].lastStored } ?? 0 }

  /// Records that proposals of a writer up to this number were decided in an older epoch.
  func see(_ number: ProposalNumber, of tag: Tag) {
    guard seenNumbers.count < ModelLog.mostSeenNumbers || seenNumbers[tag] != nil else { return }
    seenNumbers[tag] = max(seenNumbers[tag] ?? 0, number)
  }

  /// The most writers whose seen numbers a model records; the first ones named stay.
  static let mostSeenNumbers = 16_384

  /// Forgets writers: immediately, or after the pending batch, which holds their indices.
  func forget(_ tags: Set<Tag>) {
    seating &+= 1
    if !seenNumbers.isEmpty { for tag in tags { seenNumbers[tag] = nil } }
    forgetting.formUnion(tags)
    forgetWriters()
  }

  func forgetWriters() {
    guard !forgetting.isEmpty, !hasPendingBatch, !isAppending else { return }
    let tags = forgetting
    forgetting.removeAll()
    guard writers.contains(where: { tags.contains($0.origin.tag) }) else { return }
    seating &+= 1
    writers.removeAll { tags.contains($0.origin.tag) }
    writerIndex.removeAll(keepingCapacity: true)
    for (index, writer) in writers.enumerated() { writerIndex[writer.origin.tag] = index }
  }

  /// Borrows a pending batch, so that it can be written to.
  func borrowBatch() { if pendingBatch === pool.none { pendingBatch = pool.borrow() } }

  /// Borrows a pending batch, and opens it for commits.
  func openBatch(epoch: Epoch, time: UInt64) {
    guard !pendingBatch.isOpen else { return }
    borrowBatch()
    pendingBatch.commits.begin(epoch: epoch, previous: version, time: time, namesKnown: FieldID(fields.count))
    pendingBatch.fieldsBefore = fields.count
    pendingBatch.isOpen = true
  }

  /// Records what the present commit makes of a field; `value` is its range in the body, nil a deletion.
  func record(_ id: FieldID, _ version: Version, value: Range<Int>?, by writer: Int) {
    pendingBatch.touched.append((id, fields.decided(id)))
    fields.decide(id, .init(version: version, hasValue: value != nil, value: value ?? 0..<0, writer: writer))
  }

  /// The value that the pending batch gives a field.
  func decidedValue(_ id: FieldID) -> FieldValue? {
    let decided = fields.decided(id)
    return decided.hasValue ? FieldValue(bytes: pendingBatch.commits.value(at: decided.value)) : nil
  }

  /// A field's decided state, for the writer that lost a comparison on it.
  func conflict(on field: FieldID, now: UInt64) -> Conflict {
    let slot = fields[field]
    if fields.isDecided(field) {
      let decided = fields.decided(field)
      return Conflict(
        field: slot.name, version: decided.version, origin: writers[decided.writer].origin,
        ageMilliseconds: 0, value: decidedValue(field))
    }
    return Conflict(
      field: slot.name, version: slot.version, origin: slot.origin,
      ageMilliseconds: now > slot.time && slot.time > 0 ? now - slot.time : 0, value: slot.fieldValue)
  }

  /// Closes the pending batch for the store; its answers stay until `appended`.
  func finishBatch(epoch: Epoch) -> Batch {
    isAppending = true
    let isEmpty = !pendingBatch.isOpen || pendingBatch.commits.isEmpty
    return Batch(
      model: id, record: records + 1, epoch: epoch, previous: version,
      version: isEmpty ? version : pendingBatch.commits.version,
      body: isEmpty ? [] : pendingBatch.commits.finish(), decisions: pendingBatch.decisions)
  }

  /// Undoes every decision that is not stored (R1).
  func dropBatch() {
    let namesStored = storedNames
    for (field, _) in pendingBatch.touched where Int(field) < namesStored { fields.forgetDecision(field) }
    dropNames(from: namesStored)
    for writer in pendingBatch.touchedWriters { writers[writer].lastDecided = writers[writer].lastStored }
    rules = storedRules
    clearBatch()
  }

  func clearBatch() {
    fields.endDecisions()
    guard pendingBatch !== pool.none else { return }
    pool.giveBack(pendingBatch)
    pendingBatch = pool.none
  }

  // MARK: Stored state

  /// Applies a stored batch: fields from the body, last decided numbers and outcomes from both parts.
  func apply(_ batch: Batch, recentLimit: Int, decidedAt: UInt64? = nil) {
    // The first batch tells where the log began.
    if records == 0 { (version, deltasFrom) = (batch.previous, batch.previous) }
    records = batch.record
    lastEpoch = batch.epoch
    if case .renumbering(let kept) = batch.form { renumber(kept) }
    if !batch.body.isEmpty { batch.body.withUnsafeBytes { applyCommits($0, recentLimit, decidedAt) } }
    for decision in batch.decisions {
      if decision.isSeen {
        see(decision.number, of: decision.origin.tag)
        continue
      }
      let index = writer(for: decision.origin)
      if let outcome = decision.outcome { writers[index].remember(outcome, of: decision.number) }
      if let decidedAt { writers[index].decidedAt = decidedAt }
      raise(index, to: decision.number)
    }
  }

  private func applyCommits(_ body: UnsafeRawBufferPointer, _ recentLimit: Int, _ decidedAt: UInt64?) {
    // A `CommitsWriter` made the body, here or in another hub. A body that does not parse means that the store
    // returned other bytes than it was given.
    guard var cursor = try? CommitCursor(WireReader(body, message: "commits")) else { return }
    var names = cursor.names
    while (try? names.next()) == true { _ = fields.introduce(names.name) }
    var sources: [FieldSource] = []
    var writerOfOrigin: [Int] = []
    var list = cursor.origins
    while (try? list.next()) == true {
      sources.append(fields.source(of: list.origin, in: cursor.epoch))
      writerOfOrigin.append(writer(for: list.origin))
    }
    while (try? cursor.next()) == true {
      let source = sources[Int(cursor.origin)]
      var changes = cursor.changes
      while (try? changes.next()) == true {
        fields.store(
          changes.value, in: changes.field, from: source, version: cursor.version, number: cursor.number,
          time: cursor.time)
        recent.append((cursor.version, changes.field))
      }
      version = cursor.version
      let writer = writerOfOrigin[Int(cursor.origin)]
      writers[writer].rememberCommit(cursor.number, cursor.version)
      writers[writer].decidedAt = decidedAt ?? cursor.time
      raise(writer, to: cursor.number)
    }
    lastTime = cursor.time
    adoptStoredRules()
    // With few fields, checking all of them is as fast.
    let limit = min(recentLimit, max(fields.count, 16))
    if recent.count > 2 * limit {
      let dropped = recent.count - limit
      recentSince = recent[dropped - 1].version
      recent.removeFirst(dropped)
    }
  }

  /// Later deltas up to the present version use the fields' own versions.
  func forgetRecent() {
    recent.removeAll()
    recentSince = version
  }

  private func raise(_ writer: Int, to number: ProposalNumber) {
    writers[writer].lastStored = max(writers[writer].lastStored, number)
    writers[writer].lastDecided = max(writers[writer].lastDecided, writers[writer].lastStored)
  }

  /// The ids of the fields that changed after `version`, in order: from the recent commits where they reach back
  /// that far, else from all fields.
  func fieldsChanged(after version: Version) -> [FieldID] {
    if version >= recentSince {
      return Set(recent.lazy.reversed().prefix { $0.version > version }.map(\.field)).sorted()
    }
    return (0..<FieldID(fields.count)).filter { fields[$0].version > version }
  }
}
