import BindingProtocol

/// What a store that several hubs share does with one model: it appends a batch, or loads the model. Meanwhile the
/// model's `BatchState.isAppending` is true, so nothing is decided and no join is answered.
struct SharedWork {
  /// The batch without an answer; nil: none.
  var sent: Batch?
  /// Whether the model is being loaded.
  private(set) var isLoading = false
  /// How proposals are decided.
  var pace = Pace.together
  /// Whether it is to be loaded once the batch has its answer.
  private(set) var isLoadDue = false
  /// The last record that the tail has shown while the model could not take it in.
  private var seen: UInt64 = 0

  /// How proposals are decided where a batch had more bytes than the store takes.
  enum Pace {
    /// As many as there are, in one batch.
    case together
    /// One a batch.
    case oneByOne
    /// The next one is refused: it alone had too many bytes.
    case refuseNext
  }

  /// Begins to load, at once or after the batch under way.
  /// - Returns: whether at once.
  mutating func beginLoading() -> Bool {
    guard !isLoading else { return false }
    isLoadDue = sent != nil
    isLoading = sent == nil
    return isLoading
  }

  /// The model was loaded up to a record.
  /// - Returns: whether that is all that the tail has shown.
  mutating func endLoading(at record: UInt64) -> Bool {
    isLoading = false
    return seen <= record
  }

  /// The batch has its answer.
  /// - Returns: whether the model is to be loaded.
  mutating func endAppend() -> Bool {
    sent = nil
    defer { isLoadDue = false }
    return isLoadDue
  }

  /// The tail shows a record while the model is loaded.
  mutating func see(_ record: UInt64) { seen = max(seen, record) }
}

extension HubMachine {
  /// The batches leave for the store. An answer is that of the batch which was sent last.
  mutating func rememberSent(_ batches: [Batch]) {
    for batch in batches {
      if let index = hub.models.index(named: batch.model) { hub.models[index].batch.shared.sent = batch }
    }
  }

  /// Loads a model that a join has just made here, or the stored one of an ephemeral model.
  mutating func loadNew(_ index: Int, _ output: inout HubOutput) {
    let stored = hub.models[index].ephemeral == nil ? index : hub.models[index].counterpart
    if let stored, hub.models[stored].position.tail == nil { load(stored, &output) }
  }

  /// Loads a model from the store, now or after the batch under way. Until it is here nothing is decided in it.
  mutating func load(_ index: Int, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard model.batch.shared.beginLoading() else { return }
    model.batch.isAppending = true
    output.reload.append(model.id)
  }

  /// The store has a model as its head says.
  mutating func loaded(
    _ head: SharedHead, _ result: Result<StoredModel?, StoreError>, _ time: HubTime, _ output: inout HubOutput
  ) {
    shared?.loaded(head.model)
    guard let index = hub.models.index(named: head.model), hub.models[index].batch.shared.isLoading else { return }
    let model = hub.models[index]
    let isAll = model.batch.shared.endLoading(at: head.record)
    hub.decideAgain(index)
    do throws(StoreError) {
      if let stored = try result.get() {
        try apply(stored, index, time, &output)
        model.position.tail = SharedModelTail(head)
        hub.sessions.writersBefore.formUnion(model.writers.records.lazy.map(\.origin.tag))
      } else {
        clear(index, at: head.record, head.version, time, &output)
        if !hub.models.isRemoved(index) { model.position.tail = SharedModelTail(head) }
      }
    } catch {
      output.failure = error
      return
    }
    guard !hub.models.isRemoved(index) else { return }
    hub.models.touch(index)
    if !isAll { return load(index, &output) }
    reportAhead(of: model, &output)
    goOn(index, time, &output)
  }

  /// The log has nothing of a model: it never was, or it was removed. Sessions that have joined it go on in it.
  mutating func clear(
    _ index: Int, at record: UInt64, _ version: Version, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    if model.members.sessions.isEmpty, model.batch.waiting.isEmpty, model.counterpart == nil, record > 0 {
      return remove(index)
    }
    let (hadRecords, tail) = (model.position.hasRecords, model.position.tail)
    // Whoever removed it had seen that every writer has confirmed its outcomes.
    model.forget(Set(model.writers.records.lazy.map(\.origin.tag)))
    model.fields = FieldSlots()
    model.rules = DescriptionRules()
    model.batch.lists.forget()
    model.members.hasFirstCommit = false
    model.position = LogPosition(LogFloor(epoch: hub.epoch, version: version, record: record))
    model.position.tail = tail
    model.forgetRecent()
    expiries.update(index, model, now: time.monotonic)
    if hadRecords { publisher.endSessions(in: index, &hub, &output) }
  }

  /// A join by a peer that has a later version than this hub: the peer was at another hub. This one loads the model
  /// before it answers.
  mutating func loadIfBehind(_ join: Join, _ index: Int, _ output: inout HubOutput) {
    if join.isAhead(of: hub.models[index], in: hub.epoch) { load(index, &output) }
  }

  /// A peer that is ahead of what the log itself has proves that the engine has lost commits, or lies.
  private mutating func reportAhead(of model: ModelLog, _ output: inout HubOutput) {
    for id in model.members.waitingJoins {
      guard let join = hub.sessions.join(of: id, in: model.topic)?.open, join.epoch == hub.epoch,
        join.version > model.version, let peer = hub.sessions[id]?.identity
      else { continue }
      hub.counters.peersAhead += 1
      output.notices.append(
        .ahead(peer: peer.fullName, model: model.id, version: join.version, here: model.version))
    }
  }
}

extension HubContext {
  /// Undoes the pending batch, and has its proposals decided again on what another hub has stored meanwhile.
  mutating func decideAgain(_ index: Int) {
    let model = models[index]
    let proposals = model.batch.pending.proposals
    model.batch.isAppending = false
    model.dropBatch()
    model.forgetWriters()
    model.batch.waiting.insert(contentsOf: proposals, at: 0)
  }
}
