import BindingProtocol

/// The writes of a model, from the proposal to the outcome.
extension ModelSync {
  // MARK: Writing

  /// The pending writes that this proposal supersedes.
  mutating func superseded(by proposal: Proposal, rules: [String: ConflictRule]) -> [Pending] {
    // A write that takes back a step is a step of its own.
    if !rules.isEmpty, rules.values.contains(.restore) { return [] }
    return writes.replaced(by: proposal, rules: rules).compactMap { writes[$0] }
  }

  /// Overlays the model with a proposal.
  /// - Parameter superseded: what it supersedes, already removed.
  mutating func write(
    _ pending: consuming Pending, _ rules: [String: RuledWrite], superseding superseded: [Pending],
    _ context: SessionContext, _ effects: inout PeerEffects
  ) {
    for (field, ruled) in rules where ruled.rule != .restore {
      pending.stand(
        field, on: ruled, inPlaceOf: superseded, over: superseded.isEmpty ? nil : shown(field),
        isOwn: writes.isPending(field))
    }
    if let limit = pending.sending.limit {
      expiring.lapses.add(pending.id, at: pending.writtenAt + limit, among: writes)
    } else {
      if keeps(context) { effects.journal.append(.written(pending.kept(in: id))) }
    }
    let hops = pending.proposal.hops
    addToOverlay(pending)
    update.record(.local)
    update.propose(hops: hops)
  }

  /// Makes a pending write of a proposal. It is not yet in the overlay.
  mutating func pending(_ id: WriteID, _ proposal: Proposal, bytes: Int, at now: UInt64) -> Pending {
    let overlay = overlay(of: proposal)
    var seen = ByField<Pending.Seen>()
    for operation in overlay { seen[operation.field] = replica.sight(of: operation.field) }
    return Pending(id: id, proposal: proposal, overlay: overlay, bytes: bytes, writtenAt: now, seen: seen)
  }

  /// The operations with which a proposal overlays fields: `clear` becomes a deletion of each known field, the deletion
  /// of a list also one of each element.
  private func overlay(of proposal: Proposal) -> [FieldOperation] {
    guard proposal.operations.contains(where: { $0.verb == .clear || $0.verb == .delete && !lists.isEmpty }) else {
      return proposal.operations
    }
    return proposal.operations.flatMap { operation in
      switch operation.verb {
      case .clear: replica.fields.map { FieldOperation(.delete, $0.name) }
      case .delete: [operation] + deletions(ofElementsOf: operation.field)
      default: [operation]
      }
    }
  }

  /// Adds a write to the overlay.
  mutating func addToOverlay(_ write: consuming Pending) {
    touch(write.overlay)
    if isMisformed(write) { write.isHidden = true }
    writes.append(write)
  }

  /// Withdraws a write. One never sent ends as expired; for one already sent, the hub is asked not to apply it.
  /// - Returns: whether it has no outcome.
  mutating func withdraw(_ write: WriteID, _ context: inout SessionContext, _ effects: inout PeerEffects) -> Bool {
    guard let pending = writes[write], pending.isUnacknowledged, pending.carried == nil else { return false }
    guard pending.number != nil else {
      end(write, as: .expired, &context)
      return true
    }
    writes.update(write) {
      $0.sending.isVoid = true
      $0.sending.isDue = true
    }
    if keeps(context) { effects.journal.append(.withdrawn(write)) }
    return true
  }

  // MARK: Sending

  /// The result of preparing a write for sending.
  enum Preparation { case ready, waits, ended }

  /// Updates a write that was never sent, or was refused as a conflict, to the committed values, and sets its
  /// conditions.
  mutating func prepare(
    _ write: WriteID, now: UInt64, _ context: inout SessionContext, _ effects: inout PeerEffects
  ) -> Preparation {
    guard let found = writes.pending.index(of: write) else { return .ended }
    // Most writes are new and without rules: those are not copied.
    if !context.isResumed, writes.pending[at: found].isPlain(at: now, context.options) { return .ready }
    // It may stand on an earlier write of its run, whose commit comes first.
    let isBased =
      context.isResumed
      && writes.pending[at: found].proposal.conditions.contains {
        writes.hasEarlier(than: write, over: $0.field)
      }
    if isBased { return .waits }
    let isFormed = !writes.pending[at: found].proposal.formConditions.isEmpty
    if isFormed {
      let preparation = prepareForm(of: write, &context)
      guard preparation == .ready else { return preparation }
    }
    let isRuled = !writes.pending[at: found].rules.isEmpty
    let isFirst = writes.pending[at: found].ruledFields.map { writes.isFirst(write, over: $0.field) }
    let (resolver, isResumed) = (resolver(context), context.isResumed)
    var decision = ConflictResolver.Decision.send
    writes.update(write) {
      decision =
        isRuled
        ? resolver.prepareRuled(&$0, isFirst: isFirst)
        : isResumed ? resolver.prepareResumed(&$0, now: now) : resolver.prepareWaited(&$0, now: now)
    }
    if isRuled, case .send = decision, undo != nil {
      decision = finalizeRestoring(write, resolver, &context)
    }
    switch decision {
    case .send:
      if isFormed { addFormCondition(to: write) }
      if isRuled { recordRewritten(write, context, &effects) }
      return .ready
    case .wait: return .waits
    case .end(let outcome):
      end(write, as: outcome, &context)
      return .ended
    case .ask(let question):
      effects.questions.append(.merge(write, model: id, question))
      return .waits
    }
  }

  /// Assigns the next number to the write, and has it recorded before the write leaves (R3).
  mutating func number(_ write: WriteID, _ context: SessionContext, _ effects: inout PeerEffects) {
    let number = writes.number(write, in: context.epoch ?? 0)
    undo?.number(write, number)
    if let hidden = writes.overlayIfHidden(write) {
      touch(hidden)
      update.record(.outcome)
    }
    recordNumber(of: write, context, &effects)
  }

  /// Marks a write as sent.
  /// - Returns: its bytes.
  mutating func send(_ write: WriteID, after heartbeat: UInt64, _ counters: inout SessionCounters) -> Int {
    var bytes = 0
    var isResent = false
    writes.update(write) {
      isResent = $0.sending.wasSent
      $0.sending.wasSent = true
      $0.sending.isDue = false
      $0.sending.heartbeat = heartbeat
      bytes = $0.bytes
    }
    if isResent { counters.resent += 1 }
    return bytes
  }

  /// Encodes a numbered write into a frame. It is `mutating`, though it changes nothing, so that the model is
  /// accessed in place and not copied.
  /// - Parameter epoch: the current epoch, if the hub wants to know which proposals were numbered in another one.
  mutating func propose(_ write: WriteID, _ topic: Topic, in epoch: Epoch?, to batch: inout ProposalsWriter?) {
    guard let index = writes.pending.index(of: write), let number = writes.pending[at: index].number else { return }
    let (proposal, isVoid) = (writes.pending[at: index].proposal, writes.pending[at: index].sending.isVoid)
    let isEarlier = epoch.map { $0 != writes.pending[at: index].sending.epoch } ?? false
    batch?.begin(
      topic, number, confirmed: lowestUnconfirmed - 1, isVoid: isVoid, isEarlier: isEarlier,
      hops: proposal.hops, metadata: proposal.sentMetadata, conditions: proposal.conditions.count)
    for condition in proposal.conditions {
      batch?.add(WireCondition(epoch: condition.epoch, version: condition.version, field: .name(condition.field)))
    }
    batch?.beginOperations(proposal.operations.count)
    for operation in proposal.operations {
      let field = operation.verb == .clear ? 0 : replica.id(of: operation.field)
      batch?.add(operation.verb, field.map { .id($0) } ?? .name(operation.field), operation.value)
    }
  }

  /// The program's answer to `PeerQuestion.merge`: the value that the two become, or nil to end the write as a
  /// conflict.
  /// - Returns: whether the write waited for the answer.
  mutating func merged(
    _ write: WriteID, _ question: MergeQuestion, into value: FieldValue?, _ context: inout SessionContext
  ) -> Bool {
    guard let pending = writes[write], pending.merging.isAsking else { return false }
    guard let value else {
      end(write, as: .conflict(resolver(context).conflict(about: question.field)), &context)
      return true
    }
    let (epoch, version) = (replica.epoch, replica.field(question.field)?.version ?? 0)
    writes.update(write) {
      $0.merging.isAsking = false
      $0.replace(question.field, by: value)
      // If another value was committed meanwhile, the program is asked again: the values differ.
      $0.seen[question.field] = .init(value: .value(question.theirs), epoch: epoch, version: version)
    }
    touch(question.field)
    update.record(.local)
    return true
  }

  func resolver(_ context: SessionContext) -> ConflictResolver {
    let (tag, earlier) = (context.identity.tag, context.previousTags)
    return ConflictResolver(replica: replica, isEphemeral: isEphemeral, options: context.options) {
      $0 == tag || earlier.contains($0)
    }
  }

  // MARK: Journal

  /// Whether writes to this model are kept. Ephemeral ones are not: a new run claims nothing of an earlier one's.
  func keeps(_ context: SessionContext) -> Bool { context.journal.isKept && !isEphemeral }

  func recordNumber(of write: WriteID, _ context: SessionContext, _ effects: inout PeerEffects) {
    guard keeps(context), let pending = writes[write] else { return }
    if pending.sending.limit != nil, let number = pending.number {
      // The write is hardly ever kept, but a later run must not use its number for another one.
      effects.journal.append(.counted(model: id, last: number))
    }
    effects.journal.append(.numbered(write, pending.number ?? 0, conditions: pending.proposal.conditions))
  }

  /// The outbox must hold what is sent.
  private mutating func recordRewritten(_ write: WriteID, _ context: SessionContext, _ effects: inout PeerEffects) {
    guard keeps(context), let sent = writes[write], sent.sending.limit == nil,
      sent.merging.isRewritten || sent.merging.attempts > 0
    else {
      return
    }
    effects.journal.append(.written(sent.kept(in: id)))
    if sent.sending.isVoid { effects.journal.append(.withdrawn(write)) }
    writes.update(write) { $0.merging.isRewritten = false }
  }
}
