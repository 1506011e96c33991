import BindingWire

extension HubMachine {
  mutating func propose(
    _ proposals: ProposalCursor, _ frame: UnsafeRawBufferPointer, _ session: SessionID, _ time: HubTime,
    _ output: inout HubOutput
  ) throws(WireError) {
    let speaker = sessions.with(session) {
      (origin: $0.identity, connection: $0.connection, undecided: $0.undecided, seat: $0.seat)
    }
    guard let (origin, connection, before, seatBefore) = speaker else { return }
    var proposals = proposals
    var index = -1
    var copy: [UInt8]?
    var undecided = before
    // Most frames are about one model, and most sessions write to one for long.
    var seat = seatBefore
    defer {
      sessions.with(session) { record in
        record.undecided = undecided
        record.seat = seat
      }
    }
    while try proposals.next() {
      index += 1
      guard let model = self.index(of: proposals.topic),
        isSeated(seat, in: model) || models[model].sessions.contains(session)
      else {
        error(
          .notJoined, "topic \(proposals.topic) has not been joined", session, connection, isFatal: false, &output)
        continue
      }
      touch(model)
      let mustWait = models[model].isBusy || undecided >= configuration.limits.maxUndecided
      if mustWait, answerRepeat(proposals, origin, session, model) { continue }
      if undecided >= configuration.limits.maxUndecided {
        hold(proposals.topic, proposals.number, pause: 20, session)
        continue
      }
      if models[model].isBusy {
        // Decided when the batch is stored: decisions stand on stored state only; or when the owner has answered.
        if models[model].waiting.count < configuration.maxWaitingProposals {
          let bytes = copy ?? Array(frame)
          copy = bytes
          models[model].waiting.append(.init(session: session, frame: bytes, index: index))
          undecided += 1
        } else {
          hold(proposals.topic, proposals.number, pause: 20, session)
        }
        continue
      }
      let writer: Int
      if let seat, isSeated(seat, in: model) {
        writer = seat.writer
      } else {
        writer = self.writer(origin, in: model)
        seat = Seat(model: model, writer: writer, seating: models[model].seating)
      }
      switch decide(proposals, origin, writer, session, model, time) {
      case .answered: break
      case .waits: undecided += 1
      case .judged(let fields):
        let bytes = copy ?? Array(frame)
        copy = bytes
        ask(
          about: fields, of: .init(session: session, frame: bytes, index: index), by: origin, in: model, time, &output)
        undecided += 1
      }
    }
  }

  private func isSeated(_ seat: Seat?, in model: Int) -> Bool {
    seat?.model == model && seat?.seating == models[model].seating
  }

  private mutating func hold(
    _ topic: Topic, _ number: ProposalNumber, _ code: HoldCode = .busy, pause pauseMilliseconds: UInt32,
    _ session: SessionID
  ) {
    sequencer.counters.holds += 1
    tell(.init(topic: topic, number: number, .hold(code, pauseMilliseconds: pauseMilliseconds)), session)
  }

  /// The place of an identity among a model's writers.
  private mutating func writer(_ origin: Origin, in model: Int) -> Int {
    if models[model].knownWriter(origin.tag) == nil { sessions.identities[origin.tag]?.models.insert(model) }
    return models[model].writer(for: origin)
  }

  /// What became of a proposal that was looked at.
  enum Decided {
    /// It was told.
    case answered
    /// It is told when the store has it.
    case waits
    /// The model's owner has to be asked.
    case judged([JudgedField])
  }

  mutating func decide(
    _ proposal: ProposalCursor, _ origin: Origin, _ writer: Int, _ session: SessionID, _ model: Int, _ time: HubTime,
    leave: Sequencer.Leave? = nil
  ) -> Decided {
    let log = models[model]
    if log.hand.isOpen, log.hand.commits.isFull {
      hold(proposal.topic, proposal.number, pause: 1, session)
      return .answered
    }
    let answers = log.hand.answers.count
    let leave = leave ?? (needsLeave(origin.tag, in: log) ? .toBeAsked : .given)
    switch sequencer.decide(
      proposal, of: origin, writer: writer, session: session, in: log, time: time, leave: leave,
      mayBeOld: !log.seenNumbers.isEmpty && mayBeOld(proposal, session))
    {
    case .nothing: break
    case .outcome(let outcome): tell(WireOutcome(topic: proposal.topic, number: proposal.number, outcome), session)
    case .judge(let fields): return .judged(fields)
    }
    return log.hand.answers.count > answers ? .waits : .answered
  }

  /// Undoes what was decided on top of the stored state, and nobody was told of.
  mutating func dropHand(_ index: Int) {
    forEachRun(models[index].hand.answers) { machine, run in
      machine.sessions.with(run[run.startIndex].session) { $0.undecided = max($0.undecided - run.count, 0) }
    }
    models[index].dropHand()
    models[index].forgetWriters()
  }

  // MARK: Ending a drain

  /// Lets what was decided leave as batches, one per model, and answers what can be answered without them.
  public mutating func finishDrain(time: HubTime, into output: inout HubOutput) {
    if !sequencer.declared.isEmpty { noteDeclared(&output) }
    takeWaitingJoins(time, &output)
    for index in touched { settleEphemeral(index, time, &output) }
    var still: [Int] = []
    for index in touched {
      let isRescued = finishRescue(index, time)
      let model = models[index]
      if !model.waitingJoins.isEmpty { raiseMarks(index, time) }
      if model.hasHand, !model.isAppending, model.ephemeral == nil {
        let batch = model.takeBatch(epoch: epoch)
        #if MUTANTS
          if Mutant.isOn(.publishUnstored) { publish(batch, index, &output) }
          if Mutant.isOn(.acknowledgeUnstored) {
            let others = model.hand.others
            forEachRun(model.hand.answers) { $0.tell($1, others, of: model, wall: time.wall) }
          }
        #endif
        output.batches.append(batch)
      }
      answerJoins(index, time, &output)
      if !isRescued || !model.waitingJoins.isEmpty || model.isBusy {
        still.append(index)
      } else {
        isTouched[index] = false
      }
    }
    touched = still
    tellCatchups(&output)
    if !announcing.isEmpty { announceShares(&output) }
    sendOutcomes(&output)
    sendReports(time, &output)
    if !barriers.isEmpty { endBarriers(time, &output) }
    if !verifications.isEmpty { endVerifications(time, &output) }
  }

  /// Takes in what became of batches, in the order in which they left: what was stored is applied, published and
  /// acknowledged.
  public mutating func appended(
    _ results: [Appended], of batches: [Batch], time: HubTime, into output: inout HubOutput
  ) {
    for (result, batch) in zip(results, batches) {
      guard let index = modelIndex[batch.model] else { continue }
      switch result {
      case .stored: stored(batch, index, time, &output)
      case .moved(let others):
        sequencer.counters.movedBatches += 1
        putOff(index)
        for other in others {
          models[index].apply(other, recentLimit: configuration.recentCommits)
          publish(other, index, &output)
        }
      case .full:
        sequencer.counters.fullAppends += 1
        sequencer.storeFullUntil = time.monotonic + configuration.fullMilliseconds
        putOff(index, .storeFull, pauseMilliseconds: UInt32(clamping: configuration.fullMilliseconds))
      case .unknown:
        sequencer.counters.unknownBatches += 1
        output.reload.append(batch.model)
        continue
      }
      goOn(index, time, &output)
    }
    finishDrain(time: time, into: &output)
  }

  /// Takes a model from the store, after an append whose end is unknown: it is the truth, whatever we had decided.
  public mutating func reloaded(_ stored: StoredModel, time: HubTime, into output: inout HubOutput) {
    guard let index = modelIndex[stored.model] else { return }
    putOff(index)
    do throws(StoreError) {
      try takeIn(stored, index, &output)
    } catch {
      output.failure = error
      return
    }
    goOn(index, time, &output)
    finishDrain(time: time, into: &output)
  }

  /// Takes in what others have stored meanwhile. What was folded cannot be published any more: who has joined is told
  /// the head, and catches up.
  private mutating func takeIn(
    _ stored: StoredModel, _ index: Int, _ output: inout HubOutput
  ) throws(StoreError) {
    let model = models[index]
    let folded = try ModelFold(StoredModel(model: stored.model, chunks: stored.chunks, batches: []))
    guard folded.record <= model.records else {
      try model.restore(stored, recentLimit: configuration.recentCommits)
      model.headsLeft = 3
      recentlyChanged.insert(index)
      return
    }
    for batch in stored.batches where batch.record > model.records {
      model.apply(batch, recentLimit: configuration.recentCommits)
      publish(batch, index, &output)
    }
  }

  mutating func stored(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = models[index]
    sequencer.counters.batches += 1
    sequencer.counters.commits += batch.version - batch.previous
    sequencer.counters.changes += UInt64(model.hand.touched.count)
    model.apply(batch, recentLimit: configuration.recentCommits)
    let hand = model.hand
    if !catchups.isEmpty { noteChanges(hand.touched, in: model, after: batch.previous) }
    for (field, version) in hand.weakFields where model.fields[field].version == version {
      model.fields[field].isWeak = true
    }
    for (field, point) in hand.rescuedFields { model.noteBroughtBack(field, from: point) }
    forEachRun(hand.answers) { machine, run in machine.tell(run, hand.others, of: model, wall: time.wall) }
    model.clearHand()
    model.isAppending = false
    model.forgetWriters()
    publish(batch, index, &output)
  }

  /// Undoes the hand; its proposers are asked to send again.
  private mutating func putOff(_ index: Int, _ code: HoldCode = .busy, pauseMilliseconds: UInt32 = 5) {
    let model = models[index]
    let answers = model.hand.answers
    if let rescue = model.hand.rescue { model.rescue = rescue }
    model.isAppending = false
    dropHand(index)
    for answer in answers { hold(model.topic, answer.number, code, pause: pauseMilliseconds, answer.session) }
  }

  /// Decides what waited for the store, or for the owner.
  mutating func goOn(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    touch(index)
    guard !models[index].isAppending else { return }
    believeLate(index, time, &output)
    raiseMarks(index, time)
    answerJoins(index, time, &output)
    endCatchups(of: index, &output)
    var waiting = models[index].waiting[...]
    if let judging = models[index].judging {
      guard let leave = judging.leave else { return }
      models[index].judging = nil
      decideWaiting(judging.proposal, leave, index, time, &output)
    }
    while models[index].judging == nil, let next = waiting.popFirst() {
      decideWaiting(next, nil, index, time, &output)
    }
    models[index].waiting = Array(waiting)
  }

  private mutating func decideWaiting(
    _ proposal: ModelLog.Waiting, _ leave: Sequencer.Leave?, _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard let origin = sessions[proposal.session]?.identity else { return }
    let writer = writer(origin, in: index)
    let decided = proposal.frame.withUnsafeBytes { bytes -> Decided in
      // The frame was read once already, whole.
      var reader = WireReader(bytes)
      guard (try? PeerHeader(from: &reader)) != nil, var proposals = try? ProposalCursor(reader) else {
        return .answered
      }
      for _ in 0...proposal.index { _ = try? proposals.next() }
      return decide(proposals, origin, writer, proposal.session, index, time, leave: leave)
    }
    switch decided {
    case .answered: sessions.with(proposal.session) { $0.undecided = max($0.undecided - 1, 0) }
    case .waits: break
    case .judged(let fields): ask(about: fields, of: proposal, by: origin, in: index, time, &output)
    }
  }
}
