import BindingPeer
import BindingProtocol

/// What a session wants done, and what arrives at it.
extension SimulatedPeer {
  func deliver(_ frame: [UInt8], _ generation: Int) throws(Violation) {
    guard link.generation == generation else { return }
    context.recordDelivered(frame)
    record("\(hub) → \(self)  \(FrameText.text(ofHubFrame: frame))")
    let kind = HubMessageKind(rawValue: frame[4])
    try invariants.observe(.reading(kind))
    if kind == .catchup { countOlderSnapshot(frame) }
    frame.withUnsafeBytes { session.receive($0, now: clock, into: &effects) }
    if kind == .welcome || kind == .heartbeat { process.heardAt = now }
    try settle()
    try invariants.observe(.reading(nil))
  }

  private func countOlderSnapshot(_ frame: [UInt8]) {
    guard case (let header, .catchup(let chunk))? = try? HubMessage.decode(frame), chunk.form == .snapshot,
      let model = hub.model(of: header.topic), chunk.version < session.version(of: modelNames[model]).version
    else { return }
    counts[.snapshotOlder] += 1
  }

  func tick() throws(Violation) {
    let (run, time) = (process.run, clock)
    let due = read { $0.nextDeadline }
    if !process.isPaused, due <= time {
      session.tick(now: time, into: &effects)
      try settle()
    }
    let wait = due == .max ? 200 : min(due - min(due, time), 200)
    agenda.add(.tick(peer: index, run: run), at: now + max(wait, 25))
  }

  /// Queues a frame for a stopped process. Published frames beyond `queueFrames` are dropped silently.
  func queue(_ frame: [UInt8], _ generation: Int, isPublished: Bool) {
    if isPublished {
      guard process.publishedInInbox < profile.queueFrames else {
        counts[.queueOverflow] += 1
        return
      }
      process.publishedInInbox += 1
    }
    process.inbox.append((generation, frame))
  }

  // MARK: The process

  func pause() {
    process.isPaused = true
    process.pausedAt = now
  }

  func resume() throws(Violation) {
    record("\(self) goes on")
    process.isPaused = false
    process.slept += now - process.pausedAt
    let inbox = process.inbox
    process.inbox.removeAll()
    process.publishedInInbox = 0
    for (generation, frame) in inbox { try deliver(frame, generation) }
  }

  // MARK: Connections

  func connect(_ generation: Int) throws(Violation) {
    guard link.generation == generation else { return }
    if let cell = hub.cell {
      let other = cell.hub(at: session.hubs.current)
      if other !== hub, link.hubSide >= 0 { counts[.movedToOtherHub] += 1 }
      hub = other
    }
    guard hub.isThere else {
      link.generation += 1
      session.lost(now: clock, into: &effects)
      return try settle()
    }
    counts[.connected] += 1
    link.hubSide = generation
    link.isConnected = true
    // What it says may overtake what the last connection still brings.
    link.lastUpArrival = 0
    link.topics.removeAll()
    session.opened(now: clock, into: &effects)
    try settle()
  }

  /// Cuts both connections. The peer notices immediately, the hub when it next receives from that peer.
  func disconnect() {
    guard link.isConnected else { return }
    closeLink()
    session.lost(now: clock, into: &effects)
  }

  private func closeLink() {
    link.isConnected = false
    (link.lost, link.lostIn) = (link.hubSide, hub.run)
    hub.closed(link)
    link.topics.removeAll()
    link.generation += 1
  }

  func endMute(_ generation: Int) throws(Violation) {
    link.muteUntil = 0
    guard link.generation == generation else { return }
    disconnect()
    try settle()
  }

  // MARK: Models

  func join(_ model: String) throws(Violation) {
    session.join(model, now: clock, into: &effects)
    if let index = modelNames.firstIndex(of: model), session.version(of: model).version == 0 {
      observed.seen[index] = (0, 0)
      numbers.seen[index].removeAll()
    }
    try settle()
  }

  func leave(_ model: String) throws(Violation) {
    session.leave(model, now: clock, into: &effects)
    try settle()
  }

  /// New observers of a model have not been notified yet.
  func forgetNotified(_ model: Int) {
    guard !session.knows(modelNames[model]) else { return }
    for field in SimulatedField.names.indices { observed.notified[model][field] = nil }
  }

  // MARK: Effects

  /// Carries out the session's effects.
  func settle() throws(Violation) {
    session.finishDrain(now: clock, into: &effects)
    if !effects.isEmpty {
      // An effect may call `settle` again: the nested call finds no spare effects and makes its own.
      var present = PeerEffects()
      swap(&present, &spareEffects)
      swap(&present, &effects)
      try carryOut(present)
      if outbox.successor != nil { try reportToSuccessor(present) }
      present.removeAll()
      swap(&present, &spareEffects)
    } else if outbox.successor != nil {
      try reportToSuccessor(PeerEffects())
    }
    if !writes.acknowledged.isEmpty { try invariants.observe(.peerSettled(self)) }
    if outbox.keeping.choice != nil { keepSoon() }
  }

  private func carryOut(_ effects: PeerEffects) throws(Violation) {
    for entry in effects.journal { keep(entry) }
    for action in effects.link { try perform(action) }
    for update in effects.updates {
      try invariants.observe(.updated(update, self))
      // A session that resends an earlier run's writes makes none of its own.
      if outbox.successor == nil { answerSometimes(update) }
    }
    // A hub that has forgotten this peer explains outcomes of the same drain.
    if effects.events.contains(where: \.isUnknownIdentity) {
      numbers.wasForgotten = true
      (outbox.successor ?? self).outbox.forgottenRuns.insert(outbox.bookRun)
      // Outcomes are then recorded before the replica that contains them: after a crash it may show older values.
      outbox.keeping.acknowledged.removeAll()
      outbox.successor?.outbox.keeping.acknowledged.removeAll()
    }
    for report in effects.outcomes {
      switch report {
      case .settled(let id, let model, let outcome):
        if outbox.keeping.choice != nil { recordAcknowledged(id, outcome) }
        try invariants.observe(.ended(id, model: model, outcome, self))
      case .retryLater(_, _, let code):
        let isTooMany = code == .busy && profile.maxUnacknowledged < 10
        counts[isTooMany ? .retriedAsTooMany : .retryLater] += 1
      }
    }
    for question in effects.questions {
      switch question {
      case .merge(let id, let model, let question): try ask(question, of: id, in: model)
      case .approve(_, let request): ask(request)
      case .past(let model, let question):
        session.answer(question, in: model, with: UndoWorkload(context, invariants.undo).answer(question))
      }
    }
    for event in effects.events { try handle(event) }
  }

  private func perform(_ action: LinkAction) throws(Violation) {
    switch action {
    case .open(let pause):
      // The session itself gave up the connection.
      if link.isConnected { closeLink() }
      agenda.add(.connect(peer: index, generation: link.generation), at: now + pause + 1)
    case .send(let frame):
      guard link.isConnected else { return }
      link.session = PeerHeader.session(ofFrame: frame.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[...]) })
      try invariants.observe(.peerSent(frame, self))
      if now < link.muteUntil { return }
      hub.network.send(frame, of: self)
    case .listen(let sessionTopic, _):
      hub.network.subscribe(sessionTopic, true, of: self)
      hub.network.subscribe(Topics.bytes(Topics.heartbeat), true, of: self)
    case .subscribe(let topic): hub.network.subscribe(Topics.bytes(topic), true, of: self)
    case .unsubscribe(let topic): hub.network.subscribe(Topics.bytes(topic), false, of: self)
    case .learn(let keys):
      guard keys.session == link.session else {
        throw Violation(.hubKeys, "\(self) learned the keys that the hub told session \(keys.session)")
      }
      counts[.keysLearned] += 1
      process.learned = keys
    case .remember, .close: break
    }
  }

  private func handle(_ event: SessionEvent) throws(Violation) {
    switch event {
    case .notice(let notice): try count(notice)
    case .awaited(let id, let end): try invariants.observe(.barrierEnded(id, end, self))
    case .past(let id, let end): try historyEnded(id, end)
    case .announced(_, let model, _, _):
      counts[.announced] += 1
      if let index = modelNames.firstIndex(of: model) { observed.announced[index] = true }
    case .phase(.stopped(.fenced)):
      throw Violation(.fencing, "\(self) was fenced, although no later session of its identity has begun")
    case .listed, .phase, .pong: break
    }
  }

  private func count(_ notice: Notice) throws(Violation) {
    record("\(self) \(notice)")
    switch notice {
    case .gap: counts[.gap] += 1
    case .healed(_, let form, _): counts[form == .delta ? .healedByDelta : .healedBySnapshot] += 1
    case .missedHeartbeat: counts[.missedHeartbeat] += 1
    case .newEpoch: counts[.newEpoch] += 1
    case .offered: counts[.offered] += 1
    case .hubError(.notPermitted, _, _): counts[.joinRefusedWithoutRight] += 1
    case .diverged: try invariants.observe(.diverged)
    default: break
    }
  }
}

extension SessionEvent {
  fileprivate var isUnknownIdentity: Bool { if case .notice(.unknownIdentity) = self { true } else { false } }
}
