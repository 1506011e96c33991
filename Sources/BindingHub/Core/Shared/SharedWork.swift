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
  /// Whether it is to be loaded once the batch, or the load under way, has its answer.
  private(set) var isLoadDue = false
  /// Where its proposals are decided.
  var home = ModelHome()
  /// Which writers its records have let every hub forget.
  var forgotten = ForgottenWriters()
  /// Proposals that another hub has passed on and whose numbers are not their writers' next, in order.
  private var early: [WaitingProposal] = []
  private static let mostEarly = 1_024
  /// What the tail has shown while the model is being loaded, in order.
  private var kept: [SharedRecord] = []
  /// Whether the model waits to be let go, unless it is used again.
  var isUnused = false
  /// The most records that are kept; past it the model is loaded again.
  private static let mostKept = 256

  /// How proposals are decided where a batch had more bytes than the store takes.
  enum Pace {
    /// As many as there are, in one batch.
    case together
    /// One a batch.
    case oneByOne
    /// The next one is refused: it alone had too many bytes.
    case refuseNext
  }

  /// Keeps a proposal for which it is too early.
  mutating func keepEarly(_ proposal: WaitingProposal) {
    if early.count < SharedWork.mostEarly { early.append(proposal) }
  }

  /// Hands over what was too early.
  mutating func takeEarly() -> [WaitingProposal] {
    guard !early.isEmpty else { return [] }
    defer { early.removeAll() }
    return early
  }

  /// Begins to load, at once, or after the batch or the load under way: what that finds may be older than this call.
  /// - Returns: whether at once.
  mutating func beginLoading() -> Bool {
    isLoadDue = sent != nil || isLoading
    guard !isLoadDue else { return false }
    isLoading = true
    return true
  }

  /// The model was loaded.
  /// - Returns: what the tail has shown meanwhile; nil: the model is to be loaded again.
  mutating func endLoading() -> [SharedRecord]? {
    isLoading = false
    defer {
      isLoadDue = false
      kept.removeAll()
    }
    return isLoadDue ? nil : kept
  }

  /// The batch has its answer.
  /// - Returns: whether the model is to be loaded.
  mutating func endAppend() -> Bool {
    sent = nil
    defer { isLoadDue = false }
    return isLoadDue
  }

  /// The tail shows a record while the model is being loaded.
  mutating func keep(_ record: SharedRecord) {
    if kept.count < SharedWork.mostKept { kept.append(record) } else { isLoadDue = true }
  }
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
    let kept = model.batch.shared.endLoading()
    hub.decideAgain(index)
    do throws(StoreError) {
      if let stored = try result.get() {
        try apply(stored, index, time, &output)
        if model.position.tail == nil { unmake(model) }
        model.position.tail = SharedModelTail(head)
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
    guard let kept else { return load(index, &output) }
    follow(kept, time, &output)
    guard hub.models.index(named: head.model) == index else { return }
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
    empty(index, at: record, version, time, &output)
  }

  /// Where records before this one are neither here nor folded, the model was removed in them, and made again.
  mutating func missRemoval(of index: Int, before batch: Batch, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard batch.record > model.position.record + 1 else { return }
    if model.position.tail == nil {
      model.missRecords(to: batch.record - 1)
    } else {
      empty(index, at: batch.record - 1, batch.previous, time, &output)
    }
  }

  /// Makes a model as it is before its first commit.
  private mutating func empty(
    _ index: Int, at record: UInt64, _ version: Version, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    let (hadRecords, tail) = (model.position.hasRecords, model.position.tail)
    let hasMissed = tail != nil && record > model.position.record
    // Whoever removed it had seen that every writer has confirmed its outcomes.
    model.forget(Set(model.writers.records.lazy.map(\.origin.tag)))
    model.fields = FieldSlots()
    model.rules = DescriptionRules()
    model.batch.lists.forget()
    model.position = LogPosition(LogFloor(epoch: hub.epoch, version: version, record: record))
    model.position.tail = tail
    model.approval.recorded = nil
    model.forgetRecent()
    model.missRecords(to: record)
    expiries.update(index, model, now: time.monotonic)
    if hadRecords {
      publisher.endSessions(in: index, &hub, &output)
    } else if hasMissed {
      SharedWriters.endUnknown(in: index, &hub)
    }
  }

  /// A join by a peer that has a later version than this hub, or has seen more of its own numbers decided, for it was
  /// at another hub; or by one that wants the latest: this hub loads the model before it answers. Only numbers that the
  /// log itself does not have are then raised.
  mutating func loadIfBehind(
    _ join: Join, _ session: SessionID, of tag: Tag, _ index: Int, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    guard model.ephemeral == nil else { return }
    let isBehindNumbers = model.writers.lastStored(of: tag) < join.decided
    if isBehindNumbers || join.isAhead(of: model, in: hub.epoch) {
      hub.counters.joinsAhead += 1
    } else if hub.sessions[session]?.capabilities.wantsLatest != true {
      return
    }
    load(index, &output)
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
