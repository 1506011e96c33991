import BindingProtocol

/// One model at the hub: the stored fields, the writers' marks, and the batch that is being decided or stored.
///
/// A class, because sessions, joins and the sequencer all look at one model at a time and the machine holds many; only
/// the machine has references. Its properties are marked `@exclusivity(unchecked)`: the machine is one value, used by
/// one thread, and the checks at run time cost a fifth of the hub's throughput.
final class ModelLog {
  /// The model's id; of an ephemeral line its name.
  let id: String
  @exclusivity(unchecked) var topic: Topic
  /// What an ephemeral line has besides; nil: this is the stored line.
  let ephemeral: EphemeralState?
  /// The place of the model's other line; nil: nobody has joined it.
  @exclusivity(unchecked) var counterpart: Int?
  /// Who is asked before a write of anybody else's is carried out.
  @exclusivity(unchecked) var owner: Tag?
  /// The proposal that its owner is asked about.
  @exclusivity(unchecked) var pendingApproval: PendingApproval?
  @exclusivity(unchecked) var fields = FieldSlots()
  @exclusivity(unchecked) var version: Version = 0
  /// Batches that this log holds, the life of the last one, and the wall time of the last that changed a field.
  @exclusivity(unchecked) var records: UInt64 = 0
  @exclusivity(unchecked) var lastEpoch: Epoch = 0
  @exclusivity(unchecked) var lastTime: UInt64 = 0
  /// Where it began: the floor of the log, if it was made in this start of the hub.
  let beginning: LogFloor
  /// What was deleted up to here may be forgotten: it is told to nobody as a delta.
  @exclusivity(unchecked) var deltasFrom: Version
  @exclusivity(unchecked) private(set) var writers: [WriterRecord] = []
  @exclusivity(unchecked) private var writerIndex: [Tag: Int] = [:]
  @exclusivity(unchecked) private var forgetting: Set<Tag> = []

  /// Sessions that joined, and those among them that are served on the request connection.
  @exclusivity(unchecked) var sessions: Set<SessionID> = [] { didSet { seating &+= 1 } }
  @exclusivity(unchecked) var routed: Set<SessionID> = []
  /// Counts what may give a session another place here, or none.
  @exclusivity(unchecked) private(set) var seating: UInt64
  /// Sessions whose join waits for a subscription, a recovery or the store.
  @exclusivity(unchecked) var waitingJoins: [SessionID] = []
  /// Heartbeats in which the head is still to be told (R7).
  @exclusivity(unchecked) var headsLeft = 0
  @exclusivity(unchecked) var wasAnnounced = false
  /// The mark of a writer that has not confirmed all of it was forgotten here, for want of room, and not in the store.
  @exclusivity(unchecked) var hasForgottenWriter = false

  private let pool: BatchPool
  /// To be read at any time; written to only after `borrowBatch`.
  @exclusivity(unchecked) private(set) var pendingBatch: PendingBatch
  @exclusivity(unchecked) var isAppending = false
  /// Proposals that came while a batch is being stored, or the owner is being asked about another one.
  @exclusivity(unchecked) var waiting: [Waiting] = []
  @exclusivity(unchecked) var recovery: Recovery?
  /// Whose replicas were asked for in this life of the log.
  @exclusivity(unchecked) var asked = AskedReplicas()
  /// The furthest point of an old life that the store had when this life began. Only what is later can still help.
  @exclusivity(unchecked) var storedFrom: RecoveryPoint?
  /// Where in an old life the fields stood that were brought back since.
  @exclusivity(unchecked) var broughtBack = BroughtBack()
  /// By writer: the highest number that a replica showed to have been committed in an older life. It raises no mark:
  /// what is sent again up to there ends as unknown.
  @exclusivity(unchecked) private(set) var seenNumbers: [Tag: ProposalNumber] = [:]

  /// What the description asks of the fields, with what the pending batch has decided of it, and as it is stored.
  @exclusivity(unchecked) var rules = RulesInForce()
  @exclusivity(unchecked) var storedRules = RulesInForce()
  /// Those before the last commit that changed the description.
  @exclusivity(unchecked) var rulesBefore = RulesInForce()
  @exclusivity(unchecked) var lastRulesTurn: UInt32 = 0
  /// By field, as far as rules were looked for.
  @exclusivity(unchecked) var ruleIndices: [CachedRuleIndex] = []

  /// The fields that the last commits touched.
  @exclusivity(unchecked) private var recent: [(version: Version, field: FieldID)] = []
  @exclusivity(unchecked) private var recentSince: Version

  /// How it goes on its way out, if it does.
  @exclusivity(unchecked) var removal: Removal?
  /// Whose join made it in this start of the hub.
  @exclusivity(unchecked) var maker: Tag?

  /// - Parameters:
  ///   - beginning: the version and record after which it begins.
  ///   - pool: where the batches lie that nobody needs now; models of one hub share it.
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
    // No seat in one model is ever taken for one in another, which has its place later.
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

  /// A replica shows that proposals of a writer up to this number were decided in an older life.
  func see(_ number: ProposalNumber, of tag: Tag) {
    guard seenNumbers.count < ModelLog.mostSeenNumbers || seenNumbers[tag] != nil else { return }
    seenNumbers[tag] = max(seenNumbers[tag] ?? 0, number)
  }

  /// Writers of whom a model notes numbers that were seen; past it, those that are named first.
  static let mostSeenNumbers = 16_384

  /// Forgets writers: at once, or when the pending batch has ended, which holds places among them.
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

  /// Has a pending batch of its own, to be written to.
  func borrowBatch() { if pendingBatch === pool.none { pendingBatch = pool.borrow() } }

  /// Takes a pending batch, and opens it for commits.
  func openBatch(epoch: Epoch, time: UInt64) {
    guard !pendingBatch.isOpen else { return }
    borrowBatch()
    pendingBatch.commits.begin(epoch: epoch, previous: version, time: time, namesKnown: FieldID(fields.count))
    pendingBatch.fieldsBefore = fields.count
    pendingBatch.isOpen = true
  }

  /// Notes what the commit that is being decided makes of a field; `value` lies in the body, nil: a deletion.
  func record(_ id: FieldID, _ version: Version, value: Range<Int>?, by writer: Int) {
    pendingBatch.touched.append((id, fields.decided(id)))
    fields.decide(id, .init(version: version, hasValue: value != nil, value: value ?? 0..<0, writer: writer))
  }

  /// The value that the pending batch gives a field.
  func decidedValue(_ id: FieldID) -> FieldValue? {
    let decided = fields.decided(id)
    return decided.hasValue ? FieldValue(bytes: pendingBatch.commits.value(at: decided.value)) : nil
  }

  /// The field as it stands, what is decided of it included, for who lost a comparison on it.
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

  /// The pending batch; what follows from it stays until `appended`.
  func finishBatch(epoch: Epoch) -> Batch {
    isAppending = true
    let isEmpty = !pendingBatch.isOpen || pendingBatch.commits.isEmpty
    return Batch(
      model: id, record: records + 1, epoch: epoch, previous: version,
      version: isEmpty ? version : pendingBatch.commits.version,
      body: isEmpty ? [] : pendingBatch.commits.finish(), decisions: pendingBatch.decisions)
  }

  /// Undoes everything that was decided on top of the stored state (R1).
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

  /// Takes a stored batch in: fields from the body, marks and outcomes from both parts.
  func apply(_ batch: Batch, recentLimit: Int, decidedAt: UInt64? = nil) {
    // The first one tells where the log began.
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
    // The body was made by a `CommitsWriter`, here or in another hub: what does not parse is a store that gives back
    // other bytes than it was given.
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
    // With few fields it is as quick to look at all of them.
    let limit = min(recentLimit, max(fields.count, 16))
    if recent.count > 2 * limit {
      let dropped = recent.count - limit
      recentSince = recent[dropped - 1].version
      recent.removeFirst(dropped)
    }
  }

  /// Deltas are computed from the fields' own versions, up to the present one.
  func forgetRecent() {
    recent.removeAll()
    recentSince = version
  }

  private func raise(_ writer: Int, to number: ProposalNumber) {
    writers[writer].lastStored = max(writers[writer].lastStored, number)
    writers[writer].lastDecided = max(writers[writer].lastDecided, writers[writer].lastStored)
  }

  /// The fields that changed after `version`, by id: from the recent commits where they reach back that far, else by
  /// looking at all.
  func fieldsChanged(after version: Version) -> [FieldID] {
    if version >= recentSince {
      return Set(recent.lazy.reversed().prefix { $0.version > version }.map(\.field)).sorted()
    }
    return (0..<FieldID(fields.count)).filter { fields[$0].version > version }
  }
}
