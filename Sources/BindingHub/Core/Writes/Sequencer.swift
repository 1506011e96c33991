import BindingProtocol

/// Decides proposals one after the other, per model: committed, unchanged, refused, expired, conflict, unknown or
/// retry later. Pure: it changes only the model's pending batch and writers.
struct Sequencer {
  let limits: Limits
  let maxUnconfirmedOutcomes: Int
  let spacing: RankSpacing
  /// Which owners models may have where several hubs share the log; nil: this hub has it alone.
  var owners: SharedOwners?
  var isShared: Bool { owners != nil }
  /// Descriptions proposed with `setIfAbsent` for models that have one, at most `mostDeclared`; the caller removes
  /// them.
  var declared: [Declared] = []
  static let mostDeclared = 64
  /// What limits the writer of the proposal that is decided next; nil: nothing.
  var limitation: WriteLimitation?
  /// The number of proposals handled, so that a field can tell whether the present one has named it.
  var ordinal: UInt64 = 0
  /// What the present proposal makes of lists, written at its end.
  var edits = ListEdits()

  /// The immediate result of a proposal.
  enum Immediate {
    case outcome(WireOutcome.Rest)
    case nothing
    /// The model's owner must first approve the values that these fields would get. Nothing is decided.
    case approve([ApprovalField])
  }

  /// The owner's approval of a proposal.
  enum Approval {
    /// No approval is needed: the model has no owner, or the proposal is the owner's.
    case given
    case toBeAsked
    /// The owner has approved these fields.
    case givenFor([ApprovalField])
    case denied(Refusal)
  }

  /// Why a proposal becomes no commit.
  enum Verdict: Error {
    case refused(RefusalCode, String)
    /// nil: the field has no id.
    case conflict(FieldID?, name: String)
    case unchanged
    case approve([ApprovalField])
    /// The log must first say that the writer owns the model.
    case claim
  }

  /// Decides the proposal at the cursor; `writer` is the index of `origin` among the model's writers.
  /// - Parameter mayBeOld: whether it may have been sent first in an earlier epoch.
  mutating func decide(
    _ proposal: ProposalCursor, of origin: Origin, writer: Int, session: SessionID, in model: ModelLog, time: HubTime,
    approval: Approval = .given, mayBeOld: Bool = false, _ hub: inout HubContext
  ) -> Immediate {
    hub.counters.proposals += 1
    let confirmed = proposal.confirmed
    let (isNext, waiting) = model.writers.with(writer) { record in
      record.confirm(min(confirmed, record.lastStored))
      return (
        proposal.number > record.lastDecided && proposal.number - 1 == record.lastDecided,
        record.unconfirmedCount + Int(record.lastDecided) - Int(record.lastStored)
      )
    }
    if !isNext { return answerOutOfTurn(proposal.number, model.writers.with(writer) { $0 }, &hub) }
    if let later = reasonToRetry(model, waiting, time, &hub) { return later }

    model.writers.with(writer) { $0.decide(proposal.number) }
    model.batch.borrow()
    let isTouched = model.batch.pending.touchedWriters.last == writer
    if !isTouched { model.batch.pending.touchedWriters.append(writer) }
    func decided(_ outcome: WireOutcome.Rest, on field: FieldID? = nil) -> Immediate {
      model.batch.pending.decisions.append(Decision(origin: origin, number: proposal.number, outcome: outcome))
      let index = model.batch.pending.others.count
      model.batch.pending.others.append(field.map { .conflict($0) } ?? .outcome(outcome))
      model.batch.pending.answers.append(.init(session: session, number: proposal.number, version: 0, index: index))
      return .nothing
    }
    if mayBeOld, isSeen(proposal.number, of: origin.tag, in: model, &hub) { return decided(.unknown) }
    if proposal.isVoid {
      hub.counters.expired += 1
      return decided(.expired)
    }
    do throws(Verdict) {
      let version = try commit(proposal, of: origin, writer, in: model, time: time, approval: approval, hub.epoch)
      model.batch.pending.answers.append(.init(session: session, number: proposal.number, version: version, index: nil))
      return .nothing
    } catch {
      switch error {
      case .unchanged:
        hub.counters.unchanged += 1
        return decided(.unchanged)
      case .refused(let code, let text):
        hub.counters.refusals[code, default: 0] += 1
        if code == .notPermitted { hub.access.deny(text) }
        return decided(.refused(Refusal(code, text)))
      case .conflict(let field, let name):
        hub.counters.conflicts += 1
        guard let field else {
          return decided(
            .conflict(Conflict(field: name, version: 0, origin: .none, ageMilliseconds: 0, value: nil)))
        }
        return decided(.conflict(model.conflict(on: field, now: time.wall)), on: field)
      case .approve(let fields):
        forget(proposal, of: writer, isTouched: isTouched, in: model)
        return .approve(fields)
      case .claim:
        forget(proposal, of: writer, isTouched: isTouched, in: model)
        claim(model, by: origin, time, &hub)
        return retryLater(.busy, pauseMilliseconds: 20, &hub)
      }
    }
  }

  /// Undoes that a proposal was decided of which nothing is in the batch.
  /// - Parameter isTouched: whether the batch has something else of its writer.
  private func forget(_ proposal: ProposalCursor, of writer: Int, isTouched: Bool, in model: ModelLog) {
    model.writers.with(writer) { $0.lastDecided = proposal.number - 1 }
    if model.batch.pending.commits.isEmpty { model.batch.pending.isOpen = false }
    // Writers may be forgotten while the owner is asked, and their indices change then.
    if !isTouched { model.batch.pending.touchedWriters.removeLast() }
  }

  /// Whether a replica has shown that an older epoch of the log decided this number.
  private func isSeen(
    _ number: ProposalNumber, of tag: Tag, in model: ModelLog, _ hub: inout HubContext
  ) -> Bool {
    guard let seen = model.writers.seenNumbers[tag], number <= seen else { return false }
    hub.counters.unknownOutcomes += 1
    return true
  }

  /// Why nothing can be decided now for a writer with this many unconfirmed outcomes; nil: it can.
  private func reasonToRetry(
    _ model: ModelLog, _ unconfirmed: Int, _ time: HubTime, _ hub: inout HubContext
  ) -> Immediate? {
    if model.recovery.underWay != nil { return retryLater(.starting, pauseMilliseconds: 100, &hub) }
    if hub.isStoreFull(for: model, time) {
      return retryLater(.storeFull, pauseMilliseconds: UInt32(clamping: hub.storeFullUntil - time.monotonic), &hub)
    }
    return unconfirmed >= maxUnconfirmedOutcomes ? retryLater(.busy, pauseMilliseconds: 10, &hub) : nil
  }

  /// Answers a proposal that is decided and stored, even while nothing can be decided; nil: it is not stored yet.
  func answerRepeat(
    _ proposal: ProposalCursor, of origin: Origin, in model: ModelLog, _ hub: inout HubContext
  ) -> Immediate? {
    guard let writer = model.writers.index(of: origin.tag) else { return nil }
    let record = model.writers.with(writer) { $0 }
    guard proposal.number <= record.lastStored else { return nil }
    return answerOutOfTurn(proposal.number, record, &hub)
  }

  /// R3: a repeat gets the stored outcome, a jump the expected number.
  private func answerOutOfTurn(
    _ number: ProposalNumber, _ record: WriterRecord, _ hub: inout HubContext
  ) -> Immediate {
    if number > record.lastDecided {
      hub.counters.jumps += 1
      return .outcome(.expected(next: record.lastDecided + 1))
    }
    hub.counters.repeats += 1
    // Decided but not stored: the answer follows.
    if number > record.lastStored { return .nothing }
    if let outcome = record.outcome(of: number) { return .outcome(outcome) }
    if number <= record.confirmed { return .nothing }
    hub.counters.unknownOutcomes += 1
    return .outcome(.unknown)
  }

  private func retryLater(
    _ code: RetryReason, pauseMilliseconds: UInt32, _ hub: inout HubContext
  ) -> Immediate {
    hub.counters.retries += 1
    return .outcome(.retryLater(code, pauseMilliseconds: pauseMilliseconds))
  }

  // MARK: Committing

  /// Adds the proposal to the pending batch as one commit, or nothing of it.
  private mutating func commit(
    _ proposal: ProposalCursor, of origin: Origin, _ writer: Int, in model: ModelLog, time: HubTime, approval: Approval,
    _ epoch: Epoch
  ) throws(Verdict) -> Version {
    if case .denied(let refusal) = approval { throw .refused(refusal.code, refusal.text) }
    if proposal.byteCount > limits.maxProposalBytes {
      throw .refused(
        .proposalTooLarge,
        "the proposal has \(proposal.byteCount) bytes; maxProposalBytes is \(limits.maxProposalBytes)")
    }
    if proposal.operations.remaining > limits.maxProposalFields {
      throw .refused(
        .tooManyFields,
        "the proposal names \(proposal.operations.remaining) fields; maxProposalFields is \(limits.maxProposalFields)")
    }
    if Int(proposal.hops) > limits.maxHops {
      let other = writerAnswered(by: proposal, in: model, time)
      throw .refused(
        .loop,
        "\(origin.fullName) and \(other) answer each other in a chain of \(proposal.hops) writes; maxHops is "
          + "\(limits.maxHops)")
    }
    if proposal.conditionCount > 0 { try check(proposal.conditions, in: model, epoch) }

    model.openBatch(epoch: model.epoch(ifStored: epoch), time: time.wall)
    let version = model.nextVersion
    let fieldsBefore = model.fields.count
    let begun = model.batch.pending.touched.count
    let weakBefore = model.batch.pending.weakFields.count
    let renewedBefore = model.batch.pending.renewed.count
    model.batch.pending.begun = begun
    model.batch.pending.commits.beginCommit(
      origin: model.batch.pending.commits.origin(origin), number: proposal.number, hops: proposal.hops)
    do throws(Verdict) {
      let changed = try change(proposal.operations, to: version, by: writer, in: model)
      if changed == 0 { throw .unchanged }
      try check(approval, in: model)
      model.batch.pending.commits.endCommit()
      if model.batch.lists.isChanged { model.batch.lists.keep() }
      return version
    } catch {
      model.batch.pending.commits.rollbackCommit()
      model.rules.revert(version)
      undoLists(in: model)
      for (field, before) in model.batch.pending.touched[begun...].reversed() where Int(field) < fieldsBefore {
        model.fields.decide(field, before)
      }
      model.batch.pending.touched.removeSubrange(begun...)
      model.batch.pending.weakFields.removeSubrange(weakBefore...)
      if case .unchanged = error {} else { model.batch.pending.renewed.removeSubrange(renewedBefore...) }
      model.dropNames(from: fieldsBefore)
      // The proposal itself had given that field its id.
      if case .conflict(let field?, let name) = error, Int(field) >= fieldsBefore { throw .conflict(nil, name: name) }
      throw error
    }
  }

  /// Checks that the owner has approved what the present commit makes of its fields.
  private func check(_ approval: Approval, in model: ModelLog) throws(Verdict) {
    let agreed: [ApprovalField]
    switch approval {
    case .given, .denied: return
    case .toBeAsked: agreed = []
    case .givenFor(let fields): agreed = fields
    }
    let fields = model.batch.pending.touched[model.batch.pending.begun...].map { id, _ in
      ApprovalField(name: model.fields[id].name, value: model.decidedValue(id))
    }
    if fields != agreed { throw .approve(fields) }
  }

  private func check(_ conditions: ConditionCursor, in model: ModelLog, _ epoch: Epoch) throws(Verdict) {
    var conditions = conditions
    let epoch = model.epoch(ifStored: epoch)
    while (try? conditions.next()) == true {
      guard let field = try field(conditions.id, conditions.name, in: model) else {
        do throws(WireError) {
          if let name = conditions.name { try Names.checkField(name) }
        } catch {
          throw .refused(.badName, "a condition names a field that \(error.problem)")
        }
        // A field without an id was never written.
        if conditions.version == 0 { continue }
        // Deletions before the floor are no longer known.
        if conditions.epoch != epoch || conditions.version < model.position.deltasFrom {
          throw .conflict(nil, name: conditions.name.map { String(decoding: $0, as: UTF8.self) } ?? "")
        }
        if conditions.version >= model.nextVersion {
          throw .refused(
            .versionBeyondHead, "version \(conditions.version) is later than the head, \(model.nextVersion - 1)")
        }
        continue
      }
      let decided = model.fields.decidedVersion(field)
      if conditions.version == 0 {
        if decided > 0 { throw .conflict(field, name: "") }
      } else if conditions.epoch != epoch {
        throw .conflict(field, name: "")
      } else if conditions.version >= model.nextVersion {
        throw .refused(
          .versionBeyondHead, "version \(conditions.version) is later than the head, \(model.nextVersion - 1)")
      } else if decided > conditions.version {
        throw .conflict(field, name: "")
      }
    }
  }
}
