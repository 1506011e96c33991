import BindingProtocol

/// The sending part of a drain.
extension Session {
  mutating func aliveEntries() -> [AliveEntry] {
    var entries: [AliveEntry] = []
    if isJournalLagging { return entries }
    for id in ids(where: { models[at: $0].topic != nil && models[at: $0].isCurrent }) {
      guard let index = models.index(of: id), let topic = models[at: index].topic else { continue }
      let (confirmed, version) = (models[at: index].outbox.lowestUnacknowledged - 1, models[at: index].replica.version)
      guard confirmed != models[at: index].reportedConfirmed || version != models[at: index].reportedApplied else {
        continue
      }
      models[at: index].reportedConfirmed = confirmed
      models[at: index].reportedApplied = version
      entries.append(AliveEntry(topic: topic, confirmed: confirmed, applied: version))
      if entries.count == Int(UInt16.max) { break }
    }
    return entries
  }

  /// Sends new writes, which get their numbers now (R3), and those to resend; many proposals per frame.
  mutating func send(now: UInt64, _ output: inout PeerOutput) {
    var inFlight = writesInFlight
    var batch: ProposalsWriter?
    var bytes = 0
    let due = ids { index in !models[at: index].outbox.isEmpty && maySend(at: index, now) }
    for id in due {
      guard let index = models.index(of: id), let topic = models[at: index].topic else { continue }
      guard models[at: index].outbox.mayBeDue else {
        models[at: index].sendsFrom = 0
        continue
      }
      writes: for write in models[at: index].outbox.toSend(room: limits.maxUnacknowledged) {
        switch numberIfReady(write, &inFlight, now: now, at: index, &output) {
        case .ready: break
        case .ended: continue
        // Later writes wait too: a peer's writes to a model arrive in their order.
        case .waits: break writes
        }
        var size = 0
        models[at: index].outbox.update(write) {
          if $0.wasSent { counters.resent += 1 }
          $0.wasSent = true
          $0.needsSending = false
          $0.sentAtHeartbeat = heartbeatsSeen
          size = $0.bytes
        }
        if let full = batch, bytes + size > limits.maxProposalBytes || full.count == 4_096 {
          send(full, now: now, &output)
          batch = nil
        }
        if batch == nil {
          batch = ProposalsWriter(session: sessionID, start: start)
          bytes = 0
        }
        models[at: index].propose(write, topic, in: earlierThan(at: index), to: &batch)
        bytes += size
      }
      models[at: index].sendsFrom = 0
    }
    if let batch, batch.count > 0 { send(batch, now: now, &output) }
  }

  private mutating func send(_ batch: consuming ProposalsWriter, now: UInt64, _ output: inout PeerOutput) {
    counters.framesSent += 1
    lastSentAt = now
    output.add(.send(batch.finish()))
  }

  /// The number of writes that have a number and no outcome, over all models.
  var writesInFlight: Int { models.indices.reduce(0) { $0 + models[at: $1].outbox.inFlight } }

  /// The current epoch: a proposal numbered in another one may have been applied without the hub knowing it. nil: the
  /// hub need not be told.
  private func earlierThan(at index: Int) -> Epoch? {
    hubCan(Capability.recovery) && !models[at: index].isEphemeral ? epoch : nil
  }

  func maySend(at index: Int, _ now: UInt64) -> Bool {
    models[at: index].isCurrent && models[at: index].sendsFrom <= now && models[at: index].outbox.carried.isEmpty
  }

  /// Assigns a number to a write (R3) unless it has one, must wait, or has ended.
  mutating func numberIfReady(
    _ write: WriteID, _ inFlight: inout Int, now: UInt64, at index: Int, _ output: inout PeerOutput
  ) -> Preparation {
    guard models[at: index].outbox.number(of: write) == nil else { return .ready }
    guard inFlight < limits.maxUnacknowledged else { return .waits }
    let preparation = prepare(write, now: now, at: index, &output)
    guard preparation == .ready else { return preparation }
    if inFlight == 0 || firstNumbered == nil { firstNumbered = (now, hubNow) }
    inFlight += 1
    _ = number(write, at: index, &output)
    return .ready
  }
}

extension PeerModel {
  /// Encodes a numbered write into a frame. It is `mutating`, though it changes nothing, so that the model is
  /// accessed in place and not copied.
  fileprivate mutating func propose(
    _ write: WriteID, _ topic: Topic, in epoch: Epoch?, to batch: inout ProposalsWriter?
  ) {
    guard let index = outbox.pending.index(of: write), let number = outbox.pending[at: index].number else { return }
    let (proposal, isVoid) = (outbox.pending[at: index].proposal, outbox.pending[at: index].isVoid)
    let isEarlier = epoch.map { $0 != outbox.pending[at: index].numberedIn } ?? false
    batch?.begin(
      topic, number, confirmed: outbox.lowestUnacknowledged - 1, isVoid: isVoid, isEarlier: isEarlier,
      hops: proposal.hops,
      metadata: proposal.metadata, conditions: proposal.conditions.count)
    for condition in proposal.conditions {
      batch?.add(WireCondition(epoch: condition.epoch, version: condition.version, field: .name(condition.field)))
    }
    batch?.beginOperations(proposal.operations.count)
    for operation in proposal.operations {
      let field = operation.verb == .clear ? 0 : replica.id(of: operation.field)
      batch?.add(operation.verb, field.map { .id($0) } ?? .name(operation.field), operation.value)
    }
  }
}
