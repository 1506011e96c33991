package import BindingProtocol

/// What a hub knows of a log that several hubs share, beyond its models.
struct SharedLog {
  /// A hello of an identity that this hub does not know.
  struct HeldHello {
    let hello: Hello
    let session: SessionID
    let connection: ConnectionID
  }

  /// Models that the store has named and that are still to be loaded.
  private var unloaded: Set<String> = []
  /// Models that no session has joined, by the time from which on that is so.
  var unused = UnusedModels()
  private var hellos: [(number: UInt64, held: HeldHello)] = []
  /// The last number to sync with, and the last that was answered.
  private var lastSync: UInt64 = 0
  private var synced: UInt64 = 0
  /// Whether the store answers, and the number that shows when all that was missed meanwhile is here.
  private var isReached = true
  private var upToDateAt: UInt64 = 0
  /// Whether nothing is missing here but what other hubs store now.
  private(set) var isUpToDate = true

  mutating func name(_ model: String) { unloaded.insert(model) }

  mutating func loaded(_ model: String) { unloaded.remove(model) }

  /// The store answers, or not.
  /// - Returns: a number to sync with, where it answers again.
  mutating func setReached(_ isReached: Bool) -> UInt64? {
    defer { self.isReached = isReached }
    if !isReached { isUpToDate = false }
    guard isReached, !self.isReached else { return nil }
    lastSync += 1
    upToDateAt = lastSync
    return lastSync
  }

  /// Notices that all that was missed is here.
  mutating func catchUp() { if isReached, synced >= upToDateAt, unloaded.isEmpty { isUpToDate = true } }

  // MARK: Hellos

  /// Holds a hello until the tail has shown whether the log knows the identity.
  /// - Returns: the number to sync with.
  mutating func hold(_ hello: HeldHello) -> UInt64 {
    lastSync += 1
    hellos.append((lastSync, hello))
    return lastSync
  }

  /// The store has named all models that had changed.
  mutating func sync(_ number: UInt64) { synced = max(synced, number) }

  /// The hellos whose identities the hub can tell now, in order.
  mutating func takeDue() -> [HeldHello] {
    guard unloaded.isEmpty, hellos.first.map({ $0.number <= synced }) == true else { return [] }
    let due = hellos.prefix { $0.number <= synced }.map(\.held)
    hellos.removeFirst(due.count)
    return due
  }

  /// All hellos that are held, where the log is out of reach.
  mutating func takeAll() -> [HeldHello] {
    defer { hellos.removeAll() }
    return hellos.map(\.held)
  }

  /// The connection is gone.
  mutating func forget(_ connection: ConnectionID) { hellos.removeAll { $0.held.connection == connection } }
}

// MARK: Events

extension HubMachine {
  /// The revision of a model's head on which its batch in `HubOutput.batches` was decided; 0: it never had one.
  package func revision(of model: String) -> SharedRevision {
    hub.models.index(named: model).flatMap { hub.models[$0].position.tail?.revision } ?? 0
  }

  /// Handles an event of a store that several hubs share.
  package mutating func receive(_ event: SharedEvent, time: HubTime, into output: inout HubOutput) {
    let wasUpToDate = isUpToDate
    switch event {
    case .connected(let isConnected):
      if let number = shared?.setReached(isConnected) { output.sync = number }
      for held in isConnected ? [] : shared?.takeAll() ?? [] {
        hello(held.hello, held.session, held.connection, time, &output)
      }
    case .appended(_, let answers): for answer in answers { take(answer, time, &output) }
    case .loaded(let head, let result): loaded(head, result, time, &output)
    case .listed(_, let heads, let isLast): listed(heads, isLast, &output)
    case .followed(let records, _): follow(records, time, &output)
    case .changed(let heads): for head in heads { compare(with: head, &output) }
    case .lost: hub.counters.tailLosses += 1
    case .synced(let number): shared?.sync(number)
    case .room(let room): if room < .full { hub.storeFullUntil = 0 }
    case .grade(let grade, _): hub.durability = grade.durability
    case .history(let query, let result): answered(query, result, into: &output)
    case .failed(let error): output.failure = error
    case .caughtUp, .head, .foldable, .folded, .resharded: break
    }
    for held in shared?.takeDue() ?? [] {
      hello(held.hello, held.session, held.connection, time, isSynced: true, &output)
    }
    shared?.catchUp()
    if isUpToDate != wasUpToDate { tellUpstream(&output) }
    finishDrain(time: time, into: &output)
  }

  /// Holds a hello of an identity that this hub does not know: it may have written at another hub a moment ago, and a
  /// new process sees all that was acknowledged anywhere before it. While the log is out of reach nobody can tell: a
  /// new process is told that, and a peer that was welcomed elsewhere had better try another hub.
  mutating func holds(
    _ hello: Hello, _ id: SessionID, _ connection: ConnectionID, _ output: inout HubOutput
  ) -> Bool {
    guard isUpToDate else {
      guard hello.isResuming else { return false }
      hub.error(.closing, "this hub does not reach the log that it shares with others", id, connection, &output)
      return true
    }
    output.sync = shared?.hold(.init(hello: hello, session: id, connection: connection))
    return true
  }

  // MARK: Answers to batches

  private mutating func take(_ answer: SharedAnswer, _ time: HubTime, _ output: inout HubOutput) {
    guard let index = hub.models.index(named: answer.model),
      let batch = hub.models[index].batch.shared.sent, batch.record == answer.record
    else { return follow(answer.later, time, &output) }
    if case .unknown = answer.result {
      // Only the same bytes again tell what became of it: a load may be answered before the batch lands.
      hub.counters.unknownBatches += 1
      output.batches.append(batch)
      return follow(answer.later, time, &output)
    }
    settle(answer.result, of: batch, index, time, &output)
    for record in answer.later { take(record, time, &output) }
    guard let now = hub.models.index(named: answer.model) else { return }
    goOn(now, time, &output)
  }

  /// The batch that was sent last has this result.
  private mutating func settle(
    _ result: SharedAppended, of batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) {
    let mustLoad = hub.models[index].batch.shared.endAppend()
    let count = hub.models[index].batch.pending.proposals.count
    switch result {
    case .unknown: break
    case .stored(let revision):
      _ = hub.models[index].position.tail?.take(batch.record, revision: revision)
      hub.models[index].batch.shared.pace = .together
      settle(Appended.stored, of: batch, index, time, &output)
    case .full: settle(Appended.full, of: batch, index, time, &output)
    case .moved, .folded, .tooLarge: hub.decideAgain(index)
    }
    guard let now = hub.models.index(named: batch.model) else { return }
    if batch.form == .removal { keepRemoved(now, time, &output) }
    if mustLoad { load(now, &output) }
    switch result {
    case .moved(let records):
      hub.counters.movedBatches += 1
      loseRace(now, time)
      for record in records { take(record, time, &output) }
    case .folded:
      hub.counters.movedBatches += 1
      load(now, &output)
    case .tooLarge: hub.models[index].batch.shared.pace = count > 1 ? .oneByOne : .refuseNext
    case .unknown, .stored, .full: break
    }
  }

  // MARK: The tail

  /// Takes records in, in their order, and goes on in their models.
  mutating func follow(_ records: [SharedRecord], _ time: HubTime, _ output: inout HubOutput) {
    for record in records { take(record, time, &output) }
    var done: Set<String> = []
    for record in records where done.insert(record.batch.model).inserted {
      if let index = hub.models.index(named: record.batch.model) { goOn(index, time, &output) }
    }
  }

  private mutating func take(_ record: SharedRecord, _ time: HubTime, _ output: inout HubOutput) {
    let batch = record.batch
    guard let index = hub.models.index(named: batch.model) else {
      if batch.form != .removal { loadWatched(batch.model, &output) }
      return
    }
    let model = hub.models[index]
    guard !model.batch.shared.isLoading else { return model.batch.shared.keep(record) }
    if let sent = model.batch.shared.sent, sent.record == batch.record {
      // It was on its way when the batch was sent. What comes first settles the batch; its answer is then dropped.
      return settle(batch == sent ? .stored(record.revision) : .moved([record]), of: sent, index, time, &output)
    }
    switch model.position.tail?.take(batch.record, revision: record.revision) ?? .load {
    case .skip: return
    case .load: return load(index, &output)
    case .apply: break
    }
    hub.counters.followedBatches += 1
    // What is decided here and has not left yet was decided on the record before.
    if model.batch.hasDecisions { hub.decideAgain(index) }
    if batch.form == .removal {
      clear(index, at: batch.record, batch.version, time, &output)
    } else {
      apply(batch, index, time, &output)
    }
  }

  /// Loads a model that has an older record than its head. One that is not here may be new.
  private mutating func compare(with head: SharedHead, _ output: inout HubOutput) {
    if let index = hub.models.index(named: head.model) {
      guard hub.models[index].position.tail?.isBehind(head) ?? true else { return }
      shared?.name(head.model)
      load(index, &output)
    } else if !head.isRemoved {
      loadWatched(head.model, &output)
    }
  }

  /// Loads a model that is not here, if a session watches a prefix of it: it is then announced. What nobody uses here
  /// is not kept.
  private mutating func loadWatched(_ model: String, _ output: inout HubOutput) {
    if isWatched(model) { load(hub.models.make(model, from: .none), &output) }
  }
}

extension SharedGrade {
  /// What the hub's peers are told.
  package var durability: Durability {
    switch self {
    case .memory: .memory
    case .process: .process
    case .replicated: .replicated
    }
  }
}
