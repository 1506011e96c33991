package import BindingProtocol

/// A write of an earlier run, which another session sends.
struct CarriedWrite: Sendable {
  /// Its id in this session.
  let id: WriteID
  let tag: Tag
  let kept: KeptWrite
  var number: ProposalNumber?
  let isOld: Bool
}

// MARK: Recording

extension Session {
  /// Whether writes to this model are kept. Ephemeral ones are not: a new run claims nothing of an earlier one's.
  func keeps(modelAt index: Int) -> Bool { keepsOutbox && !models[at: index].isEphemeral }

  mutating func recordHubAndOutcomes(_ output: inout PeerOutput) {
    guard keepsOutbox else { return }
    if let logID, let epoch, keptHub.map({ $0 != (logID, epoch) }) ?? true {
      keptHub = (logID, epoch)
      output.add(.keep(.welcomed(log: logID, epoch: epoch)))
    }
    for (id, model, outcome) in settled.dropFirst(settledRecorded) where !Names.isEphemeral(model) {
      output.add(.keep(.decided(id, JournalEntry.Decided(outcome))))
    }
    settledRecorded = settled.count
  }

  /// Assigns the next number to the write, and has it recorded before the write leaves (R3).
  mutating func number(_ write: WriteID, at index: Int, _ output: inout PeerOutput) -> ProposalNumber {
    let number = models[at: index].outbox.number(write, in: epoch ?? 0)
    if let hidden = models[at: index].outbox.overlayIfHidden(write) {
      models[at: index].touch(hidden)
      models[at: index].record(.outcome)
    }
    recordNumber(of: write, at: index, &output)
    return number
  }

  /// Records that the write has lost its number and is resent: a later run, which has no rules, sends a ruled write
  /// only on condition of what its writer saw.
  func recordUnnumbered(_ write: WriteID, at index: Int, _ output: inout PeerOutput) {
    guard keeps(modelAt: index), let pending = models[at: index].outbox[write] else { return }
    output.add(.keep(.numbered(write, 0, conditions: pending.kept(in: models[at: index].id).proposal.conditions)))
  }

  func recordNumber(of write: WriteID, at index: Int, _ output: inout PeerOutput) {
    guard keeps(modelAt: index), let pending = models[at: index].outbox[write] else { return }
    output.add(.keep(.numbered(write, pending.number ?? 0, conditions: pending.proposal.conditions)))
  }
}

// MARK: An earlier run

extension Session {
  /// Creates a session that speaks for an earlier run of this program: it sends what that run left in its outbox,
  /// unchanged, and nothing else (R10), as if that run had been cut off from its hub until now.
  /// - Parameter wall: the wall time now, milliseconds since 1970, of the machine of that run.
  package init(
    resuming run: PreviousRun, seed: UInt64, options: SessionOptions = SessionOptions(), now: UInt64, wall: UInt64
  ) {
    let identity = Identity(secret: run.identity.secret, name: run.identity.name)
    self.init(identity: identity, seed: seed, options: options, now: now, keepsOutbox: true)
    isResumed = true
    isDisowned = !run.identity.isProven
    logID = run.log
    epoch = run.epoch
    wasWelcomed = run.epoch != nil
    if let log = run.log, let epoch = run.epoch { keptHub = (log, epoch) }
    // Numbers count under the tag that used them.
    if !isDisowned { leftNumbers = run.lastNumbers }
    for write in run.writes {
      if models[write.model] == nil {
        models[write.model] = PeerModel(id: write.model)
        models[write.model]?.outbox.resume(after: leftNumbers[write.model] ?? 0)
      }
      lastWrite = max(lastWrite, write.id.rawValue)
      let isOld = Session.isOld(write, wall: wall, options)
      let number = isDisowned ? nil : write.number
      models[write.model]?.addToOverlay(Session.pending(write, id: write.id, number: number, isOld: isOld, now: now))
    }
    outboxWrites = run.writes.count
  }

  /// Ends the writes that no session may send. A hub has answered, so the program has had time to ask about them.
  mutating func endDisowned() {
    guard isDisowned else { return }
    for id in models.keys.sorted() {
      settleAll(
        in: id, as: .unknown("it was sent under a tag of an older version, for which nobody can speak any more"))
    }
  }

  /// Ends writes that the hub no longer answers. It answers no number whose outcome was confirmed, and a copy of an
  /// outbox may lag behind what its original has confirmed: all that is known is that the write was decided.
  mutating func endUnanswered() {
    for id in models.keys.sorted() {
      guard let index = models.index(of: id), models[at: index].isCurrent else { continue }
      for write in models[at: index].outbox.order {
        guard let pending = models[at: index].outbox[write] else { continue }
        guard pending.number != nil, pending.isHidden, pending.isUnacknowledged else {
          if pending.unansweredSince != nil { models[at: index].outbox.update(write) { $0.unansweredSince = nil } }
          continue
        }
        // The outcome may be on its way: commits arrive over the other connection.
        guard let since = pending.unansweredSince else {
          models[at: index].outbox.update(write) { $0.unansweredSince = heartbeatsSeen }
          continue
        }
        guard heartbeatsSeen >= max(since, models[at: index].currentSince) + SessionOptions.heartbeatsWithoutAnswer
        else {
          continue
        }
        end(write, as: .unknown("it was decided, and its outcome told to another process"), at: index)
      }
    }
  }

  /// Overlays models with the writes of an earlier run, below all writes of this run. To those models this run sends
  /// nothing before `carriedEnded` has reported the end of each.
  /// - Returns: the ids of those writes in this session, in order.
  package mutating func carry(_ run: PreviousRun, wall: UInt64) -> [WriteID] {
    previousTags.insert(run.identity.tag)
    return run.writes.map { write in
      lastWrite += 1
      let id = WriteID(rawValue: lastWrite)
      carried[write.model, default: []].append(
        CarriedWrite(
          id: id, tag: run.identity.tag, kept: write, number: write.number,
          isOld: Session.isOld(write, wall: wall, options)))
      return id
    }
  }

  /// The other session has sent the write under this number.
  package mutating func carriedSent(_ write: WriteID, of id: String, as number: ProposalNumber) {
    guard let index = carried[id]?.firstIndex(where: { $0.id == write }) else { return }
    carried[id]?[index].number = number
    models[id]?.outbox.update(write) { $0.carried?.number = number }
  }

  /// The other session has the outcome or gave the write up. A committed write stays overlaid until it arrives (R6).
  package mutating func carriedEnded(_ write: WriteID, of id: String, as outcome: Outcome) {
    carried[id]?.removeAll { $0.id == write }
    if carried[id]?.isEmpty == true { carried[id] = nil }
    guard let index = models.index(of: id), models[at: index].outbox[write] != nil else { return }
    // What was committed in an earlier epoch is in the present state, or was lost with that epoch.
    if case .committed(let epoch, let version) = outcome, epoch >= models[at: index].replica.epoch,
      !models[at: index].holds(version, epoch)
    {
      models[at: index].outbox.decide(write, at: version)
    } else {
      release(write, at: index)
    }
    models[at: index].record(.outcome)
  }

  mutating func addCarriedToOverlay(of id: String) {
    for write in carried[id] ?? [] {
      var pending = Session.pending(write.kept, id: write.id, number: nil, isOld: write.isOld, now: openedAt)
      pending.carried = .init(tag: write.tag, number: write.number)
      models[id]?.addToOverlay(pending)
      models[id]?.record(.local)
    }
  }

  /// R4 for writes of an earlier run: they leave the overlay; their outcomes come from the session that sends them.
  mutating func recordEarlier(_ tag: Tag, _ number: ProposalNumber, at index: Int) {
    models[at: index].touch(models[at: index].outbox.hide(carriedBy: tag, upTo: number))
  }

  /// Whether a write waited so long that it yields to what others wrote. True if its time is unknown or in the
  /// future.
  private static func isOld(_ write: KeptWrite, wall: UInt64, _ options: SessionOptions) -> Bool {
    write.time == 0 || write.time > wall || wall - write.time >= options.offlineMilliseconds
  }

  private static func pending(
    _ write: KeptWrite, id: WriteID, number: ProposalNumber?, isOld: Bool, now: UInt64
  ) -> Pending {
    let overlay = write.proposal.operations.flatMap { operation in
      operation.verb == .clear ? write.seen.map { FieldOperation(.delete, $0.field) } : [operation]
    }
    let bytes = write.proposal.operations.reduce(64 + 24 * write.proposal.conditions.count) {
      $0 + 16 + $1.field.utf8.count + ($1.value?.bytes.count ?? 0)
    }
    let seen = write.seen.map {
      ($0.field, Pending.Seen(value: .digest($0.digest), epoch: $0.epoch, version: $0.version))
    }
    return Pending(
      id: id, proposal: write.proposal, overlay: overlay, bytes: bytes, writtenAt: now,
      seen: ByField(seen), number: number, isSecondTry: write.isSecondTry,
      isVoid: write.isWithdrawn, wasSent: number != nil, isOld: isOld)
  }
}
