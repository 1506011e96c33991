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
  /// nil: its messages go to each of its sessions on the request connection.
  @exclusivity(unchecked) var permit: PublishPermit?
  /// The additional state of an ephemeral model; nil: a stored model.
  let ephemeral: EphemeralState?
  /// The index of the ephemeral or stored counterpart; nil: none was made.
  @exclusivity(unchecked) var counterpart: Int?
  @exclusivity(unchecked) var fields = FieldSlots()
  @exclusivity(unchecked) var position: LogPosition
  @exclusivity(unchecked) var recent: RecentCommits
  @exclusivity(unchecked) var writers = WriterTable()
  @exclusivity(unchecked) var members: ModelMembers
  @exclusivity(unchecked) var batch: BatchState
  @exclusivity(unchecked) var rules = DescriptionRules()
  @exclusivity(unchecked) var approval = OwnerApproval()
  @exclusivity(unchecked) var recovery = ModelRecovery()
  /// The model's removal, while it is under way.
  @exclusivity(unchecked) var removal: Removal?

  /// - Parameters:
  ///   - beginning: the version and record after which the log begins.
  ///   - pool: unused batches, shared by the models of one hub.
  init(
    id: String, topic: Topic, ephemeral: EphemeralState? = nil, beginning: LogFloor = .none,
    pool: BatchPool = BatchPool()
  ) {
    self.id = id
    self.topic = topic
    self.ephemeral = ephemeral
    position = LogPosition(beginning)
    recent = RecentCommits(since: beginning.version)
    members = ModelMembers(topic)
    batch = BatchState(pool)
  }

  // MARK: State

  var version: Version { position.version }

  /// The model's epoch, where `epoch` is that of the log: an ephemeral model has its own.
  func epoch(ifStored epoch: Epoch) -> Epoch { ephemeral?.epoch ?? epoch }

  /// What the model's followers compare theirs with, where `epoch` is that of the log.
  func head(ifStored epoch: Epoch) -> Head {
    Head(epoch: self.epoch(ifStored: epoch), version: version, digest: fields.digest())
  }

  /// Whether no decision is possible now: a batch is being stored, or the owner is being asked.
  var isBusy: Bool { batch.isAppending || approval.pending != nil }

  /// Whether proposals that arrive now at the hub with this number are decided later, or at the model's home.
  func decidesLater(at start: StartNumber) -> Bool {
    isBusy || batch.shared.home.link != nil || approval.isElsewhere(from: start) || approval.isAwaited(at: start)
  }

  /// Whether every decision is stored and no recovery is under way.
  var isSettled: Bool { recovery.underWay == nil && !batch.hasDecisions && !batch.isAppending }

  /// The ids of the fields that changed after `version`, in order: from the recent commits where they reach back
  /// that far, else from all fields.
  func fieldsChanged(after version: Version) -> [FieldID] {
    recent.fieldsChanged(after: version)
      ?? (0..<FieldID(fields.count)).filter { fields[$0].version > version }
  }

  /// The sessions that get each of its messages on the request connection.
  var routed: Set<SessionID> { permit == nil ? members.sessions : members.routed }

  // MARK: Writers

  /// Forgets writers: immediately, or after the pending batch, which holds their indices.
  func forget(_ tags: Set<Tag>) {
    members.seating &+= 1
    writers.markForgotten(tags)
    forgetWriters()
  }

  func forgetWriters() {
    if !batch.hasDecisions, !batch.isAppending, writers.forgetMarked() { members.seating &+= 1 }
  }

  // MARK: Stored state

  /// Applies a stored batch: fields from the body, last decided numbers and outcomes from both parts.
  func apply(_ batch: Batch, recentLimit: Int, decidedAt: UInt64? = nil) {
    // The first batch tells where the log began.
    if position.record == 0 {
      (position.version, position.deltasFrom) = (batch.previous, batch.previous)
    }
    position.record = batch.record
    position.epoch = batch.epoch
    if case .renumbering(let kept) = batch.form { renumber(kept) }
    if !batch.body.isEmpty {
      batch.body.withUnsafeBytes { applyCommits($0, recentLimit, decidedAt) }
    }
    var forgotten: Set<Tag> = []
    for decision in batch.decisions {
      switch decision.form {
      case .decided: break
      case .seen:
        writers.see(decision.number, of: decision.origin.tag)
        continue
      case .confirmed:
        if let index = writers.index(of: decision.origin.tag) {
          writers.with(index) { $0.confirm(min(decision.number, $0.lastStored)) }
        }
        continue
      case .forgotten:
        if writers.lastStored(of: decision.origin.tag) <= decision.number { forgotten.insert(decision.origin.tag) }
        continue
      case .owner:
        let isGone = decision.number == 0
        approval.recorded = isGone ? nil : RecordedOwner(origin: decision.origin, hub: decision.number)
        continue
      }
      let index = writers.index(for: decision.origin)
      writers.with(index) { writer in
        if let outcome = decision.outcome { writer.remember(outcome, of: decision.number) }
        if let decidedAt { writer.decidedAt = decidedAt }
        writer.raise(to: decision.number)
      }
    }
    if !forgotten.isEmpty { forget(forgotten) }
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
      writerOfOrigin.append(writers.index(for: list.origin))
    }
    while (try? cursor.next()) == true {
      let source = sources[Int(cursor.origin)]
      var changes = cursor.changes
      // An id without a name means the same as a body that does not parse.
      while (try? changes.next()) == true, Int(changes.field) < fields.count {
        fields.store(
          changes.value, in: changes.field, from: source, version: cursor.version,
          number: cursor.number,
          time: cursor.time)
        recent.append(changes.field, at: cursor.version)
      }
      position.version = cursor.version
      let (number, version, time) = (cursor.number, cursor.version, cursor.time)
      writers.with(writerOfOrigin[Int(cursor.origin)]) { writer in
        writer.rememberCommit(number, version)
        writer.decidedAt = decidedAt ?? time
        writer.raise(to: number)
      }
    }
    position.time = cursor.time
    adoptStoredRules()
    trimRecent(recentLimit)
  }

  /// Drops the oldest of the recent commits. With few fields, checking all of them is as fast.
  func trimRecent(_ limit: Int) { recent.trim(to: min(limit, max(fields.count, 16))) }

  /// Later deltas up to the present version use the fields' own versions.
  func forgetRecent() { recent = RecentCommits(since: version) }

  // MARK: The description

  /// The description's field, if it was ever written.
  var storedDescription: FieldSlot? {
    Int(fields.descriptionID) < fields.count ? fields[fields.descriptionID] : nil
  }

  /// Adopts the rules of the decided description, where it did not come through a proposal.
  func adoptDecidedRules() {
    let id = fields.descriptionID
    guard Int(id) < fields.count, rules.current.version != fields.decidedVersion(id) else { return }
    let value = fields.isDecided(id) ? decidedValue(id) : fields[id].fieldValue
    // A malformed description, which an older hub may have accepted, binds no field.
    let described = value.flatMap { value in
      value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0, isNew: false) }
    }
    rules.describe(described ?? ModelRules(), at: fields.decidedVersion(id))
  }

  /// Adopts the stored rules after a batch is applied. The description of this hub's own batch has been parsed
  /// already.
  func adoptStoredRules() {
    adoptDecidedRules()
    rules.store()
  }

  // MARK: Renumbering

  /// The least number of names that can be given back. A described field stays known as deleted, so that its
  /// default is not written again.
  private var spareNames: Int {
    max(0, fields.count - fields.valueCount - rules.stored.rules.count - 1)
  }

  /// Whether it has enough names of deleted fields to give them back.
  func isWorn(_ configuration: HubMachineConfiguration) -> Bool {
    let limit = configuration.limits.maxModelFields
    if let most = configuration.maxDeletedNames { return spareNames >= max(most, 1) }
    return fields.count >= limit * 3 / 4 && spareNames >= max(limit / 8, 1)
  }

  /// The ids of the fields that remain.
  var idsToKeep: [FieldID] {
    (0..<FieldID(fields.count)).filter { id in
      let slot = fields[id]
      return slot.hasValue || id == fields.descriptionID || rules.stored.rules.describes(slot.name)
    }
  }

  /// Drops all fields but these, and renumbers them from 0. The pending batch must be empty.
  func renumber(_ kept: [FieldID]) {
    guard kept.last.map({ Int($0) < fields.count }) ?? true else { return }
    fields.keep(kept)
    batch.lists.forget()
    rules.dropFields(from: 0)
    recovery.broughtBack.keep(kept)
    // Deletions up to here are no longer known.
    position.deltasFrom = version
    forgetRecent()
  }
}

/// Where a model's log stands.
struct LogPosition {
  var version: Version
  /// The number of the log's last record, its epoch, and the wall time of the last record that changed a field.
  var record: UInt64
  var epoch: Epoch = 0
  var time: UInt64 = 0
  /// Where the log begins: the floor, if the model was made in this start of the hub.
  let beginning: LogFloor
  /// Deletions up to here may be forgotten, so no delta begins before this version.
  var deltasFrom: Version
  /// Its end in a store that several hubs share; nil: it is not loaded yet, or the hub has the store alone.
  var tail: SharedModelTail?

  init(_ beginning: LogFloor) {
    self.beginning = beginning
    (version, record, deltasFrom) = (beginning.version, beginning.record, beginning.version)
  }

  /// Whether it has any commit.
  var hasCommits: Bool { version > beginning.version }

  /// Whether it has any record.
  var hasRecords: Bool { record > beginning.record }
}

/// The sessions that have joined a model.
struct ModelMembers {
  var sessions: Set<SessionID> = [] {
    didSet {
      seating &+= 1
      wasJoined = wasJoined || !sessions.isEmpty
    }
  }
  /// Whether a session has joined it at this hub since it is here.
  private(set) var wasJoined = false
  /// Those that are served on the request connection.
  var routed: Set<SessionID> = []
  /// Those that do not know lists.
  var unable: Set<SessionID> = []
  /// Sessions whose join waits for a subscription, a recovery or the store.
  var waitingJoins: [SessionID] = []
  /// Counts changes that may move a session's seat or end it.
  var seating: UInt64
  /// The identity whose join made the model in this start of the hub.
  var maker: Tag?
  /// What that identity's name uses; nil: no limits.
  var makerUsage: NameUsage?
  /// Whether the first commit was announced to sessions that joined a prefix.
  var hasFirstCommit = false

  init(_ topic: Topic) {
    // A seat in one model never matches one in another model that reuses the index.
    seating = UInt64(topic) << 32
  }
}
