import BindingWire

extension Session {
  /// Takes one frame from either connection. What does not follow the grammar, or belongs to another start of the hub,
  /// is dropped and counted.
  public mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64, into output: inout PeerOutput) {
    counters.framesReceived += 1
    var reader = WireReader(frame)
    do throws(WireError) {
      let header = try HubHeader(from: &reader)
      if header.kind == .welcome {
        lastHeard = now
        return take(try Welcome(from: &reader), start: header.start, now: now, &output)
      }
      if header.kind == .error {
        return take(try HubError(from: &reader), now: now, &output)
      }
      guard phase == .live, header.start == start else {
        counters.otherStart += 1
        return
      }
      lastHeard = now
      if header.kind == .commits {
        try commits(reader, frame, header.topic, now: now, &output)
      } else {
        try take(HubMessage(header.kind, from: &reader), header.topic, now: now, &output)
      }
    } catch {
      counters.badFrames += 1
      output.add(.notice(.badFrame(error)))
    }
  }

  private mutating func take(
    _ message: HubMessage, _ topic: Topic, now: UInt64, _ output: inout PeerOutput
  ) throws(WireError) {
    switch message {
    case .topic(let assigned): take(assigned, &output)
    case .joined(let joined): take(joined, now: now, &output)
    case .catchup(let chunk): take(chunk, now: now, &output)
    case .outcomes(let outcomes): take(outcomes, now: now, &output)
    case .announce(let announce): take(announce, &output)
    case .head(let head):
      if let id = topics[topic] { compare(id, head.epoch, head.version, head.digest, now: now, &output) }
    case .heads(let heads):
      for head in heads.heads {
        guard let id = topics[head.topic] else { continue }
        compare(id, life(of: id, in: heads.epoch), head.version, head.digest, now: now, &output)
      }
    case .beat(let beat): take(beat, now: now, &output)
    case .pong(let pong): output.add(.pong(token: pong.token))
    case .askOffer(let ask): offer(ask, now: now, &output)
    case .judge(let judge):
      guard let id = topics[judge.topic] else { return }
      // The process that owned the model is no more; only what it left is still sent under its name.
      if isResumed {
        answer(judge, refusing: nil, now: now, into: &output)
      } else {
        output.add(.judge(model: id, judge))
      }
    case .awaited(let awaited): take(awaited, &output)
    case .ask(let ask): if let id = topics[topic] { asked(id, for: ask.version) }
    case .welcome, .error, .commits, .statusReport: break
    }
  }

  private mutating func take(_ error: HubError, now: UInt64, _ output: inout PeerOutput) {
    guard error.session == sessionID, phase == .welcoming || phase == .live else { return }
    output.add(.notice(.hubError(code: error.code, fatal: error.isFatal, text: error.text)))
    switch error.code {
    case .fenced: stop(.fenced, &output)
    case .otherProtocol: stop(.otherProtocol(error.text), &output)
    case .notYours: stop(.notYours, &output)
    default: if error.isFatal { reopen(.hubError(error.code), now: now, &output) }
    }
  }

  // MARK: Joins

  private mutating func take(_ assigned: TopicAssigned, _ output: inout PeerOutput) {
    guard assigned.session == sessionID, let model = models[assigned.model] else { return }
    guard model.topic != assigned.topic else { return }
    if let old = model.topic {
      topics[old] = nil
      output.add(.unsubscribe(old))
    }
    models[assigned.model]?.topic = assigned.topic
    topics[assigned.topic] = assigned.model
    output.add(.subscribe(assigned.topic))
  }

  private mutating func take(_ joined: Joined, now: UInt64, _ output: inout PeerOutput) {
    guard joined.session == sessionID, var model = models[joined.model], model.request == joined.request else { return }
    if !model.isEphemeral { epoch = joined.epoch }
    let isNothingMissing =
      model.replica.version == joined.version && (joined.version == 0 || model.replica.epoch == joined.epoch)
    if joined.follows == .nothing, !isNothingMissing {
      // The hub believes that there is nothing to add to what we do not have: start from nothing.
      model.replica.reach(0, epoch: 0)
      models[joined.model] = model
      askToJoin([joined.model], now: now, &output)
    } else if joined.follows == .nothing {
      if model.replica.epoch != joined.epoch { model.touch(model.outbox.unhide()) }
      model.replica.reach(joined.version, epoch: joined.epoch)
      model.touch(model.outbox.hide(upTo: joined.mark))
      models[joined.model] = model
      becomeCurrent(joined.model, now: now, &output)
    } else {
      model.joining = .catchingUp(request: joined.request, at: now)
      model.chunks.removeAll()
      models[joined.model] = model
    }
  }

  private mutating func take(_ chunk: CatchupChunk, now: UInt64, _ output: inout PeerOutput) {
    guard let place = models.indices.first(where: { models[at: $0].request == chunk.request }),
      case let id = models.keys[place], chunk.session == sessionID,
      var model = models[id], case .catchingUp = model.joining, chunk.chunk == UInt32(model.chunks.count)
    else { return }
    model.joining = .catchingUp(request: chunk.request, at: now)
    model.chunks.append(chunk)
    #if MUTANTS
      if Mutant.isOn(.applyFirstChunk), !chunk.isLast {
        models[id] = model
        return apply(model.chunks, to: id) ? becomeCurrent(id, now: now, &output) : ()
      }
    #endif
    guard chunk.isLast else {
      models[id] = model
      return
    }
    let chunks = model.chunks
    model.chunks.removeAll()
    let isRepair = model.replica.version > 0
    models[id] = model
    let settledBefore = settled.count
    guard apply(chunks, to: id) else {
      settled.removeLast(settled.count - settledBefore)
      // It does not fit what is here: start from nothing.
      models[id]?.replica.reach(0, epoch: 0)
      models[id]?.replica.forgetIDs()
      return askToJoin([id], now: now, &output)
    }
    if chunk.form == .delta { counters.deltas += 1 } else { counters.snapshots += 1 }
    if isRepair {
      let commits = chunk.version - min(chunk.version, chunk.previous)
      output.add(.notice(.healed(model: id, form: chunk.form, commits: commits)))
    }
    becomeCurrent(id, now: now, &output)
  }

  /// Applies a whole catch-up. False if names are missing or a delta begins beyond what is here.
  private mutating func apply(_ chunks: [CatchupChunk], to id: String) -> Bool {
    guard var model = models[id], let last = chunks.last else { return false }
    let from = model.replica.version
    let isOtherLife = last.epoch != model.replica.epoch
    if last.form == .delta {
      guard last.epoch == model.replica.epoch, last.previous <= from else { return false }
    }
    for chunk in chunks {
      for (offset, name) in chunk.names.names.enumerated() {
        guard model.replica.learn(name, as: chunk.names.first + FieldID(offset)) else { return false }
      }
    }
    if isOtherLife { model.touch(model.outbox.unhide()) }
    var named: Swift.Set<Int> = []
    for chunk in chunks {
      for entry in chunk.entries {
        guard let place = model.replica.place(ofID: entry.field), Int(entry.origin) < chunk.origins.count else {
          return false
        }
        named.insert(place)
        let origin = chunk.origins[Int(entry.origin)]
        if origin.tag == identity.tag { noteOwn(entry.number, at: entry.version, epoch: last.epoch, in: &model) }
        if earlierTags.contains(origin.tag) { noteEarlier(origin.tag, entry.number, in: &model) }
        guard last.form == .snapshot || entry.version > from else { continue }
        model.replica.commit(
          entry.value, at: place, version: entry.version, origin: origin, number: entry.number, time: entry.time)
      }
    }
    if last.form == .snapshot { model.replica.removeAll(but: named, version: last.version) }
    model.replica.reach(last.version, epoch: last.epoch)
    #if MUTANTS
      let mark = Mutant.isOn(.ignoreMark) ? 0 : last.mark
    #else
      let mark = last.mark
    #endif
    model.touch(model.outbox.hide(upTo: mark))
    // What was acknowledged in a life that is over is in this state, or lost with that life: it no longer lies over it.
    let reached: Version = isOtherLife ? .max : last.version
    model.touch(model.outbox.drop(reached: reached))
    model.note(last.form == .delta ? .delta(from: from) : .snapshot)
    model.folded += last.version - min(last.version, last.form == .delta ? from : 0)
    models[id] = model
    return true
  }

  /// The catch-up is over: what came meanwhile is applied, and what has no outcome is sent again (R15).
  private mutating func becomeCurrent(_ id: String, now: UInt64, _ output: inout PeerOutput) {
    guard var model = models[id] else { return }
    model.joining = .current
    model.currentSince = beatsSeen
    model.note(.outcome)
    #if MUTANTS
      if Mutant.isOn(.renumberResent) { for write in model.outbox.order { model.outbox.unnumber(write) } }
    #endif
    let buffered = model.buffered
    model.buffered.removeAll()
    model.bufferedBytes = 0
    for write in model.outbox.order { model.outbox.update(write) { $0.needsSending = true } }
    models[id] = model
    noteHealed(id)
    guard let topic = model.topic else { return }
    for frame in buffered {
      frame.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        guard (try? HubHeader(from: &reader)) != nil else { return }
        try? commits(reader, bytes, topic, now: now, &output)
      }
    }
  }

  /// Asks to be caught up with from what is here.
  mutating func rejoin(_ id: String, now: UInt64, _ output: inout PeerOutput) {
    guard models[id]?.isCurrent == true else { return }
    askToJoin([id], now: now, &output)
  }

  private mutating func compare(
    _ id: String, _ epoch: Epoch, _ version: Version, _ digest: UInt64, now: UInt64, _ output: inout PeerOutput
  ) {
    guard let index = models.place(of: id), models[at: index].isCurrent else { return }
    let known = models[at: index].replica.version
    if epoch != models[at: index].replica.epoch {
      rejoin(id, now: now, &output)
    } else if version > known {
      counters.gaps += 1
      output.add(.notice(.gap(model: id, from: known, to: version)))
      rejoin(id, now: now, &output)
    } else if version == known {
      let mine = models[at: index].replica.digest()
      guard mine != digest else { return }
      counters.divergences += 1
      output.add(.notice(.diverged(model: id, version: version)))
      models[id]?.replica.reach(0, epoch: 0)
      models[id]?.isHealing = true
      rejoin(id, now: now, &output)
    }
  }

  private mutating func take(_ announce: Announce, _ output: inout PeerOutput) {
    guard let prefix = prefixes.first(where: { $0.value == announce.request })?.key else { return }
    for model in announce.models {
      output.add(.announced(prefix: prefix, model: model.model, version: model.version, fields: Int(model.fields)))
    }
    if announce.isComplete { output.add(.listed(prefix: prefix)) }
  }

  private mutating func take(_ beat: Beat, now: UInt64, _ output: inout PeerOutput) {
    if lastBeat != 0, beat.number > lastBeat + 1 {
      counters.missedBeats += 1
      output.add(.notice(.missedBeat(last: lastBeat)))
      owesAskHeads = true
      #if MUTANTS
        if Mutant.isOn(.ignoreMissedBeat) { owesAskHeads = false }
      #endif
    }
    // Before its first beat a peer may have missed the heads that went with earlier ones.
    if lastBeat == 0 { owesAskHeads = true }
    guard beat.number > lastBeat else { return }
    lastBeat = beat.number
    lastBeatAt = now
    beatsSeen += 1
    // Each of a change's three heads may be lost and no beat with them: now and then the heads are asked for anyway.
    if beatsSeen % SessionOptions.beatsBetweenHeads == 0 { owesAskHeads = true }
    owesAlive = true
    if isResumed { endUnanswered() }
    claimLost(now: now, &output)
    for place in models.indices { models[at: place].outbox.sendAgain(sentBefore: beatsSeen) }
  }
}
