import BindingProtocol

/// Following the hub: joins and the deltas or snapshots that answer them, published commits, and heads that show what
/// is missing. Where the replica does not fit, the model lapses, and the session asks for it again.
extension ModelSync {
  // MARK: Joining

  /// The join that states the epoch, version, names and lowest unacknowledged number of the replica.
  mutating func ask(as request: UInt32, now: UInt64, isJournalLagging: Bool) -> Join {
    join.lapse(at: now)
    join.ask(request, at: now)
    catchup.removeChunks()
    return Join(
      request: request, model: id, epoch: join.startsOver ? 0 : replica.epoch,
      version: join.startsOver ? 0 : replica.version, namesKnown: UInt32(replica.namesKnown),
      unacknowledged: isJournalLagging ? 1 : lowestUnconfirmed)
  }

  /// The hub assigns a topic.
  /// - Returns: the former topic; nil: none.
  mutating func assign(_ topic: Topic) -> Topic? {
    let old = join.topic
    // The model was removed and recreated: frames under the old topic use other field ids.
    if old != nil { catchup.removeFrames() }
    join.topic = topic
    return old
  }

  /// The hub accepts the join and says what follows. If nothing follows although something is missing, the model
  /// lapses and starts over.
  /// - Returns: whether the catch-up is complete.
  mutating func receive(
    _ joined: Joined, after heartbeat: UInt64, now: UInt64, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) -> Bool {
    join.accept()
    guard joined.follows == .nothing else {
      join.catchUp(joined.request, at: now)
      catchup.removeChunks()
      return false
    }
    let startsOver = join.startsOver
    guard (startsOver ? 0 : replica.version) == joined.version,
      joined.version == 0 || replica.epoch == joined.epoch
    else {
      join.startsOver = true
      join.lapse(at: now)
      return false
    }
    if startsOver {
      replica.removeAll(but: [])
      update.record(.snapshot)
    }
    if replica.epoch != joined.epoch {
      keeping.forgetMarks()
      touch(writes.unhide())
      if !writes.isEmpty { update.record(.snapshot) }
    }
    reach(joined.version, epoch: joined.epoch, lastDecided: joined.lastDecided)
    becomeCurrent(after: heartbeat, now: now, &context, &effects)
    return true
  }

  /// A chunk of the catch-up. The last one is applied with all before it; if they do not fit, the model lapses and
  /// starts over.
  /// - Returns: whether the catch-up is complete.
  mutating func receive(
    _ chunk: CatchupChunk, after heartbeat: UInt64, now: UInt64, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) -> Bool {
    guard case .catchingUp = join.progress, chunk.chunk == UInt32(catchup.chunks.count) else { return false }
    join.catchUp(chunk.request, at: now)
    catchup.append(chunk)
    guard chunk.isLast else { return false }
    let isRepair = replica.version > 0 && !join.startsOver
    guard apply(catchup.takeChunks(), &context) else {
      join.startsOver = true
      replica.forgetIDs()
      join.lapse(at: now)
      return false
    }
    if chunk.form == .delta { context.counters.deltas += 1 } else { context.counters.snapshots += 1 }
    if isRepair {
      let commits = chunk.version - min(chunk.version, chunk.previous)
      effects.events.append(.notice(.healed(model: id, form: chunk.form, commits: commits)))
    }
    becomeCurrent(after: heartbeat, now: now, &context, &effects)
    return true
  }

  /// Applies a complete catch-up. Returns false if names are missing or a delta begins beyond the replica's version.
  private mutating func apply(_ chunks: [CatchupChunk], _ context: inout SessionContext) -> Bool {
    guard let last = chunks.last else { return false }
    let (from, isSnapshot) = (replica.version, last.form == .snapshot)
    let isOtherEpoch = last.epoch != replica.epoch
    guard isSnapshot || !isOtherEpoch && last.previous <= from && !join.startsOver else { return false }
    guard replica.knowsFields(of: chunks) else { return false }
    replica.reserve(names: chunks.reduce(0) { $0 + $1.names.names.count })
    for chunk in chunks {
      for (offset, name) in chunk.names.names.enumerated() {
        _ = replica.learn(name, as: chunk.names.first + FieldID(offset))
      }
    }
    if isOtherEpoch {
      keeping.forgetMarks()
      touch(writes.unhide())
    }
    var named = [Bool](repeating: false, count: isSnapshot ? replica.fields.count : 0)
    for chunk in chunks {
      for entry in chunk.entries {
        guard let field = replica.index(ofID: entry.field) else { continue }
        if isSnapshot { named[field] = true }
        let origin = chunk.origins[Int(entry.origin)]
        recordNumber(entry.number, of: origin.tag, at: entry.version, last.epoch, &context)
        guard isSnapshot || entry.version > from else { continue }
        if undo != nil, !isSnapshot, entry.version == from + 1 {
          recordCommit(
            entry.number, of: origin.tag, to: entry.value, at: field, .init(epoch: last.epoch, version: entry.version),
            context)
        }
        replica.commit(
          entry.value, at: field, version: entry.version, origin: origin, number: entry.number, time: entry.time)
      }
    }
    if isSnapshot { replica.removeAll(but: named) }
    reach(last.version, epoch: last.epoch, lastDecided: last.lastDecided)
    update.record(isSnapshot ? .snapshot : .delta(from: from))
    update.coalesce(last.version - min(last.version, isSnapshot ? 0 : from))
    return true
  }

  /// Ends a join: the committed values have this version and hold this peer's writes up to `lastDecided`.
  private mutating func reach(_ version: Version, epoch: Epoch, lastDecided: ProposalNumber) {
    // What was acknowledged in an earlier epoch is in this state or was lost with that epoch: it leaves the overlay.
    let isOtherEpoch = epoch != replica.epoch
    let reached: Version = isOtherEpoch ? .max : version
    replica.reach(version, epoch: epoch)
    undo?.fold(into: replica)
    if isOtherEpoch { undo?.rebase(onto: replica) }
    join.startsOver = false
    touch(writes.hide(upTo: lastDecided))
    drop(reached: reached)
  }

  /// Ends a catch-up: applies the commits buffered meanwhile, and resends what has no outcome (R15).
  private mutating func becomeCurrent(
    after heartbeat: UInt64, now: UInt64, _ context: inout SessionContext, _ effects: inout PeerEffects
  ) {
    join.becomeCurrent(after: heartbeat)
    keeping.becomeCurrent()
    update.record(.outcome)
    if claims.mayBeAnew {
      claims.mayBeAnew = false
      endForgotten(&context)
    }
    let frames = catchup.takeFrames()
    writes.sendAllAgain()
    guard join.topic != nil else { return }
    for frame in frames {
      frame.withUnsafeBytes { bytes in
        var reader = WireReader(bytes)
        guard (try? HubHeader(from: &reader)) != nil else { return }
        try? receiveCommits(reader, in: bytes, now: now, &context, &effects)
      }
    }
  }

  // MARK: Commits and heads

  /// Applies published commits (R14).
  mutating func receiveCommits(
    _ reader: WireReader, in frame: UnsafeRawBufferPointer, now: UInt64, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) throws(WireError) {
    var cursor = try CommitCursor(reader)
    guard join.isCurrent else { return buffer(frame, &context) }
    guard fits(cursor, frame, now: now, &context, &effects) else { return }
    // A complete replica would know every name: this one is not complete, and nothing is applied.
    guard try replica.knowsFields(of: cursor) else {
      replica.forgetIDs()
      return join.lapse(at: now)
    }
    var names = cursor.names
    while try names.next() { _ = replica.learn(String(decoding: names.name, as: UTF8.self), as: names.id) }
    var origins: [Origin] = []
    var list = cursor.origins
    while try list.next() { origins.append(list.origin) }
    while try cursor.next() { try apply(cursor, origins[Int(cursor.origin)], &context) }
    drop(reached: replica.version)
    update.record(.commits)
  }

  private mutating func apply(
    _ cursor: CommitCursor, _ origin: Origin, _ context: inout SessionContext
  ) throws(WireError) {
    let isOwn = origin.tag == context.identity.tag
    recordNumber(cursor.number, of: origin.tag, at: cursor.version, cursor.epoch, &context)
    if cursor.version <= replica.version {
      context.counters.repeats += 1
      return
    }
    let isRecorded = undo != nil && (isOwn || context.previousTags.contains(origin.tag))
    var listed: [FieldChange] = []
    var changes = cursor.changes
    while try changes.next() {
      guard let field = replica.index(ofID: changes.field) else { continue }
      let value = changes.value.map { FieldValue(bytes: Array($0)) }
      if isRecorded {
        recordCommit(
          cursor.number, of: origin.tag, to: value, at: field, .init(epoch: cursor.epoch, version: cursor.version),
          context)
      }
      replica.commit(
        value, at: field, version: cursor.version, origin: origin, number: cursor.number, time: cursor.time)
      listed.append(FieldChange(field: replica.fields[field].name, value: value))
    }
    replica.reach(cursor.version, epoch: cursor.epoch)
    if isRecorded { finishCommit(cursor.number, of: origin.tag, context) }
    context.counters.commitsApplied += 1
    if !isOwn { update.commit(hops: cursor.hops) }
    update.append(
      CommitInfo(
        version: cursor.version, origin: origin, number: cursor.number, time: cursor.time, hops: cursor.hops,
        changes: listed, own: isOwn),
      limit: context.options.maxListedCommits)
  }

  /// Whether the commits follow the replica's version; if not, the model lapses.
  private mutating func fits(
    _ cursor: CommitCursor, _ frame: UnsafeRawBufferPointer, now: UInt64, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) -> Bool {
    let version = replica.version
    let isOther = cursor.epoch != replica.epoch
    let isPastGap = cursor.previous > version
    guard isOther || isPastGap else { return true }
    join.lapse(at: now)
    guard !isOther else { return false }
    context.counters.gaps += 1
    effects.events.append(.notice(.gap(model: id, from: version, to: cursor.lastVersion)))
    buffer(frame, &context)
    return false
  }

  private mutating func buffer(_ frame: UnsafeRawBufferPointer, _ context: inout SessionContext) {
    if !catchup.append(frame, limit: context.options.maxBufferedBytes) { context.counters.unbuffered += 1 }
  }

  /// A commit with this number is in the hub's log. R4: if it is this peer's, it is the outcome of its write; that
  /// write and all own lower ones of this model leave the overlay.
  mutating func recordNumber(
    _ number: ProposalNumber, of tag: Tag, at version: Version, _ epoch: Epoch, _ context: inout SessionContext
  ) {
    replica.see(tag, number)
    if tag == context.identity.tag {
      if let id = writes.id(of: number), writes.isUnacknowledged(id) {
        settle(id, as: .committed(epoch: epoch, version: version), &context)
        release(id)
      }
      touch(writes.hide(upTo: number))
    }
    // The outcomes of an earlier run's writes come from the session that sends them.
    if context.previousTags.contains(tag) {
      keeping.raise(tag, to: number)
      touch(writes.hide(carriedBy: tag, upTo: number))
    }
  }

  /// Removes the committed writes that the replica has reached; `.max` removes them all.
  mutating func drop(reached version: Version) {
    for write in writes.takeArrived(by: version) { touch(writes.remove(write)) }
  }

  /// Compares the replica with the head of the hub's model.
  mutating func compare(
    _ epoch: Epoch, _ version: Version, _ digest: UInt64, now: UInt64, _ context: inout SessionContext,
    _ effects: inout PeerEffects
  ) {
    guard join.isCurrent else { return }
    let known = replica.version
    if epoch != replica.epoch {
      join.lapse(at: now)
    } else if version > known {
      context.counters.gaps += 1
      effects.events.append(.notice(.gap(model: id, from: known, to: version)))
      join.lapse(at: now)
    } else if version == known, replica.digest() != digest {
      context.counters.divergences += 1
      effects.events.append(.notice(.diverged(model: id, version: version)))
      join.startsOver = true
      divergence.isUnderWay = true
      join.lapse(at: now)
    }
  }
}
