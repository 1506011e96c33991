public import BindingWire

extension Session {
  /// What became of a write that was to be sent.
  enum Preparation { case ready, waits, ended }

  /// Brings a write that was never sent, or was refused as a conflict, up to what is committed now, and lays down on
  /// what it depends.
  mutating func prepare(
    _ write: WriteID, now: UInt64, in model: inout PeerModel, _ output: inout PeerOutput
  ) -> Preparation {
    guard let pending = model.outbox[write] else { return .ended }
    guard !pending.rules.isEmpty else {
      // An earlier life wrote it over a write of its own that never was committed: what it saw never was.
      if isResumed, let field = pending.fieldSeenAlone(in: model.replica) {
        end(write, as: .conflict(conflict(about: field, in: model)), in: &model)
        return .ended
      }
      return applyOfflineRule(write, now: now, in: &model)
    }
    guard !pending.isAsking, pending.hasArrived(in: model.replica) else { return .waits }
    var conditions: [Condition] = []
    for (field, rule) in pending.ruledFields {
      // What it was written on is a write of ours that is still under way: then on what that becomes.
      guard model.outbox.isFirst(write, over: field) else { return .waits }
      guard let place = model.replica.place(of: field), let mine = pending.value(of: field) else { continue }
      let now = model.replica.fields[place]
      let (seen, base) = (pending.seen[field]?.value.known, pending.seen[field]?.base)
      // Where nobody ever wrote, its writer saw the declared default, or a write of ours that came to nothing.
      let isUntouched = now.value == nil && now.version == 0 && pending.seen[field]?.isOwn != true
      if !isUntouched, !FieldValue.isSame(now.value, seen) {
        switch rule {
        case .compareAndSet:
          end(write, as: .conflict(conflict(about: field, in: model)), in: &model)
          return .ended
        case .text:
          if let merged = FieldValue.mergedText(base: base, first: now.value, second: mine) {
            model.outbox.update(write) { $0.replace(field, by: merged) }
          }
        case .asked:
          // Others may write faster than it can be answered: then it is never sent, and would be asked for ever.
          guard pending.askings < options.maxMergeAttempts else {
            end(write, as: .conflict(conflict(about: field, in: model)), in: &model)
            return .ended
          }
          model.outbox.update(write) {
            $0.isAsking = true
            $0.askings += 1
          }
          output.add(
            .merge(write, model: model.id, MergeQuestion(field: field, base: base, mine: mine, theirs: now.value)))
          return .waits
        }
      }
      model.outbox.update(write) {
        $0.seen[field] = .init(
          value: .value(now.value), epoch: model.replica.epoch, version: now.version, ground: isUntouched ? base : nil)
      }
      conditions.append(Condition(field: field, epoch: model.replica.epoch, version: now.version))
    }
    #if MUTANTS
      if Mutant.isOn(.mergeUnconditionally) { conditions.removeAll() }
    #endif
    model.outbox.update(write) { $0.proposal.conditions = conditions }
    // What is kept must be what is sent.
    if keeps(model), let sent = model.outbox[write], sent.isRewritten || sent.attempts > 0 {
      output.add(.keep(.written(sent.kept(in: model.id))))
      if sent.isVoid { output.add(.keep(.withdrawn(write))) }
      model.outbox.update(write) { $0.isRewritten = false }
    }
    return .ready
  }

  /// The answer to `PeerAction.merge`: what the two values become, or nil to give the write up as a conflict.
  public mutating func merged(_ write: WriteID, _ question: MergeQuestion, into value: FieldValue?, now: UInt64) {
    for id in models.keys {
      guard var model = models[id], let pending = model.outbox[write], pending.isAsking else { continue }
      if let value {
        let epoch = model.replica.epoch
        let version = model.replica.place(of: question.field).map { model.replica.fields[$0].version } ?? 0
        model.outbox.update(write) {
          $0.isAsking = false
          $0.replace(question.field, by: value)
          #if MUTANTS
            if Mutant.isOn(.askForEver) { return }
          #endif
          // Should another have been committed while it was asked, it is asked again: the value tells.
          $0.seen[question.field] = .init(value: .value(question.theirs), epoch: epoch, version: version)
        }
        #if MUTANTS
          if Mutant.isOn(.trustStaleMerge) {
            let now = model.replica.place(of: question.field).flatMap { model.replica.fields[$0].value }
            model.outbox.update(write) {
              $0.seen[question.field] = .init(value: .value(now), epoch: epoch, version: version)
            }
          }
        #endif
        model.touch([question.field])
        model.note(.local)
      } else {
        end(write, as: .conflict(conflict(about: question.field, in: model)), in: &model)
      }
      models[id] = model
      return
    }
  }

  /// Whether a write that was refused as a conflict is tried again. Its number is used up; it gets another.
  mutating func triesAgain(
    _ write: WriteID, after conflict: Conflict, _ epoch: Epoch, in model: inout PeerModel, _ output: inout PeerOutput
  ) -> Bool {
    guard let pending = model.outbox[write], pending.rules[conflict.field].map({ $0 != .compareAndSet }) ?? false,
      pending.attempts < options.maxMergeAttempts, !pending.isVoid
    else { return false }
    counters.merged += 1
    model.outbox.unnumber(write)
    model.outbox.update(write) {
      $0.attempts += 1
      $0.proposal.conditions = []
      $0.waitsFor = (epoch, conflict.version)
      // A later write of ours may have hidden it, as something that the hub had taken.
      $0.isHidden = false
    }
    noteUnnumbered(write, in: model, &output)
    return true
  }

  private func conflict(about field: String, in model: PeerModel) -> Conflict {
    let known = model.replica.place(of: field).map { model.replica.fields[$0] }
    return Conflict(
      field: field, version: known?.version ?? 0, origin: known?.origin ?? .none, ageMilliseconds: 0,
      value: known?.value)
  }

  /// A plain set that waited long for a hub yields to what others wrote meanwhile, or does as its field says: it goes
  /// as compare-and-set on what its writer saw (DESIGN §5).
  private mutating func applyOfflineRule(_ write: WriteID, now: UInt64, in model: inout PeerModel) -> Preparation {
    guard let pending = model.outbox[write], pending.proposal.isPlainSet, !model.isEphemeral,
      pending.isOld || now >= pending.writtenAt + options.offlineMilliseconds
    else { return .ready }
    let changed = pending.proposal.operations.map(\.field).filter { name in
      guard let seen = pending.seen[name], let place = model.replica.place(of: name) else { return false }
      let field = model.replica.fields[place]
      // What we ourselves, or our earlier lives, committed meanwhile was written before this.
      guard field.origin.tag != identity.tag, !earlierTags.contains(field.origin.tag) else { return false }
      return seen.epoch == model.replica.epoch ? field.version > seen.version : !seen.value.isSame(as: field.value)
    }
    if changed.contains(where: { pending.offline[$0] == .drops }) {
      end(write, as: .expired, in: &model)
      return .ended
    }
    // One field that others changed decides for the whole proposal.
    if let field = changed.first(where: { pending.offline[$0] != .wins }), let seen = pending.seen[field] {
      let condition = Condition(field: field, epoch: seen.epoch, version: seen.version)
      model.outbox.update(write) { $0.proposal.conditions = [condition] }
    }
    return .ready
  }
}
