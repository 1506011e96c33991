import BindingProtocol

/// What leaves with a drain.
extension Session {
  mutating func aliveEntries() -> [AliveEntry] {
    var entries: [AliveEntry] = []
    if isKeepingBehind { return entries }
    for id in ids(where: { models[at: $0].topic != nil && models[at: $0].isCurrent }) {
      guard let place = models.place(of: id), let topic = models[at: place].topic else { continue }
      let (confirmed, version) = (models[at: place].outbox.lowestUnacknowledged - 1, models[at: place].replica.version)
      guard confirmed != models[at: place].toldConfirmed || version != models[at: place].toldApplied else { continue }
      models[at: place].toldConfirmed = confirmed
      models[at: place].toldApplied = version
      entries.append(AliveEntry(topic: topic, confirmed: confirmed, applied: version))
      if entries.count == Int(UInt16.max) { break }
    }
    return entries
  }

  /// Sends what is new, numbering it now (R3), and what has to be sent again; many proposals a frame.
  mutating func send(now: UInt64, _ output: inout PeerOutput) {
    var inFlight = writesInFlight
    var batch: ProposalsWriter?
    var bytes = 0
    let due = ids { place in !models[at: place].outbox.isEmpty && maySend(at: place, now) }
    for id in due {
      guard let place = models.place(of: id), let topic = models[at: place].topic else { continue }
      guard models[at: place].outbox.mayBeDue else {
        models[at: place].sendsFrom = 0
        continue
      }
      writes: for write in models[at: place].outbox.toSend(room: limits.maxUnacknowledged) {
        switch numberIfReady(write, &inFlight, now: now, at: place, &output) {
        case .ready: break
        case .ended: continue
        // What comes after it waits too: a peer's writes to a model arrive in their order.
        case .waits: break writes
        }
        var size = 0
        models[at: place].outbox.update(write) {
          if $0.wasSent { counters.resent += 1 }
          $0.wasSent = true
          $0.needsSending = false
          $0.sentAtHeartbeat = heartbeatsSeen
          size = $0.bytes
        }
        if let full = batch, bytes + size > limits.maxProposalBytes || full.count == 4_096 {
          say(full, now: now, &output)
          batch = nil
        }
        if batch == nil {
          batch = ProposalsWriter(session: sessionID, start: start)
          bytes = 0
        }
        models[at: place].propose(write, topic, in: earlierThan(at: place), to: &batch)
        bytes += size
      }
      models[at: place].sendsFrom = 0
    }
    if let batch, batch.count > 0 { say(batch, now: now, &output) }
  }

  private mutating func say(_ batch: consuming ProposalsWriter, now: UInt64, _ output: inout PeerOutput) {
    counters.framesSent += 1
    lastSaid = now
    output.add(.send(batch.finish()))
  }

  /// Writes that have a number and no outcome, of all models.
  var writesInFlight: Int { models.indices.reduce(0) { $0 + models[at: $1].outbox.inFlight } }

  /// The life of the log before which a proposal may have been carried out without being known to the hub; nil: it
  /// need not be told.
  private func earlierThan(at place: Int) -> Epoch? {
    hubCan(Capability.recovery) && !models[at: place].isEphemeral ? epoch : nil
  }

  func maySend(at place: Int, _ now: UInt64) -> Bool {
    models[at: place].isCurrent && models[at: place].sendsFrom <= now && models[at: place].outbox.carried.isEmpty
  }

  /// Numbers a write (R3), unless it has a number, or has to wait, or has ended.
  mutating func numberIfReady(
    _ write: WriteID, _ inFlight: inout Int, now: UInt64, at place: Int, _ output: inout PeerOutput
  ) -> Preparation {
    guard models[at: place].outbox.number(of: write) == nil else { return .ready }
    guard inFlight < limits.maxUnacknowledged else { return .waits }
    let preparation = prepare(write, now: now, at: place, &output)
    guard preparation == .ready else { return preparation }
    if inFlight == 0 || firstNumbered == nil { firstNumbered = (now, hubNow) }
    inFlight += 1
    _ = number(write, at: place, &output)
    return .ready
  }
}

extension PeerModel {
  /// Writes a write that has a number into a frame. It changes nothing here; but only what may change the model is
  /// given it in its place, and all else a copy.
  fileprivate mutating func propose(
    _ write: WriteID, _ topic: Topic, in epoch: Epoch?, to batch: inout ProposalsWriter?
  ) {
    guard let place = outbox.pending.place(of: write), let number = outbox.pending[at: place].number else { return }
    let (proposal, isVoid) = (outbox.pending[at: place].proposal, outbox.pending[at: place].isVoid)
    let isEarlier = epoch.map { $0 != outbox.pending[at: place].numberedIn } ?? false
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
