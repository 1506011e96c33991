public import BindingProtocol

/// A peer without sockets, threads, clock or randomness of its own: what comes in goes through here, what is to be
/// done lies in a `PeerOutput`.
///
/// The caller feeds frames and writes, then calls `finishDrain`, which tells observers (one update a model) and sends.
/// Times are milliseconds of any clock that never goes back.
public struct Session: Sendable {
  public let identity: Identity
  let options: SessionOptions
  var generator: SeededGenerator
  var backoff = Backoff()

  public internal(set) var phase = Phase.offline
  public internal(set) var counters = SessionCounters()
  /// The hub's log and its present life; nil before a hub was seen.
  public internal(set) var logID: LogID?
  public internal(set) var epoch: Epoch?
  /// What the hub told of itself; nil before and between hubs.
  public internal(set) var welcome: Welcome?
  public internal(set) var limits: Limits

  var sessionID: SessionID = 0
  var start: StartNumber = 0
  var wasWelcomed = false
  var models = IndexedMap<String, PeerModel>()
  var topics: [Topic: String] = [:]
  /// Where the numbers of models that were left go on: they never go back within an identity.
  var leftNumbers: [String: ProposalNumber] = [:]
  var prefixes: [String: UInt32] = [:]
  var lastRequest: UInt32 = 0
  var lastWrite: UInt64 = 0
  var outboxWrites = 0
  var outboxBytes = 0
  var settled: [(id: WriteID, model: String, outcome: Outcome)] = []
  /// How many of those the outbox has noted, or must not note.
  var settledRecorded = 0
  var retries: [(id: WriteID, model: String, code: RetryReason)] = []

  /// Whether all that concerns writes is noted in an outbox (`PeerAction.keep`).
  let keepsOutbox: Bool
  /// Set while those notes cannot be written: then nothing that they do not hold is confirmed to the hub.
  public var isJournalLagging = false
  var keptHub: (log: LogID, epoch: Epoch)?
  /// What earlier lives wrote and other sessions send, by model.
  var carried: [String: [CarriedWrite]] = [:]
  var previousTags: Swift.Set<Tag> = []
  /// Whether it speaks for an earlier life.
  var isResumed = false
  /// When it gave the first of the numbers that wait, or one before it: here, and what the hub's clock had told then.
  var firstNumbered: (now: UInt64, hub: UInt64)?
  /// The hub's clock as it was told last.
  var hubNow: UInt64 = 0
  /// Whether that life's tag is not that of its secret, as before tags were proven: no hub lets anybody speak for it.
  var isDisowned = false

  var barriers: [BarrierID: PeerBarrier] = [:]
  var lastBarrier: UInt64 = 0
  /// Models of which the hub wants to hear.
  var owingReports: Swift.Set<String> = []

  /// Why the hub that answers welcomes nobody now, as it said; nil: it does, or none answers.
  var refusal: String?
  /// When a hub was last heard before the link was lost, or this session was made.
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
  ///   - identity: made anew at every start of a program (R10).
  ///   - seed: chance for session numbers and pauses.
  ///   - keepsOutbox: whether all that concerns writes is to be noted in an outbox.
  public init(
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

  /// The shown value; nil if there is none.
  public func shown(_ model: String, _ field: String) -> FieldValue? {
    guard let index = models.index(of: model), let fieldIndex = models[at: index].replica.index(of: field) else {
      return nil
    }
    return models[at: index].shown(at: fieldIndex)
  }

  /// The shown values of all fields that have one.
  public func shownValues(_ model: String) -> [String: FieldValue] {
    guard let model = models[model] else { return [:] }
    var values: [String: FieldValue] = [:]
    for index in model.replica.fields.indices { values[model.replica.fields[index].name] = model.shown(at: index) }
    return values
  }

  /// All that a model shows, as if it had just been caught up with; nil while nothing of it has come.
  public func present(_ id: String) -> ModelUpdate? {
    guard let model = models[id] else { return nil }
    let changes = model.replica.fields.indices.compactMap { index -> ShownChange? in
      model.shown(at: index).map { ShownChange(field: model.replica.fields[index].name, old: nil, new: $0) }
    }
    // Before a hub was seen there may be writes of ours, of this life or an earlier one.
    guard model.replica.version > 0 || !changes.isEmpty else { return nil }
    return ModelUpdate(
      model: id, cause: .snapshot, changes: changes, confirmed: [], epoch: model.replica.epoch,
      version: model.replica.version, commits: [], coalesced: model.replica.version, proposalHops: 0)
  }

  /// All that is known of a field; nil if it has never been heard of.
  public func fieldRecord(_ model: String, _ name: String) -> FieldRecord? {
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
      // A field without a value is known to be unchanged since the version that this replica has wholly.
      version: field.value == nil ? model.replica.version : field.version, origin: field.origin, time: field.time,
      isPending: model.outbox.isPending(name))
  }

  /// The epoch and version of the committed values; 0, 0 before anything was seen.
  public func version(of model: String) -> (epoch: Epoch, version: Version) {
    models.index(of: model).map { (models[at: $0].replica.epoch, models[at: $0].replica.version) } ?? (0, 0)
  }

  /// Whether the model's committed values are complete: welcomed, and no catch-up under way.
  public func isCurrent(_ model: String) -> Bool {
    phase == .live && models.index(of: model).map { models[at: $0].isCurrent } == true
  }

  /// Whether a write of this field was sent and has no outcome.
  public func isInFlight(_ model: String, _ field: String) -> Bool { models[model]?.outbox.isInFlight(field) ?? false }

  /// Writes without an outcome, of all models.
  public var unconfirmed: Int { models.indices.reduce(0) { $0 + models[at: $1].outbox.unacknowledged } }

  /// The digest of the committed values, as the hub computes it.
  public mutating func digest(of model: String) -> UInt64? { models[model]?.replica.digest() }

  /// The models that are joined or wait to be.
  public var joinedModels: [String] { ids { !models[at: $0].isLeft } }

  // MARK: Joining

  /// Joins a model: from now on it is written to, and caught up with whenever there is a hub.
  public mutating func join(_ id: String, now: UInt64, into output: inout PeerOutput) {
    if models.index(of: id) == nil {
      models[id] = PeerModel(id: id)
      models[id]?.staleSince = now
      models[id]?.outbox.resume(after: leftNumbers[id] ?? 0)
      addCarriedToOverlay(of: id)
    }
    models[id]?.isLeft = false
    if phase == .live, models[id]?.joining == .idle { askToJoin([id], now: now, &output) }
  }

  /// Leaves a model, once all that was written to it has its outcome.
  public mutating func leave(_ id: String, now: UInt64, into output: inout PeerOutput) {
    guard let index = models.index(of: id) else { return }
    models[at: index].isLeft = true
    guard models[at: index].outbox.unacknowledged == 0 else { return }
    forget(id, &output)
  }

  /// Asks for the models below a prefix, now and as they come; an empty prefix means all.
  public mutating func joinPrefix(_ prefix: String, now: UInt64, into output: inout PeerOutput) {
    lastRequest += 1
    prefixes[prefix] = lastRequest
    if phase == .live { send(.join([Join(request: lastRequest, prefix: prefix)]), now: now, &output) }
  }

  /// Asks no longer; the hub's announcements are passed over.
  public mutating func leavePrefix(_ prefix: String) { prefixes[prefix] = nil }

  /// Has the hub answer with `pong`.
  public mutating func ping(_ token: UInt64, now: UInt64, into output: inout PeerOutput) {
    if phase == .live { send(.ping(Ping(token: token)), now: now, &output) }
  }

  /// The models for whose places this holds, in order.
  func ids(where isMeant: (Int) -> Bool) -> [String] {
    var ids: [String] = []
    for index in models.indices where isMeant(index) { ids.append(models.keys[index]) }
    if ids.count > 1 { ids.sort() }
    return ids
  }

  mutating func forget(_ id: String, _ output: inout PeerOutput) {
    guard let model = models.removeValue(forKey: id) else { return }
    endBarriers(of: id, &output)
    if model.outbox.lastNumber > 0 { leftNumbers[id] = model.outbox.lastNumber }
    if let topic = model.topic {
      topics[topic] = nil
      output.add(.unsubscribe(topic))
      guard phase == .live else { return }
      // The hub keeps what it decided of this peer's writes until it hears that their outcomes have been seen.
      if model.outbox.lastNumber > 0, !isJournalLagging {
        let (confirmed, applied) = (model.outbox.lowestUnacknowledged - 1, model.replica.version)
        let entry = AliveEntry(topic: topic, confirmed: confirmed, applied: applied)
        send(.alive(Alive(heartbeat: lastHeartbeat, entries: [entry])), now: lastSentAt, &output)
      }
      send(.leave(Leave(topics: [topic])), now: lastSentAt, &output)
    }
  }

  /// Sends joins that say what is here.
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
