import BindingProtocol

extension Session {
  /// A new request connection is open: sends hello under a new session number.
  package mutating func opened(now: UInt64, into output: inout PeerOutput) {
    guard !phase.isStopped else { return }
    counters.connections += 1
    sessionID = generator.nextNonZero()
    start = 0
    openedAt = now
    lastReceivedAt = now
    move(to: .welcoming, &output)
    let hello = Hello(
      lowest: 0, highest: 0, identity: identity, isResuming: wasWelcomed, leaseMilliseconds: options.leaseMilliseconds,
      encoding: "json", capabilities: Capability.all)
    send(.hello(hello), now: now, &output)
  }

  /// The connection was lost or could not be opened: retries after a pause.
  package mutating func lost(now: UInt64, into output: inout PeerOutput) {
    reopen(.lost, now: now, &output)
  }

  mutating func reopen(_ reason: Reopening, now: UInt64, _ output: inout PeerOutput) {
    guard !phase.isStopped else { return }
    if phase == .live {
      output.add(.notice(.reopening(reason)))
      outage = Outage(since: now)
    }
    detach()
    refusal = nil
    move(to: .connecting, &output)
    openedAt = now
    let pause = backoff.pause(
      from: options.shortestPauseMilliseconds, to: options.longestPauseMilliseconds, using: &generator)
    output.add(.open(afterMilliseconds: pause))
  }

  /// Discards everything that belonged to the connection; replicas and pending writes stay.
  private mutating func detach() {
    if phase == .live { silentSince = lastReceivedAt }
    welcome = nil
    start = 0
    topics.removeAll()
    lastHeartbeat = 0
    reports.removeAll()
    barriers.disconnect()
    for index in models.indices {
      if models[at: index].isCurrent { models[at: index].staleSince = lastReceivedAt }
      models[at: index].joining = .idle
      models[at: index].healed = 0
      models[at: index].topic = nil
      models[at: index].chunks.removeAll()
      models[at: index].buffered.removeAll()
      models[at: index].bufferedBytes = 0
      models[at: index].sendsFrom = 0
    }
  }

  mutating func move(to phase: Phase, _ output: inout PeerOutput) {
    guard self.phase != phase else { return }
    self.phase = phase
    output.add(.phase(phase))
  }

  mutating func stop(_ reason: StopReason, _ output: inout PeerOutput) {
    guard !phase.isStopped else { return }
    recordHubAndOutcomes(&output)
    detach()
    move(to: .stopped(reason), &output)
    for id in barriers.removeAll() { output.add(.awaited(id, .stopped(reason))) }
    for id in models.keys.sorted() {
      settleAll(in: id, as: .unknown("this peer has stopped"))
    }
    // The writes end for this program, not for the outbox: the next run sends them. Under another's tag no run can.
    if reason != .notYours { settledRecorded = settled.count }
    output.add(.close)
  }

  /// Ends the session: unacknowledged writes end as unknown, and the hub is notified. If an outbox keeps such writes,
  /// the hub is not notified, so that it remembers this identity.
  package mutating func bye(now: UInt64, into output: inout PeerOutput) {
    if phase == .live, !keepsOutbox || unconfirmed == 0 {
      // The hub forgets an identity immediately once all its outcomes are confirmed.
      let entries = aliveEntries().filter { $0.confirmed > 0 }
      if !entries.isEmpty { send(.alive(Alive(heartbeat: lastHeartbeat, entries: entries)), now: now, &output) }
    }
    if phase == .live, !keepsOutbox || unconfirmed == 0 { send(.leave(Leave()), now: now, &output) }
    stop(.closed, &output)
  }

  mutating func settleAll(in id: String, as outcome: Outcome) {
    guard let index = models.index(of: id) else { return }
    for write in models[at: index].outbox.order where models[at: index].outbox[write]?.carried == nil {
      if models[at: index].outbox.isUnacknowledged(write) { settled.append((write, id, outcome)) }
      models[at: index].touch(models[at: index].outbox.remove(write))
    }
    models[at: index].record(.detached)
  }

  // MARK: Welcome

  mutating func handle(_ welcome: Welcome, start: StartNumber, now: UInt64, _ output: inout PeerOutput) {
    guard phase == .welcoming, welcome.session == sessionID else { return }
    self.welcome = welcome
    self.start = start
    refusal = nil
    limits = welcome.limits
    backoff.reset()
    lastHeartbeat = 0
    lastHeartbeatAt = now
    if let logID, logID != welcome.logID { changeLog(from: logID, to: welcome.logID, &output) }
    logID = welcome.logID
    endDisowned()
    if let epoch, epoch != welcome.epoch {
      output.add(.notice(.newEpoch(old: epoch, new: welcome.epoch)))
    }
    if let epoch, wasWelcomed, !welcome.knewIdentity, mayBeForgotten(by: welcome, now: now),
      // A new epoch of the log may hold most of what this peer wrote. A hub that announces how long it remembers
      // identities forgets none earlier; for one that does not, numbered writes are resent unchanged.
      epoch == welcome.epoch || welcome.limits.identityMilliseconds > 0
    {
      forgetNumbers(&output)
    }
    epoch = welcome.epoch
    hubNow = welcome.now
    wasWelcomed = true
    for index in models.indices {
      models[at: index].replica.forgetIDs()
      models[at: index].outbox.sendAllAgain()
      guard models[at: index].isEphemeral, !welcome.knewIdentity || models[at: index].replica.epoch != Epoch(start)
      else { continue }
      models[at: index].mayBeAnew = true
      endDecided(at: index)
    }
    claimAgain(now: now, &output)
    move(to: .live, &output)
    if outage.end() { output.add(.notice(.hubFound)) }
    output.add(.listen(sessionTopic: Topics.sessionTopic(sessionID), endpoints: welcome.endpoints))
    askToJoin(Array(models.keys), now: now, &output)
    if !prefixes.isEmpty {
      send(
        .join(prefixes.sorted { $0.key < $1.key }.map { Join(request: $0.value, prefix: $0.key) }), now: now, &output)
    }
  }

  /// The replicas belong to another log: sets them aside; nothing of them is shown or sent.
  private mutating func changeLog(from old: LogID, to new: LogID, _ output: inout PeerOutput) {
    output.add(.notice(.otherLog(old: old, new: new)))
    epoch = nil
    for id in models.keys.sorted() where !Names.isEphemeral(id) {
      settleAll(in: id, as: .unknown("the hub has another log than the one this was written for"))
      guard let index = models.index(of: id) else { continue }
      models[at: index].turn(from: old, to: new)
      models[at: index].record(.detached)
    }
  }

  /// R11: whether a hub that does not know this identity may have forgotten its decisions. A hub keeps the last
  /// decided numbers of all identities that had a session within the time that it announces. If this peer's first
  /// number is more recent, the hub has decided none of its writes, or only in models that are gone, whose outcomes
  /// were all confirmed. What is pending has then never arrived, and is resent unchanged.
  ///
  /// The elapsed time is the longer of two: by this clock, which may have slept, and by the hub's. Half of the
  /// announced time is a margin for clocks of different speed. How long an earlier run waited is unknown.
  private func mayBeForgotten(by welcome: Welcome, now: UInt64) -> Bool {
    guard !isResumed else { return true }
    guard let first = firstNumbered else { return false }
    let byHub = max(first.hub, welcome.now) - min(first.hub, welcome.now)
    return max(now - min(first.now, now), byHub) >= UInt64(max(welcome.limits.identityMilliseconds, 0)) / 2
  }

  /// R11: the hub no longer knows which of our numbers it decided. Texts are merged again and plain sets are resent
  /// as compare-and-set on what their writer saw; the result of other writes is unknown.
  private mutating func forgetNumbers(_ output: inout PeerOutput) {
    output.add(.notice(.unknownIdentity))
    for id in models.keys.sorted() where !Names.isEphemeral(id) {
      guard let index = models.index(of: id) else { continue }
      for write in models[at: index].outbox.order {
        guard let pending = models[at: index].outbox[write], pending.number != nil, pending.isUnacknowledged else {
          continue
        }
        if pending.isVoid || pending.isHidden {
          // A withdrawn write must not be applied again, and `expired` would claim that it never was. A write that
          // the hub has decided is in the values here, or was refused.
          end(write, as: .unknown("the hub has forgotten this peer"), at: index)
        } else if pending.isRepeatable {
          models[at: index].outbox.unnumber(write)
          models[at: index].outbox.update(write) {
            $0.proposal.conditions = []
            $0.isSecondTry = true
          }
          recordUnnumbered(write, at: index, &output)
        } else if pending.proposal.isPlainSet, let conditions = conditions(on: pending, at: index) {
          models[at: index].outbox.unnumber(write)
          models[at: index].outbox.update(write) {
            $0.proposal.conditions = conditions
            $0.isSecondTry = true
          }
          recordNumber(of: write, at: index, &output)
        } else {
          end(write, as: .unknown("the hub has forgotten this peer"), at: index)
        }
      }
    }
  }

  /// The conditions for resending a write that the hub may have applied and forgotten. "Never written" is too weak a
  /// condition: the field may have been written and deleted, and its model removed. The condition names the version
  /// at which the field is known to have no value; nil if none is known.
  private func conditions(on write: Pending, at index: Int) -> [Condition]? {
    let replica = models[at: index].replica
    var conditions = Session.conditions(on: write)
    guard conditions.count == write.proposal.operations.count else { return nil }
    for condition in conditions.indices where conditions[condition].version == 0 {
      guard replica.version > 0 else { return nil }
      conditions[condition].epoch = replica.epoch
      conditions[condition].version = replica.version
    }
    return conditions
  }

  static func conditions(on write: Pending) -> [Condition] {
    write.proposal.operations.prefix(Condition.maxCount).compactMap { operation in
      write.seen[operation.field].map { Condition(field: operation.field, epoch: $0.epoch, version: $0.version) }
    }
  }

  // MARK: Time

  /// When `tick` is due.
  package var nextDeadline: UInt64 {
    min(linkDeadline, barriers.nextDeadline)
  }

  private var linkDeadline: UInt64 {
    switch phase {
    case .offline: return hasStarted ? .max : 0
    case .stopped: return .max
    case .connecting: return outage.deadline
    case .welcoming: return min(openedAt + options.welcomeMilliseconds, outage.deadline)
    case .live:
      var deadline = min(lastReceivedAt, lastHeartbeatAt) + silenceMilliseconds
      deadline = min(deadline, lastSentAt + leaseThird)
      for index in models.indices {
        switch models[at: index].joining {
        case .asked(_, let at), .catchingUp(_, let at): deadline = min(deadline, at + options.joinMilliseconds)
        case .current:
          let from = models[at: index].sendsFrom
          if !models[at: index].outbox.isEmpty, from > 0 { deadline = min(deadline, from) }
        case .idle: break
        }
      }
      return deadline
    }
  }

  private var silenceMilliseconds: UInt64 { 3 * UInt64(welcome?.heartbeatMilliseconds ?? 1_000) + 1_000 }
  private var leaseThird: UInt64 { max(UInt64(welcome?.leaseMilliseconds ?? 10_000) / 3, 100) }

  /// Performs what is due at this time.
  package mutating func tick(now: UInt64, into output: inout PeerOutput) {
    for id in barriers.expired(now: now) { output.add(.awaited(id, .noAnswer)) }
    if !phase.isStopped, outage.shouldReport(at: now) { output.add(.notice(.noHub)) }
    switch phase {
    case .offline:
      guard !hasStarted else { return }
      hasStarted = true
      move(to: .connecting, &output)
      output.add(.open(afterMilliseconds: 0))
    case .welcoming:
      if now >= openedAt + options.welcomeMilliseconds { reopen(.noWelcome, now: now, &output) }
    case .live: tickLive(now: now, &output)
    case .connecting, .stopped: break
    }
  }

  private mutating func tickLive(now: UInt64, _ output: inout PeerOutput) {
    if now >= lastReceivedAt + silenceMilliseconds { return reopen(.silence, now: now, &output) }
    if now >= lastHeartbeatAt + silenceMilliseconds { return reopen(.noHeartbeats, now: now, &output) }
    if now >= lastSentAt + leaseThird { owesAlive = true }
    let late = ids { index in
      switch models[at: index].joining {
      case .asked(_, let at), .catchingUp(_, let at): now >= at + options.joinMilliseconds
      case .idle, .current: false
      }
    }
    if !late.isEmpty { askToJoin(late, now: now, &output) }
  }
}
