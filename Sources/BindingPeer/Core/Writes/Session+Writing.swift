package import BindingProtocol

extension Session {
  /// Overlays the model with a proposal immediately; the proposal is sent when it can be.
  /// - Throws: `WriteError`; then nothing of it shows and nothing is sent.
  package mutating func write(
    _ proposal: Proposal, rules: [String: RuledWrite] = [:], offline: [String: OfflineRule] = [:], to id: String,
    now: UInt64, into output: inout PeerOutput
  ) throws(WriteError) -> WriteID {
    if case .stopped(let reason) = phase { throw .stopped(reason) }
    guard let index = models.index(of: id) else { throw .notJoined(model: id) }
    guard models[at: index].outbox.hasNumbers else { throw .numbersUsedUp }
    let bytes = try check(proposal, ofModelAt: index)
    let plainRules = rules.isEmpty ? [:] : rules.mapValues(\.rule)
    let replaced = models[at: index].replaced(by: proposal, rules: plainRules)
    let freed = replaced.reduce(0) { $0 + $1.bytes }
    guard outboxWrites - replaced.count < options.maxOutboxWrites, outboxBytes - freed + bytes <= options.maxOutboxBytes
    else { throw .outboxFull(writes: outboxWrites, bytes: outboxBytes) }
    outboxWrites += 1 - replaced.count
    outboxBytes += bytes - freed
    for earlier in replaced {
      settled.append((earlier.id, id, .superseded))
      release(earlier.id, at: index)
    }
    lastWrite += 1
    let write = WriteID(rawValue: lastWrite)
    var pending = models[at: index].pending(write, proposal, bytes: bytes, at: now)
    pending.rules = plainRules
    pending.offline = offline
    for (field, ruled) in rules {
      pending.stand(
        field, on: ruled, inPlaceOf: replaced, over: replaced.isEmpty ? nil : models[at: index].shown(field),
        isOwn: models[at: index].outbox.isPending(field))
    }
    if keeps(modelAt: index) { output.add(.keep(.written(pending.kept(in: id)))) }
    models[at: index].addToOverlay(pending)
    models[at: index].record(.local)
    models[at: index].localHops = max(models[at: index].localHops, proposal.hops)
    return write
  }

  /// Withdraws a write. One never sent ends as expired; for one already sent, the hub is asked not to apply it.
  /// Returns false if it has an outcome or is unknown.
  package mutating func withdraw(_ write: WriteID, now: UInt64, into output: inout PeerOutput) -> Bool {
    for index in models.indices {
      guard let pending = models[at: index].outbox[write], pending.isUnacknowledged, pending.carried == nil else {
        continue
      }
      if pending.number == nil {
        end(write, as: .expired, at: index)
      } else {
        models[at: index].outbox.update(write) {
          $0.isVoid = true
          $0.needsSending = true
        }
        if keeps(modelAt: index) { output.add(.keep(.withdrawn(write))) }
      }
      return true
    }
    return false
  }

  /// Records the outcome of a write that is still in its outbox.
  mutating func settle(_ write: WriteID, as outcome: Outcome, at index: Int) {
    settled.append((write, models[at: index].id, outcome))
    guard models[at: index].isEphemeral, let pending = models[at: index].outbox[write] else { return }
    models[at: index].claim(pending, after: outcome, as: identity.tag)
  }

  /// Removes a write from its outbox.
  mutating func release(_ write: WriteID, at index: Int) {
    models[at: index].touch(models[at: index].outbox.remove(write))
  }

  // MARK: Outcomes

  mutating func handle(_ outcomes: Outcomes, now: UInt64, _ output: inout PeerOutput) {
    guard outcomes.session == sessionID else {
      counters.otherSession += 1
      return
    }
    for outcome in outcomes.outcomes {
      guard let id = topics[outcome.topic], let index = models.index(of: id) else { continue }
      let epoch = modelEpoch(of: id, ifStored: outcomes.epoch)
      switch outcome.rest {
      case .committed(let count, let version):
        for offset in 0..<UInt32(count) {
          acknowledge(outcome.number + offset, at: version + Version(offset), epoch, at: index)
        }
      case .unchanged: keep(outcome.number, at: index)
      case .refused(let refusal): end(outcome.number, as: .refused(refusal), at: index)
      case .conflict(let conflict):
        if let write = models[at: index].outbox.id(of: outcome.number),
          models[at: index].outbox.isUnacknowledged(write),
          triesAgain(write, after: conflict, epoch, at: index, &output)
        {
          break
        }
        end(outcome.number, as: .conflict(conflict), at: index)
      case .expired: end(outcome.number, as: .expired, at: index)
      case .unknown:
        if let write = models[at: index].outbox.id(of: outcome.number),
          triesAgain(afterUnknown: write, at: index, &output)
        {
          break
        }
        end(outcome.number, as: .unknown("the hub no longer knows what became of it"), at: index)
      case .retryLater(let code, let pause):
        counters.retries += 1
        models[at: index].sendsFrom = max(models[at: index].sendsFrom, now + UInt64(pause))
        if let write = models[at: index].outbox.id(of: outcome.number) {
          retries.append((write, id, code))
          sendAgain(from: outcome.number, at: index)
        }
      case .expected(let next):
        sendAgain(from: next, at: index)
        if models[at: index].outbox.id(of: next) == nil, models[at: index].outbox.inFlight > 0,
          models[at: index].isCurrent
        {
          rejoin(id, now: now, &output)
        }
      }
    }
  }

  private mutating func sendAgain(from number: ProposalNumber, at index: Int) {
    for write in models[at: index].outbox.order {
      models[at: index].outbox.update(write) { if let mine = $0.number, mine >= number { $0.needsSending = true } }
    }
  }

  /// R6: an acknowledged write leaves the overlay only when the committed values hold it.
  private mutating func acknowledge(
    _ number: ProposalNumber, at version: Version, _ epoch: Epoch, at index: Int
  ) {
    guard let write = models[at: index].outbox.id(of: number), models[at: index].outbox.isUnacknowledged(write) else {
      return
    }
    settle(write, as: .committed(epoch: epoch, version: version), at: index)
    if models[at: index].holds(version, epoch) {
      release(write, at: index)
    } else {
      models[at: index].outbox.decide(write, at: version)
    }
    models[at: index].record(.outcome)
  }

  /// Ends a write as `unchanged`. If its merge would still change the values here, the hub compared it with newer
  /// ones: it stays in the overlay until the next commit, so that the value does not go back and forth.
  private mutating func keep(_ number: ProposalNumber, at index: Int) {
    guard let write = models[at: index].outbox.id(of: number), models[at: index].outbox.isUnacknowledged(write),
      models[at: index].lacksMerge(write)
    else { return end(number, as: .unchanged, at: index) }
    settle(write, as: .unchanged, at: index)
    let version = models[at: index].replica.version
    models[at: index].outbox.decide(write, at: models[at: index].startsOver ? version : version + 1)
    models[at: index].record(.outcome)
  }

  private mutating func end(_ number: ProposalNumber, as outcome: Outcome, at index: Int) {
    guard let write = models[at: index].outbox.id(of: number), models[at: index].outbox.isUnacknowledged(write) else {
      return
    }
    end(write, as: outcome, at: index)
  }

  /// Settles the write and removes it from the overlay.
  mutating func end(_ write: WriteID, as outcome: Outcome, at index: Int) {
    var outcome = outcome
    if models[at: index].outbox[write]?.isSecondTry == true {
      outcome = .unknown("the hub does not know what became of it, and sent again it ended so: \(outcome)")
    }
    settle(write, as: outcome, at: index)
    release(write, at: index)
    models[at: index].record(.outcome)
  }

  // MARK: Ending a drain

  /// Emits what has changed, one update per model, and sends what can be sent.
  package mutating func finishDrain(now: UInt64, into output: inout PeerOutput) {
    emit(&output)
    if !barriers.isEmpty { askBarriers(now: now, &output) }
    guard phase == .live else { return }
    if owesAskHeads {
      owesAskHeads = false
      send(.askHeads, now: now, &output)
    }
    send(now: now, &output)
    // A write that could not be sent as it was has ended there.
    if !settled.isEmpty { emit(&output) }
    if !reports.isEmpty { report(now: now, &output) }
    if owesAlive {
      owesAlive = false
      send(.alive(Alive(heartbeat: lastHeartbeat, entries: aliveEntries())), now: now, &output)
    }
    for id in ids(where: { models[at: $0].isLeft && models[at: $0].outbox.unacknowledged == 0 }) { forget(id, &output) }
  }

  /// Emits what the last write to a model has changed, and assigns its number if it can be sent now, so that no later
  /// write supersedes it. Sends nothing: the next `finishDrain` does.
  /// - Returns: whether `finishDrain` may have something to send.
  package mutating func finishWriting(to id: String, now: UInt64, into output: inout PeerOutput) -> Bool {
    emit(&output)
    guard phase == .live, let index = models.index(of: id), maySend(at: index, now),
      let write = models[at: index].outbox.lastUnnumbered
    else { return phase == .live }
    var inFlight = writesInFlight
    _ = numberIfReady(write, &inFlight, now: now, at: index, &output)
    if !settled.isEmpty { emit(&output) }
    return true
  }

  private mutating func update(at index: Int, _ output: inout PeerOutput) {
    if let update = models[at: index].takeUpdate() { output.add(.update(update)) }
  }

  private mutating func emit(_ output: inout PeerOutput) {
    // In one drain few of the joined models change, mostly one: only those are sorted.
    if let first = models.indices.first(where: { models[at: $0].cause != nil }) {
      if models.indices.last(where: { models[at: $0].cause != nil }) == first {
        update(at: first, &output)
      } else {
        for id in ids(where: { models[at: $0].cause != nil }) {
          if let index = models.index(of: id) { update(at: index, &output) }
        }
      }
    }
    recordHubAndOutcomes(&output)
    for (id, model, outcome) in settled { output.add(.settled(id, model: model, outcome)) }
    for (id, model, code) in retries { output.add(.retryLater(id, model: model, code)) }
    settled.removeAll(keepingCapacity: true)
    settledRecorded = 0
    outboxWrites = models.indices.reduce(0) { $0 + models[at: $1].outbox.count }
    outboxBytes = models.indices.reduce(0) { $0 + models[at: $1].outbox.bytes }
    retries.removeAll(keepingCapacity: true)
  }
}
