package import BindingProtocol

/// The protocol state machine of a peer, without sockets, threads, clock or randomness of its own. Frames, writes and
/// ticks go in by method calls; the effects to perform come out in a `PeerOutput`.
///
/// The caller feeds frames and writes, then calls `finishDrain`, which emits updates for observers and sends. Times
/// are milliseconds of any clock that never goes back.
package struct Session: Sendable {
  /// The secret, tag and name under which this session writes.
  package let identity: Identity
  let options: SessionOptions
  var generator: SeededGenerator
  var backoff = Backoff()

  /// The state of the connection to the hub.
  package internal(set) var phase = Phase.offline
  /// What was received, sent and dropped since the session was made.
  package internal(set) var counters = SessionCounters()
  /// The hub's log; nil before a hub was seen.
  package internal(set) var logID: LogID?
  /// The current epoch of that log; nil before a hub was seen.
  package internal(set) var epoch: Epoch?
  /// What the hub announced of itself; nil while no hub has welcomed this session.
  package internal(set) var welcome: Welcome?
  /// The limits of the last welcome; before the first one those of the options.
  package internal(set) var limits: Limits

  var sessionID: SessionID = 0
  var start: StartNumber = 0
  var wasWelcomed = false
  var models = IndexedMap<String, PeerModel>()
  var topics: [Topic: String] = [:]
  /// The last proposal number used in each model that was left: within an identity numbers never go back.
  var leftNumbers: [String: ProposalNumber] = [:]
  var prefixes: [String: UInt32] = [:]
  var lastRequest: UInt32 = 0
  var lastWrite: UInt64 = 0
  var outboxWrites = 0
  var outboxBytes = 0
  var settled: [(id: WriteID, model: String, outcome: Outcome)] = []
  /// How many of these outcomes the outbox has recorded, or must not record.
  var settledRecorded = 0
  var retries: [(id: WriteID, model: String, code: RetryReason)] = []

  /// Whether every step of a write is recorded in an outbox (`PeerAction.keep`).
  let keepsOutbox: Bool
  /// True while journal entries cannot be written: outcomes that the journal lacks are then not confirmed to the hub.
  package var isJournalLagging = false
  var keptHub: (log: LogID, epoch: Epoch)?
  /// Writes of earlier runs, which other sessions send, by model.
  var carried: [String: [CarriedWrite]] = [:]
  var previousTags: Swift.Set<Tag> = []
  /// Whether this session speaks for an earlier run.
  var isResumed = false
  /// When the first number in flight was assigned, or earlier: by this clock, and by the hub's clock as last
  /// reported.
  var firstNumbered: (now: UInt64, hub: UInt64)?
  /// The hub's clock, as last reported.
  var hubNow: UInt64 = 0
  /// Whether the resumed run's tag is not derived from its secret, as in older releases: no hub accepts such a tag.
  var isDisowned = false

  var barriers = BarrierClient()
  var reports = AppliedReporter()

  /// Why the hub that answers does not welcome this peer, in its words; nil if it does, or if no hub answers.
  var refusal: String?
  /// When a hub was last heard before the link was lost; before the first link, when this session was made.
  var silentSince: UInt64 = 0
  var outage: Outage
  var openedAt: UInt64 = 0
  var lastReceivedAt: UInt64 = 0
  var lastHeartbeatAt: UInt64 = 0
  var lastHeartbeat: UInt64 = 0
  var heartbeatsSeen: UInt64 = 0
  var lastSentAt: UInt64 = 0
  var owesAlive = false
  var owesAskHeads = false
  var hasStarted = false

  /// - Parameters:
  ///   - identity: new at every start of a program (R10).
  ///   - seed: determines session numbers and pauses.
  ///   - keepsOutbox: whether every step of a write is recorded in an outbox.
  package init(
    identity: Identity, seed: UInt64, options: SessionOptions = SessionOptions(), now: UInt64, keepsOutbox: Bool = false
  ) {
    self.identity = identity
    self.keepsOutbox = keepsOutbox
    self.options = options
    generator = SeededGenerator(seed: seed)
    limits = options.limits
    openedAt = now
    silentSince = now
    outage = Outage(since: now)
  }

  // MARK: Reading

  /// The value that a field shows; nil if it has none.
  package func shown(_ model: String, _ field: String) -> FieldValue? {
    guard let index = models.index(of: model), let fieldIndex = models[at: index].replica.index(of: field) else {
      return nil
    }
    return models[at: index].shown(at: fieldIndex)
  }

  /// The shown values of all fields of a model that have one.
  package func shownValues(_ model: String) -> [String: FieldValue] {
    guard let model = models[model] else { return [:] }
    var values: [String: FieldValue] = [:]
    for index in model.replica.fields.indices { values[model.replica.fields[index].name] = model.shown(at: index) }
    return values
  }

  /// Everything a model shows, as one update with the cause `snapshot`; nil while there is nothing to show.
  package func present(_ id: String) -> ModelUpdate? {
    guard let model = models[id] else { return nil }
    let changes = model.replica.fields.indices.compactMap { index -> ShownChange? in
      model.shown(at: index).map { ShownChange(field: model.replica.fields[index].name, old: nil, new: $0) }
    }
    // Before a hub was seen there may be writes of this run or an earlier one.
    guard model.replica.version > 0 || !changes.isEmpty else { return nil }
    return ModelUpdate(
      model: id, cause: .snapshot, changes: changes, confirmed: [], epoch: model.replica.epoch,
      version: model.replica.version, commits: [], coalesced: model.replica.version, proposalHops: 0)
  }

  /// All that is known of a field; nil if the field is unknown and the model is not current.
  package func fieldRecord(_ model: String, _ name: String) -> FieldRecord? {
    guard let model = models[model] else { return nil }
    guard let index = model.replica.index(of: name) else {
      guard model.isCurrent else { return nil }
      return FieldRecord(
        shown: nil, committed: nil, epoch: model.replica.epoch, version: model.replica.version,
        origin: Origin(tag: .none, name: ""),
        time: 0,
        isPending: false)
    }
    let field = model.replica.fields[index]
    return FieldRecord(
      shown: model.shown(at: index), committed: field.value, epoch: model.replica.epoch,
      // A field without a value is known to have none as of the replica's version.
      version: field.value == nil ? model.replica.version : field.version, origin: field.origin, time: field.time,
      isPending: model.outbox.isPending(name))
  }

  /// The epoch and version of the committed values; (0, 0) before anything was received.
  package func version(of model: String) -> (epoch: Epoch, version: Version) {
    models.index(of: model).map { (models[at: $0].replica.epoch, models[at: $0].replica.version) } ?? (0, 0)
  }

  /// Whether the model's committed values are complete: the session is live and no catch-up is under way.
  package func isCurrent(_ model: String) -> Bool {
    phase == .live && models.index(of: model).map { models[at: $0].isCurrent } == true
  }

  /// Whether a write of this field was sent and has no outcome.
  package func isInFlight(_ model: String, _ field: String) -> Bool { models[model]?.outbox.isInFlight(field) ?? false }

  /// The number of writes without an outcome, over all models.
  package var unconfirmed: Int { models.indices.reduce(0) { $0 + models[at: $1].outbox.unacknowledged } }

  /// The digest of the committed values, as the hub computes it; nil if the model is not joined.
  package mutating func digest(of model: String) -> UInt64? { models[model]?.replica.digest() }

  /// The ids of the models that are joined or waiting to be, sorted.
  package var joinedModels: [String] { ids { !models[at: $0].isLeft } }

  // MARK: Joining

  /// Joins a model. From now on it accepts writes, and catches up whenever there is a hub.
  package mutating func join(_ id: String, now: UInt64, into output: inout PeerOutput) {
    if models.index(of: id) == nil {
      models[id] = PeerModel(id: id)
      models[id]?.staleSince = now
      models[id]?.outbox.resume(after: leftNumbers[id] ?? 0)
      addCarriedToOverlay(of: id)
    }
    models[id]?.isLeft = false
    if phase == .live, models[id]?.joining == .idle { askToJoin([id], now: now, &output) }
  }

  /// Leaves a model once all its writes have their outcomes.
  package mutating func leave(_ id: String, now: UInt64, into output: inout PeerOutput) {
    guard let index = models.index(of: id) else { return }
    models[at: index].isLeft = true
    guard models[at: index].outbox.unacknowledged == 0 else { return }
    forget(id, &output)
  }

  /// Asks the hub to announce the models below a prefix, now and as they appear; an empty prefix means all.
  package mutating func joinPrefix(_ prefix: String, now: UInt64, into output: inout PeerOutput) {
    lastRequest += 1
    prefixes[prefix] = lastRequest
    if phase == .live { send(.join([Join(request: lastRequest, prefix: prefix)]), now: now, &output) }
  }

  /// Ignores further announcements of this prefix.
  package mutating func leavePrefix(_ prefix: String) { prefixes[prefix] = nil }

  /// Asks the hub to answer with `pong`. Does nothing without a hub.
  package mutating func ping(_ token: UInt64, now: UInt64, into output: inout PeerOutput) {
    if phase == .live { send(.ping(Ping(token: token)), now: now, &output) }
  }

  /// The ids of the models at the indices that satisfy the predicate, sorted.
  func ids(where isMeant: (Int) -> Bool) -> [String] {
    var ids: [String] = []
    for index in models.indices where isMeant(index) { ids.append(models.keys[index]) }
    if ids.count > 1 { ids.sort() }
    return ids
  }

  mutating func forget(_ id: String, _ output: inout PeerOutput) {
    guard let model = models.removeValue(forKey: id) else { return }
    reports.remove(id)
    for barrier in barriers.removeAll(of: id) { output.add(.awaited(barrier, .notJoined)) }
    if model.outbox.lastNumber > 0 { leftNumbers[id] = model.outbox.lastNumber }
    if let topic = model.topic {
      topics[topic] = nil
      output.add(.unsubscribe(topic))
      guard phase == .live else { return }
      // The hub keeps its decisions on this peer's writes until the peer confirms that it has their outcomes.
      if model.outbox.lastNumber > 0, !isJournalLagging {
        let (confirmed, applied) = (model.outbox.lowestUnacknowledged - 1, model.replica.version)
        let entry = AliveEntry(topic: topic, confirmed: confirmed, applied: applied)
        send(.alive(Alive(heartbeat: lastHeartbeat, entries: [entry])), now: lastSentAt, &output)
      }
      send(.leave(Leave(topics: [topic])), now: lastSentAt, &output)
    }
  }

  /// Sends joins that state the epoch, version, names and lowest unacknowledged number of each replica.
  mutating func askToJoin(_ ids: [String], now: UInt64, _ output: inout PeerOutput) {
    var joins: [Join] = []
    for id in ids.sorted() {
      guard let index = models.index(of: id), !models[at: index].isEphemeral || hubCan(Capability.ephemeral) else {
        continue
      }
      lastRequest += 1
      if models[at: index].isCurrent { models[at: index].staleSince = now }
      models[at: index].joining = .asked(request: lastRequest, at: now)
      models[at: index].chunks.removeAll()
      let startsOver = models[at: index].startsOver
      joins.append(
        Join(
          request: lastRequest, model: id, epoch: startsOver ? 0 : models[at: index].replica.epoch,
          version: startsOver ? 0 : models[at: index].replica.version,
          namesKnown: UInt32(models[at: index].replica.namesKnown),
          unacknowledged: isJournalLagging ? 1 : models[at: index].outbox.lowestUnacknowledged))
      if joins.count == 500 {
        send(.join(joins), now: now, &output)
        joins.removeAll()
      }
    }
    if !joins.isEmpty { send(.join(joins), now: now, &output) }
  }

  mutating func send(_ message: PeerMessage, now: UInt64, _ output: inout PeerOutput) {
    counters.framesSent += 1
    lastSentAt = now
    let start: StartNumber = if case .hello = message { 0 } else { self.start }
    output.add(.send(message.encode(session: sessionID, start: start)))
  }
}
