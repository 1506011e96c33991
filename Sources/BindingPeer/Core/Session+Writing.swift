public import BindingWire

extension Session {
  /// Lays a proposal over the model at once; it is sent when it can be.
  /// - Throws: `WriteError`; then nothing of it shows and nothing is sent.
  public mutating func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], offline: [String: OfflineRule] = [:], to id: String,
    now: UInt64, into output: inout PeerOutput
  ) throws(WriteError) -> WriteID {
    if case .stopped(let reason) = phase { throw .stopped(reason) }
    guard let place = models.place(of: id) else { throw .notJoined(model: id) }
    guard models[at: place].outbox.hasNumbers else { throw .numbersUsedUp }
    let bytes = try check(proposal, ofModelAt: place)
    let replacedWrites = models[at: place].outbox.replaced(
      by: proposal, rules: rules.mapValues(\.rule))
    let freed = replacedWrites.reduce(0) { $0 + (models[at: place].outbox[$1]?.bytes ?? 0) }
    guard outboxWrites - replacedWrites.count < options.maxOutboxWrites,
      outboxBytes - freed + bytes <= options.maxOutboxBytes
    else { throw .outboxFull(writes: outboxWrites, bytes: outboxBytes) }
    guard var model = lend(id) else { throw .notJoined(model: id) }
    outboxWrites -= replacedWrites.count
    outboxBytes -= freed
    let replacedPending = replacedWrites.compactMap { model.outbox[$0] }
    for replaced in replacedWrites {
      settled.append((replaced, id, .superseded))
      release(replaced, in: &model)
    }
    lastWrite += 1
    let write = WriteID(rawValue: lastWrite)
    var overlay: [FieldOperation] = []
    for operation in proposal.operations {
      if operation.verb == .clear {
        overlay += model.replica.fields.map { FieldOperation(.delete, $0.name) }
      } else {
        overlay.append(operation)
      }
    }
    var seen: [String: Pending.Seen] = [:]
    for operation in overlay {
      let place = model.replica.placeMade(for: operation.field)
      let field = model.replica.fields[place]
      seen[operation.field] = .init(value: .value(field.value), epoch: model.replica.epoch, version: field.version)
    }
    var pending = Pending(
      id: write, proposal: proposal, overlay: overlay, bytes: bytes, writtenAt: now, seen: seen,
      rules: rules.mapValues(\.rule), offline: offline)
    for (field, ruled) in rules {
      pending.stand(field, on: ruled, inPlaceOf: replacedPending, isOwn: model.outbox.isPending(field))
    }
    model.outbox.append(pending)
    #if MUTANTS
      let isKept = keeps(model) && !Mutant.isOn(.writeUnkept)
    #else
      let isKept = keeps(model)
    #endif
    if isKept { output.add(.keep(.written(pending.kept(in: id)))) }
    if model.isEphemeral { model.claim(proposal) }
    outboxWrites += 1
    outboxBytes += bytes
    model.touch(overlay.map(\.field))
    model.note(.local)
    model.localHops = max(model.localHops, proposal.hops)
    giveBack(&model)
    return write
  }

  /// Gives a write up: never sent, it ends as expired; sent already, the hub is asked not to carry it out any more.
  public mutating func withdraw(_ write: WriteID, now: UInt64, into output: inout PeerOutput) -> Bool {
    for id in models.keys {
      guard var model = models[id], let pending = model.outbox[write], pending.isUndecided, pending.carried == nil
      else { continue }
      if pending.number == nil {
        end(write, as: .expired, in: &model)
      } else {
        model.outbox.update(write) {
          $0.isVoid = true
          $0.needsSending = true
        }
        if keeps(model) { output.add(.keep(.withdrawn(write))) }
      }
      models[id] = model
      return true
    }
    return false
  }

  /// Takes a write out of its outbox.
  mutating func release(_ write: WriteID, in model: inout PeerModel) {
    model.touch(model.outbox.remove(write))
  }

  // MARK: Outcomes

  mutating func take(_ outcomes: Outcomes, now: UInt64, _ output: inout PeerOutput) {
    guard outcomes.session == sessionID else {
      counters.otherSession += 1
      return
    }
    for outcome in outcomes.outcomes {
      guard let id = topics[outcome.topic] else { continue }
      let epoch = life(of: id, in: outcomes.epoch)
      guard var model = lend(id) else { continue }
      switch outcome.rest {
      case .committed(let count, let version):
        for offset in 0..<UInt32(count) {
          acknowledge(outcome.number + offset, at: version + Version(offset), epoch, in: &model)
        }
      case .kept: end(outcome.number, as: .kept, in: &model)
      case .refused(let refusal): end(outcome.number, as: .refused(refusal), in: &model)
      case .conflict(let conflict):
        if let write = model.outbox.id(of: outcome.number), model.outbox.isUndecided(write),
          triesAgain(write, after: conflict, epoch, in: &model, &output)
        {
          break
        }
        end(outcome.number, as: .conflict(conflict), in: &model)
      case .expired: end(outcome.number, as: .expired, in: &model)
      case .unknown: end(outcome.number, as: .unknown("the hub no longer knows what became of it"), in: &model)
      case .hold(let code, let pause):
        counters.holds += 1
        model.sendsFrom = max(model.sendsFrom, now + UInt64(pause))
        if let write = model.outbox.id(of: outcome.number) {
          holds.append((write, id, code))
          sendAgain(from: outcome.number, in: &model)
        }
      case .expected(let next):
        sendAgain(from: next, in: &model)
        if model.outbox.id(of: next) == nil, model.outbox.inFlight > 0, model.isCurrent {
          giveBack(&model)
          rejoin(id, now: now, &output)
          continue
        }
      }
      giveBack(&model)
    }
  }

  private func sendAgain(from number: ProposalNumber, in model: inout PeerModel) {
    for write in model.outbox.order {
      model.outbox.update(write) { if let mine = $0.number, mine >= number { $0.needsSending = true } }
    }
  }

  /// R6: an acknowledged write leaves the overlay only when the committed values hold it.
  private mutating func acknowledge(
    _ number: ProposalNumber, at version: Version, _ epoch: Epoch, in model: inout PeerModel
  ) {
    guard let write = model.outbox.id(of: number), model.outbox.isUndecided(write) else { return }
    settled.append((write, model.id, .committed(epoch: epoch, version: version)))
    #if MUTANTS
      if Mutant.isOn(.dropAcknowledged) { release(write, in: &model) }
    #endif
    if epoch == model.replica.epoch && version <= model.replica.version {
      release(write, in: &model)
    } else {
      model.outbox.decide(write, at: version)
    }
    model.note(.outcome)
  }

  private mutating func end(_ number: ProposalNumber, as outcome: Outcome, in model: inout PeerModel) {
    guard let write = model.outbox.id(of: number), model.outbox.isUndecided(write) else { return }
    end(write, as: outcome, in: &model)
  }

  /// The write has its outcome, and no longer lies over the committed values.
  mutating func end(_ write: WriteID, as outcome: Outcome, in model: inout PeerModel) {
    let undone = model.isEphemeral && outcome != .kept ? model.outbox[write] : nil
    settled.append((write, model.id, outcome))
    release(write, in: &model)
    if let undone { model.claimBelow(undone, as: identity.tag) }
    model.note(.outcome)
  }

  // MARK: Ending a drain

  /// Tells what has changed, one reveal a model, and sends what can be sent.
  public mutating func finishDrain(now: UInt64, into output: inout PeerOutput) {
    tell(&output)
    if !barriers.isEmpty { askBarriers(now: now, &output) }
    guard phase == .live else { return }
    if owesAskHeads {
      owesAskHeads = false
      say(.askHeads, now: now, &output)
    }
    send(now: now, &output)
    // What could not be sent as it was has ended there.
    if !settled.isEmpty { tell(&output) }
    if !owingReports.isEmpty { report(now: now, &output) }
    if owesAlive {
      owesAlive = false
      say(.alive(Alive(beat: lastBeat, entries: aliveEntries())), now: now, &output)
    }
    for id in ids(where: { models[at: $0].isLeft && models[at: $0].outbox.undecided == 0 }) { forget(id, &output) }
  }

  private mutating func tell(_ output: inout PeerOutput) {
    // Few of the models that a peer has joined change in one drain: those are put in order, not all.
    for id in ids(where: { models[at: $0].cause != nil }) {
      guard let place = models.place(of: id), let reveal = models[at: place].takeReveal() else { continue }
      output.add(.reveal(reveal))
    }
    noteHubAndOutcomes(&output)
    for (id, model, outcome) in settled { output.add(.settled(id, model: model, outcome)) }
    for (id, model, code) in holds { output.add(.hold(id, model: model, code)) }
    settled.removeAll(keepingCapacity: true)
    settledNoted = 0
    outboxWrites = models.indices.reduce(0) { $0 + models[at: $1].outbox.count }
    outboxBytes = models.indices.reduce(0) { $0 + models[at: $1].outbox.bytes }
    holds.removeAll(keepingCapacity: true)
  }

  mutating func aliveEntries() -> [AliveEntry] {
    var entries: [AliveEntry] = []
    if isKeepingBehind { return entries }
    for id in models.keys.sorted() {
      guard let place = models.place(of: id), let topic = models[at: place].topic, models[at: place].isCurrent else {
        continue
      }
      let (confirmed, version) = (models[at: place].outbox.lowestUndecided - 1, models[at: place].replica.version)
      guard confirmed != models[at: place].toldConfirmed || version != models[at: place].toldApplied else { continue }
      models[at: place].toldConfirmed = confirmed
      models[at: place].toldApplied = version
      entries.append(AliveEntry(topic: topic, confirmed: confirmed, applied: version))
      if entries.count == Int(UInt16.max) { break }
    }
    return entries
  }

  /// Sends what is new, numbering it now (R3), and what has to be sent again; many proposals a frame.
  private mutating func send(now: UInt64, _ output: inout PeerOutput) {
    var inFlight = models.indices.reduce(0) { $0 + models[at: $1].outbox.inFlight }
    var batch: [NumberedProposal] = []
    var bytes = 0
    let due = ids { place in
      !models[at: place].outbox.isEmpty && models[at: place].isCurrent && models[at: place].sendsFrom <= now
        && models[at: place].outbox.carried.isEmpty
    }
    for id in due {
      guard let place = models.place(of: id), let topic = models[at: place].topic else { continue }
      let writes = models[at: place].outbox.toSend
      guard !writes.isEmpty, var model = lend(id) else {
        models[at: place].sendsFrom = 0
        continue
      }
      writes: for write in writes {
        let earlier = model.outbox.number(of: write)
        if earlier == nil {
          guard inFlight < limits.maxUndecided else { break }
          switch prepare(write, now: now, in: &model, &output) {
          case .ready: break
          case .ended: continue
          // What comes after it waits too: a peer's writes to a model arrive in their order.
          case .waits: break writes
          }
          inFlight += 1
        } else {
          counters.resent += 1
        }
        let number = earlier ?? number(write, in: &model, &output)
        model.outbox.update(write) {
          $0.needsSending = false
          $0.sentAtBeat = beatsSeen
        }
        guard let sent = model.outbox[write] else { continue }
        if bytes + sent.bytes > limits.maxProposalBytes || batch.count == 4_096 {
          say(.propose(batch), now: now, &output)
          batch.removeAll()
          bytes = 0
        }
        batch.append(numbered(sent, number, topic, confirmed: model.outbox.lowestUndecided - 1, in: model))
        bytes += sent.bytes
      }
      model.sendsFrom = 0
      giveBack(&model)
    }
    if !batch.isEmpty { say(.propose(batch), now: now, &output) }
  }

  private func numbered(
    _ write: Pending, _ number: ProposalNumber, _ topic: Topic, confirmed: ProposalNumber, in model: PeerModel
  ) -> NumberedProposal {
    NumberedProposal(
      topic: topic, number: number, confirmed: confirmed, isVoid: write.isVoid, hops: write.proposal.hops,
      metadata: write.proposal.metadata,
      conditions: write.proposal.conditions.map {
        WireCondition(epoch: $0.epoch, version: $0.version, field: .name($0.field))
      },
      operations: write.proposal.operations.map {
        WireOperation(
          verb: $0.verb,
          field: $0.verb == .clear ? .id(0) : model.replica.id(of: $0.field).map { .id($0) } ?? .name($0.field),
          value: $0.value)
      })
  }
}
