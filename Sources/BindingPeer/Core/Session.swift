package import BindingProtocol

/// The protocol state machine of a peer, without sockets, threads, clock or randomness of its own. Frames, writes and
/// ticks go in by method calls; the effects to perform come out in a `PeerEffects`.
///
/// The caller feeds frames and writes, then calls `finishDrain`, which emits updates for observers and sends. Times
/// are milliseconds of any clock that never goes back.
///
/// It has one `ConnectionMachine`, and one `ModelSync` for each model; it passes each message on to the part that it
/// concerns, and sends what the parts ask for.
package struct Session: Sendable {
  var context: SessionContext
  var connection: ConnectionMachine
  var models = IndexedMap<String, ModelSync>()
  var topics: [Topic: String] = [:]
  /// The requests of the joined prefixes.
  var prefixes: [String: UInt32] = [:]
  /// The highest number of a request, and of a write.
  var last: (request: UInt32, write: UInt64) = (0, 0)
  /// The pending writes of all models, and their bytes.
  var pending: (writes: Int, bytes: Int) = (0, 0)
  var numbering = NumberingHistory()
  var carried = CarriedWrites()
  var barriers = BarrierClient()
  var reports = AppliedReporter()
  /// The ids of the models with fields that expire.
  var expiringModels: Swift.Set<String> = []
  var history = HistoryClient()
  var keeping: SessionKeeping
  var undo = UndoTable()

  /// - Parameters:
  ///   - identity: new at every start of a program (R10).
  ///   - seed: determines session numbers and pauses.
  ///   - keepsOutbox: whether every step of a write is recorded in an outbox.
  ///   - choice: which replicas are kept too; nil: none.
  ///   - stored: the replicas that earlier runs have kept, of which the models show those of the last log.
  ///   - wall: the wall time now, milliseconds since 1970.
  package init(
    identity: Identity, seed: UInt64, options: SessionOptions = SessionOptions(), now: UInt64,
    keepsOutbox: Bool = false, keeping choice: KeepChoice? = nil, stored: KeptReplicas = KeptReplicas(),
    wall: UInt64 = 0
  ) {
    context = SessionContext(
      identity: identity, options: options, isResumed: false, keepsOutbox: keepsOutbox,
      defersOutcomes: choice?.defersOutcomes ?? false)
    connection = ConnectionMachine(seed: seed, now: now)
    keeping = SessionKeeping(choice, stored, wall: wall, now: now)
    // A hub with another log is noticed: what is kept was never of that one.
    if choice != nil { context.logID = stored.lastLog }
  }

  /// Creates a session that speaks for an earlier run of this program: it sends what that run left in its outbox,
  /// unchanged, and nothing else (R10), as if that run had been cut off from its hub until now.
  /// - Parameters:
  ///   - wall: the wall time now, milliseconds since 1970, of the machine of that run.
  ///   - defersOutcomes: whether outcomes are recorded only once a replica that contains them is stored.
  package init(
    resuming run: PreviousRun, seed: UInt64, options: SessionOptions = SessionOptions(), now: UInt64, wall: UInt64,
    defersOutcomes: Bool = false
  ) {
    let identity = Identity(secret: run.identity.secret, name: run.identity.name)
    context = SessionContext(
      identity: identity, options: options, isResumed: true, keepsOutbox: true, defersOutcomes: defersOutcomes)
    context.isDisowned = !run.identity.isProven
    context.previousTags = run.earlier
    connection = ConnectionMachine(seed: seed, now: now)
    keeping = SessionKeeping(nil, KeptReplicas(), wall: wall, now: now)
    (context.logID, context.epoch) = (run.log, run.epoch)
    if run.epoch != nil { connection.resume() }
    if let log = run.log, let epoch = run.epoch { context.journal.resume(log: log, epoch: epoch) }
    // Numbers count under the tag that used them.
    if !isDisowned { numbering.resume(after: run.lastNumbers) }
    for write in run.writes {
      if models[write.model] == nil {
        models[write.model] = ModelSync(id: write.model, now: 0, after: numbering.lastNumbers[write.model] ?? 0)
      }
      last.write = max(last.write, write.id.rawValue)
      let number = isDisowned ? nil : write.number
      models[write.model]?.addToOverlay(
        Pending(write, id: write.id, number: number, isOld: write.isOld(at: wall, options), now: now))
    }
    pending.writes = run.writes.count
  }

  /// Whether the resumed run's tag is not derived from its secret, as in older releases: no hub accepts such a tag.
  var isDisowned: Bool { context.isDisowned }

  // MARK: Reading

  /// The secret, tag and name under which this session writes.
  package var identity: Identity { context.identity }
  /// The state of the connection to the hub.
  package var phase: Phase { connection.phase }
  /// The hubs to which the link may connect; the link connects to `hubs.current` when it is told to open.
  package var hubs: HubPool {
    get { connection.hubs }
    set { connection.hubs = newValue }
  }
  /// What the next hello names, besides which connection of this run it opens.
  package var capabilities: [String] {
    get { context.capabilities }
    set { context.capabilities = newValue }
  }
  /// Which connection of this run the present one is.
  package var opening: Opening { connection.numbers.opening }
  /// Its number at the hub, another one for each connection; 0: it has opened none.
  package var number: SessionID { connection.sessionID }
  /// The start number of the hub that welcomed this session; 0: none has.
  package var startNumber: StartNumber { connection.start }
  /// What was received, sent and dropped since the session was made.
  package var counters: SessionCounters { context.counters }
  /// The hub's log; nil before a hub was seen.
  package var logID: LogID? { context.logID }
  /// The current epoch of that log; nil before a hub was seen.
  package var epoch: Epoch? { context.epoch }
  /// What the hub announced of itself; nil while no hub has welcomed this session.
  package var welcome: Welcome? { connection.welcome }
  /// The limits of the last welcome; before the first one those of the options.
  package var limits: Limits { context.limits }
  /// Why the hub that answers does not welcome this peer, in its words; nil if it does, or if no hub answers.
  package var refusal: String? { connection.lack.refusal }
  /// Since when the hub, an edge, has not reached its upstream hub; nil: it reaches it, or is no edge.
  package var cutOffSince: UInt64? { connection.lack.cutOffSince }
  /// When a hub was last heard before the link was lost; before the first link, when this session was made.
  package var silentSince: UInt64 { connection.silentSince }
  /// True while journal entries cannot be written: outcomes that the journal lacks are then not confirmed to the hub.
  package var isJournalLagging: Bool {
    get { context.journal.isLagging }
    set { context.journal.isLagging = newValue }
  }

  /// The value that a field shows; nil if it has none.
  package func shown(_ model: String, _ field: String) -> FieldValue? {
    models.index(of: model).flatMap { models[at: $0].shown(field) }
  }

  /// The shown values of all fields of a model that have one.
  package func shownValues(_ model: String) -> [String: FieldValue] {
    let changes = models[model]?.present?.changes ?? []
    return Dictionary(uniqueKeysWithValues: changes.compactMap { change in change.new.map { (change.field, $0) } })
  }

  /// Everything a model shows, as one update with the cause `snapshot`; nil while there is nothing to show.
  package func present(_ id: String) -> ModelUpdate? { models[id]?.present }

  /// All that is known of a field; nil if the field is unknown and the model is not current.
  package func fieldRecord(_ model: String, _ name: String) -> FieldRecord? { models[model]?.record(of: name) }

  /// The epoch and version of the committed values; (0, 0) before anything was received.
  package func version(of model: String) -> (epoch: Epoch, version: Version) {
    models.index(of: model).map { (models[at: $0].replica.epoch, models[at: $0].replica.version) } ?? (0, 0)
  }

  /// The fields of a model that were committed after a version (`Replica.committed`).
  package func committed(_ id: String, after version: Version) -> [CommittedField] {
    models[id]?.replica.committed(after: version) ?? []
  }

  /// Whether the model's committed values are complete: the session is live and no catch-up is under way.
  package func isCurrent(_ model: String) -> Bool {
    phase == .live && models.index(of: model).map { models[at: $0].join.isCurrent } == true
  }

  /// Whether a write of this field was sent and has no outcome.
  package func isInFlight(_ model: String, _ field: String) -> Bool { models[model]?.writes.isInFlight(field) ?? false }

  /// The number of writes without an outcome, over all models.
  package var unconfirmed: Int { models.indices.reduce(0) { $0 + models[at: $1].writes.unacknowledged } }

  /// The digest of the committed values, as the hub computes it; nil if the model is not joined.
  package mutating func digest(of model: String) -> UInt64? { models[model]?.replica.digest() }

  /// The ids of the models that are joined or waiting to be, sorted.
  package var joinedModels: [String] {
    models.sortedIndices { !$0.join.isLeft }.map { models.keys[$0] }
  }

  /// Whether a model is joined, or was left with writes that have no outcome.
  package func knows(_ id: String) -> Bool { models.index(of: id) != nil }

  /// Fills a snapshot with the state of a model; empties it if the model is not joined. The overlay is evaluated only
  /// for the fields that are `meant`; the others show their committed values.
  package func look(at id: String, _ fields: [String], meant: [Bool], into snapshot: inout ModelSnapshot) {
    snapshot.clear(fields.count)
    if let index = models.index(of: id) { snapshot.take(models[at: index], fields, meant: meant) }
  }

  func syncState(of field: String, in id: String) -> FieldSyncState {
    FieldSyncState(of: field, in: models[id], staleSince: staleSince(id))
  }

  /// Whether this peer may write a field of a model, as far as the hub has told.
  func mayWrite(_ field: String, in id: String) -> Bool {
    models[id]?.join.rights?.allowsWriting(field) ?? true
  }

  func syncState(of id: String) -> ModelSyncState { ModelSyncState(of: models[id], staleSince: staleSince(id)) }

  private func staleSince(_ id: String) -> Int64? {
    if isCurrent(id) { return connection.lack.cutOffSince.map { Int64(clamping: $0) } }
    return models[id]?.join.staleSince ?? Int64(clamping: silentSince)
  }

  // MARK: Joining

  /// Joins a model. From now on it accepts writes, and catches up whenever there is a hub.
  package mutating func join(_ id: String, now: UInt64, into effects: inout PeerEffects) {
    if models.index(of: id) == nil {
      var model = ModelSync(id: id, now: now, after: numbering.lastNumbers[id] ?? 0)
      keeping.prepare(&model, following: logID, after: context.previousTags)
      for write in carried[id] {
        model.addToOverlay(write.pending(at: connection.openedAt))
        model.update.record(.local)
      }
      model.hideContained()
      // The log may have gone on to another epoch since the welcome.
      if let welcome, let epoch { model.decideWhetherWitness(of: epoch, isRecovering: welcome.isRecovering) }
      models[id] = model
    }
    guard let index = models.index(of: id) else { return }
    models[at: index].join.isLeft = false
    if phase == .live { askIfLapsed(at: index, now: now, &effects) }
  }

  /// Leaves a model once all its writes have their outcomes.
  package mutating func leave(_ id: String, now: UInt64, into effects: inout PeerEffects) {
    guard let index = models.index(of: id) else { return }
    models[at: index].join.isLeft = true
    if models[at: index].isSettled { forget(id, now: now, &effects) }
  }

  /// Asks the hub to announce the models below a prefix, now and as they appear; an empty prefix means all.
  package mutating func joinPrefix(_ prefix: String, now: UInt64, into effects: inout PeerEffects) {
    prefixes[prefix] = nextRequest()
    if phase == .live { send(.join([Join(request: last.request, prefix: prefix)]), now: now, &effects) }
  }

  /// Ignores further announcements of this prefix.
  package mutating func leavePrefix(_ prefix: String) { prefixes[prefix] = nil }

  /// Asks the hub to answer with `pong`. Does nothing without a hub.
  package mutating func ping(_ token: UInt64, now: UInt64, into effects: inout PeerEffects) {
    if phase == .live { send(.ping(Ping(token: token)), now: now, &effects) }
  }

  mutating func nextRequest() -> UInt32 {
    last.request += 1
    return last.request
  }
}
