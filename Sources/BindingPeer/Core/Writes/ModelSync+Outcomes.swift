import BindingProtocol

/// The outcomes of a model's writes: from the hub, or because nobody can know them any more.
extension ModelSync {
  // MARK: From the hub

  /// Handles the hub's answer to a number.
  mutating func receive(
    _ outcome: WireOutcome, in epoch: Epoch, now: UInt64, _ context: inout SessionContext, _ effects: inout PeerEffects
  ) {
    if case .committed(let count, let version) = outcome.rest {
      for offset in 0..<UInt32(count) {
        acknowledge(outcome.number + offset, at: version + Version(offset), epoch, &context)
      }
      return
    }
    if case .expected(let next) = outcome.rest {
      writes.sendAgain(from: next)
      if writes.id(of: next) == nil, writes.inFlight > 0, join.isCurrent { join.lapse(at: now) }
      return
    }
    let write = writes.id(of: outcome.number)
    if case .retryLater(let code, let pause) = outcome.rest {
      context.counters.retries += 1
      writes.sendsFrom = max(writes.sendsFrom, now + UInt64(pause))
      guard let write else { return }
      context.outcomes.retry(write, in: id, code)
      return writes.sendAgain(from: outcome.number)
    }
    guard let write, writes.isUnacknowledged(write) else { return }
    switch outcome.rest {
    case .unchanged: keep(write, &context)
    case .refused(let refusal): end(write, as: .refused(refusal), &context)
    case .conflict(let conflict):
      if !triesAgain(afterDescription: write, conflict, in: epoch),
        !triesAgain(write, after: conflict, epoch, &context, &effects)
      {
        end(write, as: .conflict(conflict), &context)
      }
    case .expired: end(write, as: .expired, &context)
    case .unknown:
      if !triesAgain(afterUnknown: write, context, &effects) {
        end(write, as: .unknown("the hub no longer has its outcome"), &context)
      }
    case .committed, .expected, .retryLater: break
    }
  }

  /// R6: an acknowledged write leaves the overlay only when the committed values hold it.
  private mutating func acknowledge(
    _ number: ProposalNumber, at version: Version, _ epoch: Epoch, _ context: inout SessionContext
  ) {
    guard let write = writes.id(of: number), writes.isUnacknowledged(write) else { return }
    settle(write, as: .committed(epoch: epoch, version: version), &context)
    if holds(version, epoch) { release(write) } else { writes.decide(write, at: version) }
    update.record(.outcome)
  }

  /// Ends a write as `unchanged`. If its merge would still change the values here, the hub compared it with newer
  /// ones: it stays in the overlay until the next commit, so that the value does not go back and forth.
  private mutating func keep(_ write: WriteID, _ context: inout SessionContext) {
    guard lacksMerge(write) else { return end(write, as: .unchanged, &context) }
    settle(write, as: .unchanged, &context)
    writes.decide(write, at: join.startsOver ? replica.version : replica.version + 1)
    update.record(.outcome)
  }

  /// Whether a merge of the write would still change the committed value. A description is not kept: another one may
  /// have replaced it since, and no commit need follow.
  private func lacksMerge(_ id: WriteID) -> Bool {
    guard let write = writes[id], !write.isHidden else { return false }
    return write.overlay.contains { operation in
      guard let operand = operation.value, operation.verb != .describe else { return false }
      let committed = replica.field(operation.field)?.value
      return Merge.apply(operation.verb, operand: operand, to: committed).map { $0 != committed } ?? false
    }
  }

  // MARK: Ends

  /// Records the outcome of a write that is still in the outbox.
  mutating func settle(_ write: WriteID, as outcome: Outcome, _ context: inout SessionContext) {
    let deferred = context.defersOutcomes && (keeping.isOn || context.isResumed) ? writes.number(of: write) : nil
    if let deferred { keeping.deferOutcome(of: deferred) }
    context.outcomes.settle(write, in: id, as: outcome, deferred: deferred)
    undo?.settle(write, as: outcome, over: replica)
    guard isEphemeral, let pending = writes[write] else { return }
    claims.settle(pending, as: outcome, by: context.identity.tag, replica, writes)
  }

  /// Removes a write from its outbox.
  mutating func release(_ write: WriteID) { touch(writes.remove(write)) }

  /// Settles the write and removes it from the overlay.
  mutating func end(_ write: WriteID, as outcome: Outcome, _ context: inout SessionContext) {
    var outcome = outcome
    if writes[write]?.sending.isSecondTry == true {
      outcome = .unknown("the hub does not have its outcome; sent again, the write ended with: \(outcome)")
    }
    settle(write, as: outcome, &context)
    release(write)
    update.record(.outcome)
  }

  /// Ends all writes of this run.
  /// - Parameter show: whether those that an outbox keeps go on showing.
  mutating func endAll(as outcome: Outcome, show: Bool, _ context: inout SessionContext) {
    for write in writes.order where writes[write]?.carried == nil {
      if writes.isUnacknowledged(write) { context.outcomes.settle(write, in: id, as: outcome) }
      if !show || writes[write]?.sending.limit != nil { release(write) }
    }
    update.record(.detached)
  }

  /// Ends a write of an earlier run as its own session did. A committed one stays overlaid until its commit arrives
  /// (R6).
  mutating func endCarried(_ write: WriteID, as outcome: Outcome) {
    guard writes[write] != nil else { return }
    undo?.settle(write, as: outcome, over: replica)
    // What was committed in an earlier epoch is in the present state, or was lost with that epoch.
    if case .committed(let epoch, let version) = outcome, epoch >= replica.epoch, !holds(version, epoch) {
      writes.decide(write, at: version)
    } else {
      if case .committed = outcome, let carried = writes[write]?.carried, let number = carried.number {
        keeping.raise(carried.tag, to: number)
      }
      release(write)
    }
    update.record(.outcome)
  }

  /// Ends decided writes of an ephemeral model that was recreated or has forgotten this peer. Their results are
  /// unknown, and resent they would apply after later writes. Their values are claimed, except those that a later
  /// write took back. A withdrawn write also ends as unknown, because `expired` would claim that it was never applied;
  /// its value is not claimed.
  mutating func endForgotten(_ context: inout SessionContext) {
    for write in writes.order {
      guard let pending = writes[write], pending.number != nil, pending.isUnacknowledged,
        pending.isHidden || pending.sending.isVoid
      else { continue }
      end(write, as: .unknown("the hub has forgotten this peer"), &context)
      if !pending.sending.isVoid { claims.apply(pending, isKept: false) }
    }
  }

  /// Ends writes that the hub no longer answers. It answers no number whose outcome was confirmed, and a copy of an
  /// outbox may lag behind what its original has confirmed: all that is known is that the write was decided. A write
  /// that the hub has deferred is not unanswered: it waits until it may be sent again.
  mutating func endUnanswered(after heartbeat: UInt64, _ context: inout SessionContext) {
    guard join.isCurrent else { return }
    for write in writes.order {
      guard let pending = writes[write] else { continue }
      guard pending.number != nil, pending.isHidden, pending.isUnacknowledged, !pending.sending.isDue else {
        if pending.sending.unansweredSince != nil { writes.update(write) { $0.sending.unansweredSince = nil } }
        continue
      }
      // The outcome may be on its way: commits arrive over the other connection.
      guard let since = pending.sending.unansweredSince else {
        writes.update(write) { $0.sending.unansweredSince = heartbeat }
        continue
      }
      guard heartbeat >= max(since, join.currentSince) + SessionOptions.heartbeatsWithoutAnswer else { continue }
      end(write, as: .unknown("it was decided, and another process has its outcome"), &context)
    }
  }

  // MARK: Second tries

  /// R11: the hub no longer knows which of our numbers it decided. Texts are merged again and plain sets are resent
  /// as compare-and-set on what their writer saw; the result of other writes is unknown.
  mutating func forgetNumbers(_ context: inout SessionContext, _ effects: inout PeerEffects) {
    for write in writes.order {
      removeFormCondition(from: write)
      guard let pending = writes[write], pending.number != nil, pending.isUnacknowledged else { continue }
      // A withdrawn write must not be applied again, and `expired` would claim that it never was. A write that the
      // hub has decided is in the values here, or was refused.
      let isOver = pending.sending.isVoid || pending.isHidden
      if !isOver, pending.isRepeatable {
        tryAgain(write, if: [])
        // A later run, which has no rules, sends a ruled write only on condition of what its writer saw.
        if keeps(context), pending.sending.limit == nil, let kept = writes[write]?.kept(in: id) {
          effects.journal.append(.numbered(write, 0, conditions: kept.proposal.conditions))
        }
      } else if !isOver, pending.proposal.isPlainSet,
        let conditions = resolver(context).conditionsIfForgotten(for: pending)
      {
        tryAgain(write, if: conditions)
        recordNumber(of: write, context, &effects)
      } else {
        end(write, as: .unknown("the hub has forgotten this peer"), &context)
      }
    }
  }

  /// Retries a write whose result is unknown, if it is a plain set and all its fields are as its writer saw them. It
  /// is resent as compare-and-set on that.
  private mutating func triesAgain(
    afterUnknown write: WriteID, _ context: SessionContext, _ effects: inout PeerEffects
  ) -> Bool {
    removeFormCondition(from: write)
    guard !context.isResumed, !isEphemeral, let pending = writes[write], pending.carried == nil,
      !pending.sending.isVoid,
      pending.rules.isEmpty, pending.proposal.isPlainSet, pending.proposal.operations.count <= Condition.maxCount,
      pending.proposal.operations.allSatisfy({ writes.isLast(write, over: $0.field) }),
      let conditions = resolver(context).conditionsIfUnchanged(for: pending)
    else { return false }
    tryAgain(write, if: conditions)
    writes.update(write) { $0.isHidden = false }
    recordNumber(of: write, context, &effects)
    return true
  }

  /// The write is resent under another number.
  private mutating func tryAgain(_ write: WriteID, if conditions: [Condition]) {
    writes.unnumber(write)
    writes.update(write) {
      $0.proposal.conditions = conditions
      $0.sending.isSecondTry = true
    }
  }

  /// Retries a write that was refused as a conflict, if its rule allows it. Its number is used up; it gets another.
  private mutating func triesAgain(
    _ write: WriteID, after conflict: Conflict, _ epoch: Epoch, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) -> Bool {
    guard let pending = writes[write], let rule = pending.rules[conflict.field], rule != .compareAndSet,
      !pending.sending.isVoid
    else { return false }
    // A condition of an earlier epoch says nothing about the field: the step may be kept over the change of epoch.
    if rule == .restore, !pending.proposal.conditions.contains(where: { $0.epoch != epoch }) { return false }
    // Texts merge without asking: a limit would lose what a slow writer typed beside fast ones.
    guard rule == .text || pending.merging.attempts < context.options.maxMergeAttempts else { return false }
    context.counters.merged += 1
    writes.unnumber(write)
    writes.update(write) {
      $0.merging.attempts += 1
      $0.proposal.conditions = []
      $0.merging.waitsFor = (epoch, conflict.version)
      // A later write of ours may have hidden it as if the hub had applied it.
      $0.isHidden = false
    }
    // A later run has no rules: it sends the write only on condition of what its writer saw.
    if keeps(context), pending.sending.limit == nil, let kept = writes[write]?.kept(in: id) {
      effects.journal.append(.written(kept))
    }
    return true
  }
}
