import BindingWire

/// What leaves with a drain.
extension Session {
  mutating func aliveEntries() -> [AliveEntry] {
    var entries: [AliveEntry] = []
    if isKeepingBehind { return entries }
    for id in ids(where: { models[at: $0].topic != nil && models[at: $0].isCurrent }) {
      guard let place = models.place(of: id), let topic = models[at: place].topic else { continue }
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
  mutating func send(now: UInt64, _ output: inout PeerOutput) {
    var inFlight = writesInFlight
    var batch: [NumberedProposal] = []
    var bytes = 0
    let due = ids { place in !models[at: place].outbox.isEmpty && maySend(at: place, now) }
    for id in due {
      guard let place = models.place(of: id), let topic = models[at: place].topic else { continue }
      guard models[at: place].outbox.mayBeDue else {
        models[at: place].sendsFrom = 0
        continue
      }
      writes: for write in models[at: place].outbox.toSend(room: limits.maxUndecided) {
        switch numberIfReady(write, &inFlight, now: now, at: place, &output) {
        case .ready: break
        case .ended: continue
        // What comes after it waits too: a peer's writes to a model arrive in their order.
        case .waits: break writes
        }
        models[at: place].outbox.update(write) {
          if $0.wasSent { counters.resent += 1 }
          $0.wasSent = true
          $0.needsSending = false
          $0.sentAtBeat = beatsSeen
        }
        guard let sent = models[at: place].outbox[write], let number = sent.number else { continue }
        if bytes + sent.bytes > limits.maxProposalBytes || batch.count == 4_096 {
          say(.propose(batch), now: now, &output)
          batch.removeAll()
          bytes = 0
        }
        batch.append(numbered(sent, number, topic, confirmed: models[at: place].outbox.lowestUndecided - 1, at: place))
        bytes += sent.bytes
      }
      models[at: place].sendsFrom = 0
    }
    if !batch.isEmpty { say(.propose(batch), now: now, &output) }
  }

  /// Writes that have a number and no outcome, of all models.
  var writesInFlight: Int { models.indices.reduce(0) { $0 + models[at: $1].outbox.inFlight } }

  func maySend(at place: Int, _ now: UInt64) -> Bool {
    models[at: place].isCurrent && models[at: place].sendsFrom <= now && models[at: place].outbox.carried.isEmpty
  }

  /// Numbers a write (R3), unless it has a number, or has to wait, or has ended.
  mutating func numberIfReady(
    _ write: WriteID, _ inFlight: inout Int, now: UInt64, at place: Int, _ output: inout PeerOutput
  ) -> Preparation {
    guard models[at: place].outbox.number(of: write) == nil else { return .ready }
    guard inFlight < limits.maxUndecided else { return .waits }
    let preparation = prepare(write, now: now, at: place, &output)
    guard preparation == .ready else { return preparation }
    inFlight += 1
    _ = number(write, at: place, &output)
    return .ready
  }

  private func numbered(
    _ write: Pending, _ number: ProposalNumber, _ topic: Topic, confirmed: ProposalNumber, at place: Int
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
          field: $0.verb == .clear
            ? .id(0) : models[at: place].replica.id(of: $0.field).map { .id($0) } ?? .name($0.field),
          value: $0.value)
      })
  }
}
