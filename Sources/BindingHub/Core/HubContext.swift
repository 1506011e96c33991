import BindingProtocol

/// What every part of the hub reads and changes: its configuration, models, sessions and counters. One value, which
/// the machine hands to the part that works; no part keeps it.
struct HubContext {
  let configuration: HubMachineConfiguration
  /// The number of this start of the hub; peers name it in every frame.
  let start: StartNumber
  /// An edge learns it from its upstream hub.
  var logID: LogID
  /// The current epoch of the log.
  var epoch: Epoch
  /// When the hub started, and when it last ticked, on the monotonic clock.
  let startedAt: UInt64
  var lastTick: UInt64
  /// How durably the store keeps commits now.
  var durability: Durability
  /// Until then the full store makes the hub defer every decision that needs room in it.
  var storeFullUntil: UInt64 = 0
  var counters = HubCounters()
  var access = AccessControl()
  var usages = UsageTable()
  /// What sessions are told of the hub's keys, without a session's number; nil: it has none.
  var keys: AnnouncedKeys?
  var models: ModelTable
  var sessions: SessionTable

  init(configuration: HubMachineConfiguration, birth: HubBirth, time: HubTime) {
    self.configuration = configuration
    durability = configuration.durability
    start = birth.start
    logID = birth.logID
    epoch = birth.epoch
    startedAt = time.monotonic
    lastTick = time.monotonic
    models = ModelTable(TopicNumbers(seed: configuration.topicSeed))
    models.floor = birth.floor
    sessions = SessionTable(outcomeBytes: configuration.limits.chunkBytes / 2)
  }

  /// For so long a peer, or another hub of the log, may be silent before it counts as gone; milliseconds.
  var lease: UInt64 { UInt64(configuration.leaseMilliseconds) }

  /// Whether the store is known to have no room for decisions of this model.
  func isStoreFull(for model: ModelLog, _ time: HubTime) -> Bool {
    model.ephemeral == nil && time.monotonic < storeFullUntil
  }

  /// The index of an identity among a model's writers.
  mutating func writer(_ origin: Origin, in model: Int) -> Int {
    if models[model].writers.index(of: origin.tag) == nil { sessions.identities[origin.tag]?.models.insert(model) }
    return models[model].writers.index(for: origin)
  }

  /// Finds a session's seat in a model.
  /// - Parameter known: the seat of its last proposal, which may be valid here.
  mutating func seat(
    of origin: Origin, in session: SessionID, _ connection: ConnectionID, in model: Int, known: Seat?
  ) -> Seat {
    if let known, known.isValid(in: model, models[model]) { return known }
    return Seat(
      model: model, writer: writer(origin, in: model), seating: models[model].members.seating,
      limitation: access.limitation(in: session, on: connection, of: models[model].id))
  }

  /// Undoes a model's decisions that are neither stored nor reported.
  mutating func dropBatch(_ index: Int) {
    sessions.undo(models[index].batch.pending.answers)
    models[index].dropBatch()
    models[index].forgetWriters()
  }

  /// Undoes the pending batch and asks its writers to send their proposals again.
  mutating func putOff(_ index: Int, _ code: RetryReason = .busy, pauseMilliseconds: UInt32 = 5) {
    let model = models[index]
    let answers = model.batch.pending.answers
    if let recovery = model.batch.pending.recovery { model.recovery.underWay = recovery }
    model.batch.isAppending = false
    dropBatch(index)
    for answer in answers { retryLater(model.topic, answer.number, code, pause: pauseMilliseconds, answer.session) }
  }

  // MARK: Sending

  mutating func retryLater(
    _ topic: Topic, _ number: ProposalNumber, _ code: RetryReason = .busy, pause pauseMilliseconds: UInt32,
    _ session: SessionID
  ) {
    counters.retries += 1
    sessions.enqueue(
      .init(topic: topic, number: number, .retryLater(code, pauseMilliseconds: pauseMilliseconds)), session)
  }

  mutating func sendOutcomes(_ output: inout HubOutput) {
    sessions.sendOutcomes(epoch: epoch, start: start, &output)
  }

  func send(_ message: HubMessage, to session: SessionID, _ output: inout HubOutput, topic: Topic = Topics.none) {
    guard let connection = sessions[session]?.connection else { return }
    output.send(message, to: .connection(connection), topic: topic, start: start)
  }

  /// Tells a session which keys the hub has and will have, if it wants to know.
  func sendKeys(to session: SessionID, _ output: inout HubOutput) {
    guard var keys, sessions[session]?.capabilities.learnsKeys == true else { return }
    keys.session = session
    send(.keys(keys), to: session, &output)
  }

  func error(
    _ code: ErrorCode, _ text: String, _ session: SessionID, _ connection: ConnectionID, isFatal: Bool = true,
    _ output: inout HubOutput
  ) {
    output.send(
      .error(ErrorMessage(session: session, code: code, isFatal: isFatal, text: text)), to: .connection(connection),
      start: start)
  }

  /// Refuses what somebody lacks the right to, and remembers it for the log.
  mutating func deny(
    _ text: String, _ session: SessionID, _ connection: ConnectionID, _ output: inout HubOutput
  ) {
    access.deny(text)
    error(.notPermitted, text, session, connection, isFatal: false, &output)
  }
}
