package import BindingProtocol

extension Session {
  /// The result of preparing a write for sending.
  enum Preparation { case ready, waits, ended }

  /// Updates a write that was never sent, or was refused as a conflict, to the committed values, and sets its
  /// conditions.
  mutating func prepare(
    _ write: WriteID, now: UInt64, at index: Int, _ output: inout PeerOutput
  ) -> Preparation {
    guard let found = models[at: index].outbox.pending.index(of: write) else { return .ended }
    // Most writes are new and without rules: those are not copied.
    if !isResumed, models[at: index].outbox.pending[at: found].isPlain(at: now, options) { return .ready }
    let pending = models[at: index].outbox.pending[at: found]
    guard !pending.rules.isEmpty else {
      // An earlier run wrote it over an own write that was never committed: what its writer saw never existed.
      if isResumed, let field = pending.fieldSeenAlone(in: models[at: index].replica) {
        end(write, as: .conflict(conflict(about: field, at: index)), at: index)
        return .ended
      }
      return applyOfflineRule(write, now: now, at: index)
    }
    guard !pending.isAsking, pending.hasArrived(in: models[at: index].replica) else { return .waits }
    var conditions: [Condition] = []
    for (field, rule) in pending.ruledFields {
      // It was written over a write of ours that is still pending: wait for that one's outcome.
      guard models[at: index].outbox.isFirst(write, over: field) else { return .waits }
      guard let mine = pending.value(of: field) else { continue }
      let known = models[at: index].replica.field(field)
      let (value, version) = (known?.value, known?.version ?? 0)
      let (seen, base) = (pending.seen[field]?.value.known, pending.seen[field]?.base)
      let isUntouched = pending.seen[field]?.isUntouched(value, at: version) ?? false
      if !isUntouched, !FieldValue.isSame(value, seen) {
        switch rule {
        case .compareAndSet:
          end(write, as: .conflict(conflict(about: field, at: index)), at: index)
          return .ended
        case .text:
          if let merged = FieldValue.mergedText(base: base, first: value, second: mine) {
            models[at: index].outbox.update(write) { $0.replace(field, by: merged) }
          }
        case .asked:
          return ask(MergeQuestion(field: field, base: base, mine: mine, theirs: value), of: write, at: index, &output)
        }
      }
      let epoch = models[at: index].replica.epoch
      models[at: index].outbox.update(write) {
        $0.seen[field] = .init(value: .value(value), epoch: epoch, version: version, ground: isUntouched ? base : nil)
      }
      // A field without a value may have been deleted before this replica's snapshot, at an unknown version: the
      // condition names the version at which it is known to have no value, not "never written".
      conditions.append(
        Condition(field: field, epoch: epoch, version: version > 0 ? version : models[at: index].replica.version))
    }
    models[at: index].outbox.update(write) { $0.proposal.conditions = conditions }
    // The outbox must hold what is sent.
    if keeps(modelAt: index), let sent = models[at: index].outbox[write], sent.isRewritten || sent.attempts > 0 {
      output.add(.keep(.written(sent.kept(in: models[at: index].id))))
      if sent.isVoid { output.add(.keep(.withdrawn(write))) }
      models[at: index].outbox.update(write) { $0.isRewritten = false }
    }
    return .ready
  }

  /// Asks the program to merge, at most `maxMergeAttempts` times: others may write faster than it answers, and the
  /// write would never be sent.
  private mutating func ask(
    _ question: MergeQuestion, of write: WriteID, at index: Int, _ output: inout PeerOutput
  ) -> Preparation {
    guard let pending = models[at: index].outbox[write], pending.askings < options.maxMergeAttempts else {
      end(write, as: .conflict(conflict(about: question.field, at: index)), at: index)
      return .ended
    }
    models[at: index].outbox.update(write) {
      $0.isAsking = true
      $0.askings += 1
    }
    output.add(.merge(write, model: models[at: index].id, question))
    return .waits
  }

  /// Answers `PeerAction.merge`: the value that the two become, or nil to end the write as a conflict.
  package mutating func merged(_ write: WriteID, _ question: MergeQuestion, into value: FieldValue?, now: UInt64) {
    for index in models.indices {
      guard let pending = models[at: index].outbox[write], pending.isAsking else { continue }
      if let value {
        let epoch = models[at: index].replica.epoch
        let version = models[at: index].replica.field(question.field)?.version ?? 0
        models[at: index].outbox.update(write) {
          $0.isAsking = false
          $0.replace(question.field, by: value)
          // If another value was committed meanwhile, the program is asked again: the values differ.
          $0.seen[question.field] = .init(value: .value(question.theirs), epoch: epoch, version: version)
        }
        models[at: index].touch(question.field)
        models[at: index].record(.local)
      } else {
        end(write, as: .conflict(conflict(about: question.field, at: index)), at: index)
      }
      return
    }
  }

  /// Retries a write that was refused as a conflict, if its rule allows it. Its number is used up; it gets another.
  mutating func triesAgain(
    _ write: WriteID, after conflict: Conflict, _ epoch: Epoch, at index: Int, _ output: inout PeerOutput
  ) -> Bool {
    guard let pending = models[at: index].outbox[write], let rule = pending.rules[conflict.field],
      rule != .compareAndSet, !pending.isVoid
    else { return false }
    // Texts merge without asking: a limit would lose what a slow writer typed beside fast ones.
    guard rule == .text || pending.attempts < options.maxMergeAttempts else { return false }
    counters.merged += 1
    models[at: index].outbox.unnumber(write)
    models[at: index].outbox.update(write) {
      $0.attempts += 1
      $0.proposal.conditions = []
      $0.waitsFor = (epoch, conflict.version)
      // A later write of ours may have hidden it as if the hub had applied it.
      $0.isHidden = false
    }
    // A later run has no rules: it sends the write only on condition of what its writer saw.
    if keeps(modelAt: index), let kept = models[at: index].outbox[write]?.kept(in: models[at: index].id) {
      output.add(.keep(.written(kept)))
    }
    return true
  }

  /// Retries a write whose result is unknown, if it is a plain set and all its fields are as its writer saw them. It
  /// is resent as compare-and-set on that.
  mutating func triesAgain(afterUnknown write: WriteID, at index: Int, _ output: inout PeerOutput) -> Bool {
    guard !isResumed, let pending = models[at: index].outbox[write], pending.isUnacknowledged, pending.carried == nil,
      !pending.isVoid, pending.rules.isEmpty, pending.proposal.isPlainSet, !models[at: index].isEphemeral,
      pending.proposal.operations.count <= Condition.maxCount
    else { return false }
    var conditions: [Condition] = []
    for operation in pending.proposal.operations {
      let (name, epoch) = (operation.field, models[at: index].replica.epoch)
      guard let seen = pending.seen[name], models[at: index].outbox.isLast(write, over: name) else { return false }
      let (value, version) = models[at: index].replica.field(name).map { ($0.value, $0.version) } ?? (nil, 0)
      // Across epochs values are compared; but a field without a value may have had one in between.
      let isSame = seen.value.isSame(as: value) && (value != nil || version == 0)
      guard seen.epoch == epoch ? seen.version == version : isSame else { return false }
      conditions.append(Condition(field: name, epoch: epoch, version: version))
    }
    models[at: index].outbox.unnumber(write)
    models[at: index].outbox.update(write) {
      $0.proposal.conditions = conditions
      $0.isSecondTry = true
      $0.isHidden = false
    }
    recordNumber(of: write, at: index, &output)
    return true
  }

  private func conflict(about field: String, at index: Int) -> Conflict {
    let known = models[at: index].replica.field(field)
    return Conflict(
      field: field, version: known?.version ?? 0, origin: known?.origin ?? .none, ageMilliseconds: 0,
      value: known?.value)
  }

  /// Applies the offline rules to a plain set that waited long. Unless they say otherwise it yields to what others
  /// wrote: it is sent as compare-and-set on what its writer saw (docs/guide/offline.md).
  private mutating func applyOfflineRule(_ write: WriteID, now: UInt64, at index: Int) -> Preparation {
    guard let pending = models[at: index].outbox[write], pending.proposal.isPlainSet, !models[at: index].isEphemeral,
      pending.hasWaited(at: now, options)
    else { return .ready }
    let changed = pending.proposal.operations.map(\.field).filter { name in
      guard let seen = pending.seen[name], let field = models[at: index].replica.field(name) else { return false }
      // Commits of this peer and its earlier runs were written before this.
      guard field.origin.tag != identity.tag, !previousTags.contains(field.origin.tag) else { return false }
      return seen.epoch == models[at: index].replica.epoch
        ? field.version > seen.version : !seen.value.isSame(as: field.value)
    }
    if changed.contains(where: { pending.offline[$0] == .drops }) {
      end(write, as: .expired, at: index)
      return .ended
    }
    // One field that others changed decides for the whole proposal.
    if let field = changed.first(where: { pending.offline[$0] != .wins }), let seen = pending.seen[field] {
      let condition = Condition(field: field, epoch: seen.epoch, version: seen.version)
      models[at: index].outbox.update(write) { $0.proposal.conditions = [condition] }
    }
    return .ready
  }
}
