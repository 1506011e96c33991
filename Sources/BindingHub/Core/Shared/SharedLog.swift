package import BindingProtocol

/// What a hub knows of a log that several hubs share, beyond its models.
struct SharedLog {
  /// A hello of an identity that this hub does not know.
  struct HeldHello {
    let hello: Hello
    let session: SessionID
    let connection: ConnectionID
  }

  /// Whether listing has begun, and whether every model was named.
  private(set) var isListing = false
  private(set) var isListed = false
  /// Models that the store has named and that are still to be loaded.
  private var unloaded: Set<String> = []
  private var hellos: [(number: UInt64, held: HeldHello)] = []
  /// The last number to sync with, and the last that was answered.
  private var lastSync: UInt64 = 0
  private var synced: UInt64 = 0

  /// Whether every model that the log had when this hub began is here.
  var isComplete: Bool { isListed && unloaded.isEmpty }

  /// - Returns: whether to list the models now: the first time.
  mutating func beginListing() -> Bool {
    defer { isListing = true }
    return !isListing
  }

  mutating func name(_ model: String) { unloaded.insert(model) }

  mutating func endListing() { isListed = true }

  mutating func loaded(_ model: String) { unloaded.remove(model) }

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
    switch event {
    case .appended(_, let answers): for answer in answers { take(answer, time, &output) }
    case .loaded(let head, let result): loaded(head, result, time, &output)
    case .listed(_, let heads, let isLast): list(heads, isLast, &output)
    case .followed(let records, _): for record in records { follow(record, time, &output) }
    case .changed(let heads): for head in heads { compare(with: head, &output) }
    case .caughtUp: if shared?.beginListing() == true { output.listAfter = "" }
    case .lost: hub.counters.tailLosses += 1
    case .synced(let number): shared?.sync(number)
    case .room(let room): if room < .full { hub.storeFullUntil = 0 }
    case .grade(let grade, _): hub.durability = grade.durability
    case .history(let query, let result): answered(query, result, into: &output)
    case .failed(let error): output.failure = error
    case .connected, .head, .folded: break
    }
    for held in shared?.takeDue() ?? [] {
      hello(held.hello, held.session, held.connection, time, isSynced: true, &output)
    }
    hub.isComplete = shared?.isComplete ?? true
    finishDrain(time: time, into: &output)
  }

  /// Holds a hello of an identity that this hub does not know: it may have written at another hub a moment ago.
  mutating func holds(
    _ hello: Hello, _ id: SessionID, _ connection: ConnectionID, _ output: inout HubOutput
  ) -> Bool {
    guard !hub.sessions.writersBefore.contains(hello.identity.tag) else { return false }
    output.sync = shared?.hold(.init(hello: hello, session: id, connection: connection))
    return true
  }

  // MARK: Answers to batches

  private mutating func take(_ answer: SharedAnswer, _ time: HubTime, _ output: inout HubOutput) {
    guard let index = hub.models.index(named: answer.model),
      let batch = hub.models[index].batch.shared.sent, batch.record == answer.record
    else { return }
    if case .unknown = answer.result {
      // Only the same bytes again tell what became of it: a load may be answered before the batch lands.
      hub.counters.unknownBatches += 1
      output.batches.append(batch)
      return
    }
    var mustLoad = hub.models[index].batch.shared.endAppend()
    switch answer.result {
    case .unknown: break
    case .stored(let revision):
      _ = hub.models[index].position.tail?.take(batch.record, revision: revision)
      hub.models[index].batch.shared.pace = .together
      settle(.stored, of: batch, index, time, &output)
    case .moved(let records):
      hub.counters.movedBatches += 1
      hub.decideAgain(index)
      for record in records { follow(record, time, &output) }
    case .folded:
      hub.counters.movedBatches += 1
      hub.decideAgain(index)
      mustLoad = true
    case .full: settle(.full, of: batch, index, time, &output)
    case .tooLarge:
      let count = hub.models[index].batch.pending.proposals.count
      hub.decideAgain(index)
      hub.models[index].batch.shared.pace = count > 1 ? .oneByOne : .refuseNext
    }
    guard let now = hub.models.index(named: answer.model) else { return }
    if mustLoad { load(now, &output) }
    if batch.form == .removal { keepRemoved(now, time, &output) }
    goOn(now, time, &output)
  }

  // MARK: The tail

  private mutating func follow(_ record: SharedRecord, _ time: HubTime, _ output: inout HubOutput) {
    let batch = record.batch
    guard let index = hub.models.index(named: batch.model) else {
      if batch.form != .removal { load(hub.models.make(batch.model, from: .none), &output) }
      return
    }
    let model = hub.models[index]
    guard !model.batch.shared.isLoading else { return model.batch.shared.see(batch.record) }
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
      applyFollowed(batch, index, time, &output)
    }
    guard let now = hub.models.index(named: batch.model) else { return }
    goOn(now, time, &output)
  }

  private mutating func applyFollowed(
    _ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    var before: [Tag: ProposalNumber] = [:]
    for decision in batch.decisions where decision.form == .forgotten {
      before[decision.origin.tag] = model.writers.lastStored(of: decision.origin.tag)
    }
    let known = model.writers.records.count
    model.batch.lists.forget()
    apply(batch, index, time, &output)
    for writer in min(known, model.writers.records.count)..<model.writers.records.count {
      hub.sessions.writersBefore.insert(model.writers.records[writer].origin.tag)
    }
    if !before.isEmpty { SharedWriters.recall(batch.decisions, in: index, before: before, &hub) }
  }

  /// Loads a model that has an older record than its head.
  private mutating func compare(with head: SharedHead, _ output: inout HubOutput) {
    if let index = hub.models.index(named: head.model) {
      guard hub.models[index].position.tail?.isBehind(head) ?? true else { return }
      shared?.name(head.model)
      load(index, &output)
    } else if !head.isRemoved {
      shared?.name(head.model)
      load(hub.models.make(head.model, from: .none), &output)
    }
  }

  private mutating func list(_ heads: [SharedHead], _ isLast: Bool, _ output: inout HubOutput) {
    for head in heads {
      let index = hub.models.index(named: head.model) ?? hub.models.make(head.model, from: .none)
      guard hub.models[index].position.tail == nil else { continue }
      shared?.name(head.model)
      load(index, &output)
    }
    if isLast { shared?.endListing() } else { output.listAfter = heads.last?.model }
  }
}

extension SharedGrade {
  /// What the hub's peers are told: a grade that survives the power loss of all nodes is that of a disk.
  package var durability: Durability {
    switch self {
    case .memory: .memory
    case .process: .process
    case .replicated: .disk
    }
  }
}
