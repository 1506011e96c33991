import BindingWire

/// Decides proposals, one after the other, per model: in, refused, kept, expired, conflict, or not yet. Pure: it
/// changes only the model's hand.
struct Sequencer {
  let limits: Limits
  let maxUnconfirmedOutcomes: Int
  var epoch: Epoch
  var counters = HubCounters()

  /// What to say at once; nil: the answer waits in the model's hand until the decision is stored.
  enum Immediate {
    case outcome(WireOutcome.Rest)
    case nothing
  }

  /// Why a proposal becomes no commit.
  private enum Verdict: Error {
    case refused(RefusalCode, String)
    case conflict(FieldID)
    case kept
  }

  /// Decides the proposal at the cursor.
  mutating func decide(
    _ proposal: ProposalCursor, of origin: Origin, session: SessionID, in model: ModelLog, time: HubTime
  ) -> Immediate {
    counters.proposals += 1
    let writer = model.writer(for: origin)
    let record = model.withWriter(writer) { record -> WriterRecord in
      record.confirm(min(proposal.confirmed, record.storedMark))
      return record
    }
    if let early = answerOutOfTurn(proposal.number, record) { return early }
    if model.rescue != nil { return hold(.starting, pauseMilliseconds: 100) }
    if record.unconfirmedCount + model.hand.answers.count >= maxUnconfirmedOutcomes {
      return hold(.busy, pauseMilliseconds: 10)
    }

    model.withWriter(writer) { $0.decidedMark = proposal.number }
    model.hand.touchedWriters.append(writer)
    func decided(_ content: ModelLog.Answer.Content, _ stored: WireOutcome.Rest?) -> Immediate {
      if let stored { model.hand.decisions.append(Decision(origin: origin, number: proposal.number, outcome: stored)) }
      model.hand.answers.append(.init(session: session, writer: writer, number: proposal.number, content: content))
      return .nothing
    }
    if proposal.isVoid {
      counters.expired += 1
      return decided(.other(.expired), .expired)
    }
    do throws(Verdict) {
      let version = try commit(proposal, of: origin, in: model, time: time)
      return decided(.committed(version), nil)
    } catch {
      switch error {
      case .kept:
        counters.kept += 1
        return decided(.other(.kept), .kept)
      case .refused(let code, let text):
        counters.refusals[code, default: 0] += 1
        let outcome = WireOutcome.Rest.refused(Refusal(code, text))
        return decided(.other(outcome), outcome)
      case .conflict(let field):
        counters.conflicts += 1
        return decided(.conflict(field), .conflict(Sequencer.conflict(on: field, in: model, now: time.wall)))
      }
    }
  }

  /// The field as it stands, for who lost a comparison on it.
  static func conflict(on field: FieldID, in model: ModelLog, now: UInt64) -> Conflict {
    let slot = model.fields[field]
    return Conflict(
      field: slot.name, version: max(slot.version, slot.decidedVersion), origin: slot.origin,
      ageMilliseconds: now > slot.time && slot.time > 0 ? now - slot.time : 0, value: slot.fieldValue)
  }

  /// R3: repeats get the stored outcome, jumps the number that is expected.
  private mutating func answerOutOfTurn(_ number: ProposalNumber, _ record: WriterRecord) -> Immediate? {
    if number == record.decidedMark + 1 { return nil }
    if number > record.decidedMark {
      counters.jumps += 1
      return .outcome(.expected(next: record.decidedMark + 1))
    }
    counters.repeats += 1
    // Decided and not stored yet: the answer is on its way.
    if number > record.storedMark { return .nothing }
    if let outcome = record.outcome(of: number) { return .outcome(outcome) }
    if number <= record.confirmed { return .nothing }
    counters.unknownOutcomes += 1
    return .outcome(.unknown)
  }

  private mutating func hold(_ code: HoldCode, pauseMilliseconds: UInt32) -> Immediate {
    counters.holds += 1
    return .outcome(.hold(code, pauseMilliseconds: pauseMilliseconds))
  }

  // MARK: Committing

  /// Adds the proposal to the hand as one commit, or nothing of it.
  private mutating func commit(
    _ proposal: ProposalCursor, of origin: Origin, in model: ModelLog, time: HubTime
  ) throws(Verdict) -> Version {
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
      throw .refused(
        .loop,
        "\(origin.name)-\(origin.tag.short) answers an answer, \(proposal.hops) deep; maxHops is \(limits.maxHops)"
      )
    }
    try check(proposal.conditions, in: model)

    model.openHand(epoch: epoch, time: time.wall)
    let version = model.nextVersion
    let fieldsBefore = model.fields.count
    let touchedBefore = model.hand.touchedFields.count
    let weakBefore = model.hand.weakFields.count
    model.hand.commits.beginCommit(
      origin: model.hand.commits.origin(origin), number: proposal.number, hops: proposal.hops)
    do throws(Verdict) {
      let changed = try change(proposal.operations, to: version, in: model)
      if changed == 0 { throw .kept }
      model.hand.commits.endCommit()
      return version
    } catch {
      model.hand.commits.rollbackCommit()
      let mine = model.hand.touchedFields[touchedBefore...]
      for field in mine where Int(field) < fieldsBefore { undo(field, of: version, in: model) }
      model.hand.touchedFields.removeSubrange(touchedBefore...)
      model.hand.weakFields.removeSubrange(weakBefore...)
      model.fields.truncate(to: fieldsBefore)
      throw error
    }
  }

  /// Takes back what a commit that was rolled back had decided of a field. An earlier commit of the same batch may
  /// have decided it too; a proposal fails rarely, so that is looked up only then.
  private func undo(_ field: FieldID, of version: Version, in model: ModelLog) {
    let earlier = model.hand.earlierDecision[field]
    model.fields[field].forgetDecision()
    if let earlier {
      model.fields[field].decidedVersion = earlier.version
      model.fields[field].decidedHasValue = earlier.hasValue
      model.fields[field].decidedValue = earlier.value
    }
  }

  private func check(_ conditions: ConditionCursor, in model: ModelLog) throws(Verdict) {
    var conditions = conditions
    while (try? conditions.next()) == true {
      guard let field = try field(conditions.id, conditions.name, in: model) else {
        // Nobody has ever written a field that has no id.
        if conditions.version > 0, conditions.epoch == epoch, conditions.version >= model.nextVersion {
          throw .refused(
            .versionBeyondHead, "version \(conditions.version) lies beyond the head, \(model.nextVersion - 1)")
        }
        continue
      }
      let decided = model.fields[field].decidedVersion
      if conditions.version == 0 || conditions.epoch != epoch {
        if decided > 0 { throw .conflict(field) }
      } else if conditions.version >= model.nextVersion {
        throw .refused(
          .versionBeyondHead, "version \(conditions.version) lies beyond the head, \(model.nextVersion - 1)")
      } else if decided > conditions.version {
        throw .conflict(field)
      }
    }
  }

  /// - Returns: how many fields change.
  private func change(_ operations: OperationCursor, to version: Version, in model: ModelLog) throws(Verdict) -> Int {
    var operations = operations
    var changed = 0
    while (try? operations.next()) == true {
      guard let verb = operations.verb else {
        throw .refused(.unknownVerb, "verb \(operations.verbNumber) is not known here")
      }
      if verb == .clear {
        for id in 0..<FieldID(model.fields.count) where model.fields[id].decidedHasValue {
          try decide(nil, for: id, version, in: model)
          changed += 1
        }
        continue
      }
      let known = try field(operations.id, operations.name, in: model)
      if let known, model.fields[known].decidedVersion == version {
        throw .refused(.duplicateField, "\(model.fields[known].name) stands twice in one proposal")
      }
      if verb == .delete {
        guard let known, model.fields[known].decidedHasValue else { continue }
        try decide(nil, for: known, version, in: model)
        changed += 1
        continue
      }
      if verb == .whenUnset, let known, model.fields[known].decidedVersion > 0 { continue }
      guard let operand = operations.value else { throw .refused(.malformedValue, "\(verb) needs a value") }
      let id = if let known { known } else { try introduce(operations.name, in: model) }
      if operand.count > limits.maxValueBytes {
        throw .refused(
          .valueTooLarge,
          "\(model.fields[id].name) has \(operand.count) bytes; maxValueBytes is \(limits.maxValueBytes)")
      }
      if verb == .set || verb == .whenUnset {
        guard JSON.isValid(operand) else { throw .refused(.malformedValue, "\(model.fields[id].name) is no JSON text") }
        try decide(operand, for: id, version, in: model)
        if verb == .whenUnset { model.hand.weakFields.append(id) }
      } else {
        try merge(verb, operand, into: id, version, in: model)
      }
      changed += 1
    }
    return changed
  }

  private func merge(
    _ verb: Verb, _ operand: UnsafeRawBufferPointer, into id: FieldID, _ version: Version, in model: ModelLog
  ) throws(Verdict) {
    let slot = model.fields[id]
    let present: FieldValue? =
      slot.decidedVersion == slot.version
      ? slot.fieldValue : slot.decidedHasValue ? slot.decidedValue : nil
    guard let merged = Merge.apply(verb, operand: FieldValue(bytes: Array(operand)), to: present) else {
      throw .refused(.notANumber, "\(slot.name): \(verb) takes a number and a field that holds one")
    }
    let isTaken = merged.bytes.withUnsafeBytes { model.hand.commits.change(id, $0) }
    try note(merged, isTaken, for: id, version, in: model)
  }

  /// Notes a value (nil: a deletion) for the batch.
  private func decide(
    _ value: UnsafeRawBufferPointer?, for id: FieldID, _ version: Version, in model: ModelLog
  ) throws(Verdict) {
    let isTaken = model.hand.commits.change(id, value)
    try note(value.map { FieldValue(bytes: Array($0)) }, isTaken, for: id, version, in: model)
  }

  private func note(
    _ value: FieldValue?, _ isTaken: Bool, for id: FieldID, _ version: Version, in model: ModelLog
  ) throws(Verdict) {
    guard isTaken else { throw .refused(.tooManyFields, "the proposal changes more fields than a commit holds") }
    let slot = model.fields[id]
    if slot.decidedVersion != slot.version {
      model.hand.earlierDecision[id] = .init(
        version: slot.decidedVersion, hasValue: slot.decidedHasValue, value: slot.decidedValue)
    }
    model.fields[id].decidedVersion = version
    model.fields[id].decidedHasValue = value != nil
    model.fields[id].decidedValue = value
    model.hand.touchedFields.append(id)
  }

  /// The field that is meant; nil if nobody has named it before.
  private func field(
    _ id: FieldID?, _ name: UnsafeRawBufferPointer?, in model: ModelLog
  ) throws(Verdict) -> FieldID? {
    if let name { return model.fields.id(of: name) }
    guard let id, Int(id) < model.fields.count else {
      throw .refused(.unknownField, "there is no field \(id ?? 0); name it")
    }
    return id
  }

  private func introduce(_ name: UnsafeRawBufferPointer?, in model: ModelLog) throws(Verdict) -> FieldID {
    guard let name else { throw .refused(.badName, "a new field needs a name") }
    do throws(WireError) {
      try Names.checkField(name)
    } catch {
      throw .refused(.badName, error.problem)
    }
    guard model.fields.count < limits.maxModelFields else {
      throw .refused(
        .modelFull, "the model has \(model.fields.count) fields; maxModelFields is \(limits.maxModelFields)")
    }
    let id = model.fields.add(String(decoding: name, as: UTF8.self))
    _ = model.hand.commits.introduce(name)
    return id
  }
}
