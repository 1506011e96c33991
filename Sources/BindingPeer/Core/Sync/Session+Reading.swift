import BindingProtocol

extension Session {
  /// Handles one frame from either connection. A frame that violates the grammar, or belongs to another start of the
  /// hub, is dropped and counted.
  package mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64, into output: inout PeerOutput) {
    counters.framesReceived += 1
    var reader = WireReader(frame)
    do throws(WireError) {
      let header = try HubHeader(from: &reader)
      if header.kind == .welcome {
        lastReceivedAt = now
        return handle(try Welcome(from: &reader), start: header.start, now: now, &output)
      }
      if header.kind == .error {
        return handle(try ErrorMessage(from: &reader), now: now, &output)
      }
      guard phase == .live, header.start == start else {
        counters.otherStart += 1
        return
      }
      lastReceivedAt = now
      if header.kind == .commits {
        try commits(reader, frame, header.topic, now: now, &output)
      } else {
        try handle(HubMessage(header.kind, from: &reader), header.topic, now: now, &output)
      }
    } catch {
      counters.badFrames += 1
      output.add(.notice(.badFrame(error)))
    }
  }

  private mutating func handle(
    _ message: HubMessage, _ topic: Topic, now: UInt64, _ output: inout PeerOutput
  ) throws(WireError) {
    switch message {
    case .topic(let assigned): handle(assigned, &output)
    case .joined(let joined): handle(joined, now: now, &output)
    case .catchup(let chunk): handle(chunk, now: now, &output)
    case .outcomes(let outcomes): handle(outcomes, now: now, &output)
    case .announce(let announce): handle(announce, &output)
    case .head(let head):
      if let id = topics[topic] { compare(id, head.epoch, head.version, head.digest, now: now, &output) }
    case .heads(let heads):
      for head in heads.heads {
        guard let id = topics[head.topic] else { continue }
        compare(id, modelEpoch(of: id, ifStored: heads.epoch), head.version, head.digest, now: now, &output)
      }
    case .heartbeat(let heartbeat): handle(heartbeat, now: now, &output)
    case .pong(let pong): output.add(.pong(token: pong.token))
    case .askOffer(let ask): offer(ask, now: now, &output)
    case .approve(let request):
      guard let id = topics[request.topic] else { return }
      // The process that owned the model has ended; only its remaining writes are still sent under its name.
      if isResumed {
        answer(request, refusing: nil, now: now, into: &output)
      } else {
        output.add(.approve(model: id, request))
      }
    case .awaited(let awaited): handle(awaited, &output)
    case .ask(let ask): if let id = topics[topic] { reports.ask(for: ask.version, of: id) }
    case .welcome, .error, .commits, .statusReport: break
    }
  }

  private mutating func handle(_ error: ErrorMessage, now: UInt64, _ output: inout PeerOutput) {
    guard error.session == sessionID, phase == .welcoming || phase == .live else { return }
    if let index = error.refusedJoin.flatMap({ models.index(of: $0) }) {
      let refusal = JoinRefusal(code: error.code, reason: error.text)
      // The join is repeated every few seconds: an equal refusal is not reported again.
      guard models[at: index].refusal != refusal else { return }
      models[at: index].refusal = refusal
    }
    output.add(.notice(.hubError(code: error.code, fatal: error.isFatal, text: error.text)))
    // A hub answers, and the notice says why it is of no use. When a live link is lost, a new outage begins.
    _ = outage.end()
    let isRefused = error.isFatal && phase == .welcoming
    defer { if isRefused, phase == .connecting { refusal = error.text } }
    switch error.code {
    case .fenced: stop(.fenced, &output)
    case .otherProtocol: stop(.otherProtocol(error.text), &output)
    case .notYours: stop(.notYours, &output)
    default: if error.isFatal { reopen(.hubError(error.code), now: now, &output) }
    }
  }

  // MARK: Joins

  private mutating func handle(_ assigned: TopicAssigned, _ output: inout PeerOutput) {
    guard assigned.session == sessionID, let index = models.index(of: assigned.model) else { return }
    guard models[at: index].topic != assigned.topic else { return }
    if let old = models[at: index].topic {
      topics[old] = nil
      output.add(.unsubscribe(old))
      // The model was removed and recreated: frames under the old topic use other field ids.
      models[at: index].buffered.removeAll()
      models[at: index].bufferedBytes = 0
    }
    models[at: index].topic = assigned.topic
    topics[assigned.topic] = assigned.model
    output.add(.subscribe(assigned.topic))
  }

  private mutating func handle(_ joined: Joined, now: UInt64, _ output: inout PeerOutput) {
    guard joined.session == sessionID, let index = models.index(of: joined.model),
      models[at: index].request == joined.request
    else { return }
    if !models[at: index].isEphemeral { epoch = joined.epoch }
    let startsOver = models[at: index].startsOver
    let isNothingMissing =
      (startsOver ? 0 : models[at: index].replica.version) == joined.version
      && (joined.version == 0 || models[at: index].replica.epoch == joined.epoch)
    if joined.follows == .nothing, !isNothingMissing {
      // The hub has nothing to add, yet this replica is not at the hub's version.
      models[at: index].startsOver = true
      askToJoin([joined.model], now: now, &output)
    } else if joined.follows == .nothing {
      if startsOver {
        models[at: index].replica.removeAll(but: [])
        models[at: index].record(.snapshot)
      }
      if models[at: index].replica.epoch != joined.epoch {
        models[at: index].touch(models[at: index].outbox.unhide())
        if !models[at: index].outbox.isEmpty { models[at: index].record(.snapshot) }
      }
      models[at: index].reach(joined.version, epoch: joined.epoch, lastDecided: joined.lastDecided)
      becomeCurrent(at: index, now: now, &output)
    } else {
      models[at: index].joining = .catchingUp(request: joined.request, at: now)
      models[at: index].chunks.removeAll()
    }
  }

  private mutating func handle(_ chunk: CatchupChunk, now: UInt64, _ output: inout PeerOutput) {
    guard let index = models.indices.first(where: { models[at: $0].request == chunk.request }),
      chunk.session == sessionID, case .catchingUp = models[at: index].joining,
      chunk.chunk == UInt32(models[at: index].chunks.count)
    else { return }
    models[at: index].joining = .catchingUp(request: chunk.request, at: now)
    models[at: index].chunks.append(chunk)
    guard chunk.isLast else { return }
    let chunks = models[at: index].chunks
    models[at: index].chunks.removeAll()
    let isRepair = models[at: index].replica.version > 0 && !models[at: index].startsOver
    guard apply(chunks, at: index) else {
      models[at: index].startsOver = true
      models[at: index].replica.forgetIDs()
      return askToJoin([models.keys[index]], now: now, &output)
    }
    if chunk.form == .delta { counters.deltas += 1 } else { counters.snapshots += 1 }
    if isRepair {
      let commits = chunk.version - min(chunk.version, chunk.previous)
      output.add(.notice(.healed(model: models.keys[index], form: chunk.form, commits: commits)))
    }
    becomeCurrent(at: index, now: now, &output)
  }

  /// Applies a complete catch-up. Returns false if names are missing or a delta begins beyond the replica's version.
  private mutating func apply(_ chunks: [CatchupChunk], at index: Int) -> Bool {
    guard let last = chunks.last else { return false }
    let from = models[at: index].replica.version
    let isOtherEpoch = last.epoch != models[at: index].replica.epoch
    if last.form == .delta {
      guard !isOtherEpoch, last.previous <= from, !models[at: index].startsOver else { return false }
    }
    guard models[at: index].replica.knowsFields(of: chunks) else { return false }
    models[at: index].replica.reserve(names: chunks.reduce(0) { $0 + $1.names.names.count })
    for chunk in chunks {
      for (offset, name) in chunk.names.names.enumerated() {
        _ = models[at: index].replica.learn(name, as: chunk.names.first + FieldID(offset))
      }
    }
    if isOtherEpoch { models[at: index].touch(models[at: index].outbox.unhide()) }
    var named = [Bool](repeating: false, count: last.form == .snapshot ? models[at: index].replica.fields.count : 0)
    for chunk in chunks {
      for entry in chunk.entries {
        guard let field = models[at: index].replica.index(ofID: entry.field) else { continue }
        if last.form == .snapshot { named[field] = true }
        let origin = chunk.origins[Int(entry.origin)]
        models[at: index].replica.seen.record(origin.tag, entry.number)
        if origin.tag == identity.tag { recordOwn(entry.number, at: entry.version, epoch: last.epoch, at: index) }
        if previousTags.contains(origin.tag) { recordEarlier(origin.tag, entry.number, at: index) }
        guard last.form == .snapshot || entry.version > from else { continue }
        models[at: index].replica.commit(
          entry.value, at: field, version: entry.version, origin: origin, number: entry.number, time: entry.time)
      }
    }
    if last.form == .snapshot { models[at: index].replica.removeAll(but: named) }
    models[at: index].reach(last.version, epoch: last.epoch, lastDecided: last.lastDecided)
    models[at: index].record(last.form == .delta ? .delta(from: from) : .snapshot)
    models[at: index].coalesced += last.version - min(last.version, last.form == .delta ? from : 0)
    return true
  }

  /// Ends a catch-up: applies the commits buffered meanwhile, and resends what has no outcome (R15).
  private mutating func becomeCurrent(at index: Int, now: UInt64, _ output: inout PeerOutput) {
    models[at: index].joining = .current
    models[at: index].refusal = nil
    models[at: index].currentSince = heartbeatsSeen
    models[at: index].record(.outcome)
    if models[at: index].mayBeAnew {
      models[at: index].mayBeAnew = false
      endDecided(at: index)
    }
    let buffered = models[at: index].buffered
    models[at: index].buffered.removeAll()
    models[at: index].bufferedBytes = 0
    models[at: index].outbox.sendAllAgain()
    recordHealed(at: index)
    guard let topic = models[at: index].topic else { return }
    for frame in buffered {
      frame.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        guard (try? HubHeader(from: &reader)) != nil else { return }
        try? commits(reader, bytes, topic, now: now, &output)
      }
    }
    findOrphanedFields(at: index, now: now, &output)
  }

  /// Asks for a catch-up from the replica's version.
  mutating func rejoin(_ id: String, now: UInt64, _ output: inout PeerOutput) {
    guard let index = models.index(of: id), models[at: index].isCurrent else { return }
    askToJoin([id], now: now, &output)
  }

  private mutating func compare(
    _ id: String, _ epoch: Epoch, _ version: Version, _ digest: UInt64, now: UInt64, _ output: inout PeerOutput
  ) {
    guard let index = models.index(of: id), models[at: index].isCurrent else { return }
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
      models[at: index].startsOver = true
      models[at: index].isHealing = true
      rejoin(id, now: now, &output)
    }
  }

  private mutating func handle(_ announce: Announce, _ output: inout PeerOutput) {
    guard let prefix = prefixes.first(where: { $0.value == announce.request })?.key else { return }
    for model in announce.models {
      output.add(.announced(prefix: prefix, model: model.model, version: model.version, fields: Int(model.fields)))
    }
    if announce.isComplete { output.add(.listed(prefix: prefix)) }
  }

  private mutating func handle(_ heartbeat: Heartbeat, now: UInt64, _ output: inout PeerOutput) {
    if lastHeartbeat != 0, heartbeat.number > lastHeartbeat + 1 {
      counters.missedHeartbeats += 1
      output.add(.notice(.missedHeartbeat(last: lastHeartbeat)))
      owesAskHeads = true
    }
    // Before its first heartbeat a peer may have missed the heads that went with earlier ones.
    if lastHeartbeat == 0 { owesAskHeads = true }
    guard heartbeat.number > lastHeartbeat else { return }
    lastHeartbeat = heartbeat.number
    lastHeartbeatAt = now
    hubNow = heartbeat.now
    heartbeatsSeen += 1
    // All three heads of a change may be lost without a missed heartbeat: now and then the heads are asked for
    // anyway.
    if heartbeatsSeen % SessionOptions.heartbeatsBetweenHeads == 0 { owesAskHeads = true }
    owesAlive = true
    if isResumed { endUnanswered() }
    claimLost(now: now, &output)
    for index in models.indices { models[at: index].outbox.sendAgain(sentBefore: heartbeatsSeen) }
  }
}
