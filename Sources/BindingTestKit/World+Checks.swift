import BindingHub
import BindingPeer
import BindingWire

extension Counts {
  mutating func add(_ counters: HubCounters) {
    repeats += counters.repeats
    routedJoins += counters.routedJoins
    rescuedFields += counters.rescuedFields
    jumps += counters.jumps
    raisedMarks += counters.raisedMarks
    expiredLeases += counters.expiredLeases
    movedBatches += counters.movedBatches
    unknownBatches += counters.unknownBatches
  }
}

extension World {
  // MARK: Applications

  func makePeer(_ index: Int, life: Int = 0, generation: Int = 0, book: OutboxBook? = nil) -> SimulatedPeer {
    let identity = Identity(
      tag: Tag(rawValue: chance.next() | 1), secret: Secret(high: chance.next(), low: chance.next()), name: "p\(index)")
    let offset = chance.below(2) == 0 ? 0 : UInt64(chance.below(5_000))
    var options = SessionOptions()
    options.offlineMilliseconds = 10_000
    var session = Session(
      identity: identity, seed: chance.next(), options: options, now: now + offset, keepsOutbox: book != nil)
    var book = book
    let earlier = (book?.reopen() ?? []).map { ($0, session.carry($0, wall: wall)) }
    let bookLife = book?.begin(identity) ?? 0
    var output = PeerOutput()
    for model in modelNames { session.join(model, now: now + offset, into: &output) }
    let peer = SimulatedPeer(
      session: session, output: output, generation: generation == 0 ? (index + 1) * 1_000_000 : generation, life: life,
      clockOffset: offset)
    peer.book = book
    peer.bookLife = bookLife
    peer.earlier = earlier
    return peer
  }

  /// One step of a peer's application: a write most of the time, sometimes a fault.
  func act(_ peer: Int) throws(Broken) {
    guard isChaos, peers[peer].steps < climate.steps else { return }
    peers[peer].steps += 1
    agenda.add(.act(peer: peer), at: now + 1 + chance.within(0...(2 * climate.pace)))
    if hub != nil, chance.perMille(climate.hubCrashes) { try crashHub() }
    if chance.perMille(climate.cuts) {
      note("cut p\(peer)")
      breakConnection(peer)
      try settle(peer)
    }
    if chance.perMille(climate.peerCrashes) { return try crash(peer) }
    if peers[peer].isPaused { return }
    if chance.perMille(climate.pauses) { return pause(peer) }
    if chance.perMille(climate.leaves) {
      let model = modelNames[chance.below(modelNames.count)]
      peers[peer].session.leave(model, now: peerNow(peer), into: &peers[peer].output)
      try settle(peer)
      peers[peer].session.join(model, now: peerNow(peer), into: &peers[peer].output)
      if peers[peer].session.version(of: model).version == 0 { peers[peer].seen[model] = nil }
      return try settle(peer)
    }
    try write(peer)
  }

  private func crash(_ peer: Int) throws(Broken) {
    note("p\(peer) crashes")
    counts.peerCrashes += 1
    breakConnection(peer)
    if peers[peer].book != nil { try crashWithOutbox(peer) }
    let steps = peers[peer].steps
    peers[peer] = makePeer(
      peer, life: peers[peer].life + 1, generation: peers[peer].generation + 1, book: peers[peer].book)
    peers[peer].steps = steps
    agenda.add(.tickPeer(peer: peer, life: peers[peer].life), at: now + chance.within(1...800))
    try settle(peer)
    try carryOn(peer)
  }

  private func pause(_ peer: Int) {
    note("p\(peer) is stopped")
    counts.pauses += 1
    peers[peer].isPaused = true
    agenda.add(.goOn(peer: peer, life: peers[peer].life), at: now + chance.within(100...4_000))
  }

  func goOn(_ peer: Int) throws(Broken) {
    note("p\(peer) goes on")
    peers[peer].isPaused = false
    let inbox = peers[peer].inbox
    peers[peer].inbox.removeAll()
    for (generation, frame) in inbox { try deliver(frame, generation, to: peer) }
  }

  private func write(_ peer: Int) throws(Broken) {
    let model = modelNames[chance.below(modelNames.count)]
    // Every value is unlike any other, so that it can be told where it came from.
    let unique = FieldValue(bytes: Array("\"p\(peer).\(counts.writes)\"".utf8))
    let field = World.fields[chance.below(3)]
    var proposal = Proposal(operations: [FieldOperation(.set, field, unique)])
    var adds: Int64 = 0
    switch chance.below(10) {
    case 0:
      let others = World.fields.prefix(3).filter { $0 != field }
      proposal.operations.append(FieldOperation(.set, others[chance.below(2)], unique))
    case 1:
      let record = peers[peer].session.fieldRecord(model, field)
      proposal.conditions = [Condition(field: field, epoch: record?.epoch ?? 0, version: record?.version ?? 0)]
    case 2, 3:
      adds = 1
      proposal.operations = [FieldOperation(.add, "n", FieldValue(bytes: Array("1".utf8)))]
    case 4: proposal.operations = [FieldOperation(.delete, field)]
    case 5: proposal.operations = [FieldOperation(.whenUnset, field, unique)]
    case 6:
      let most = chance.below(30)
      let description = "{\"fields\":{\"n\":{\"type\":\"integer\",\"max\":\(most),\"unit\":\(unique)}}}"
      proposal.operations = [FieldOperation(.set, Names.description, FieldValue(bytes: Array(description.utf8)))]
    default: break
    }
    do {
      let id = try peers[peer].session.write(proposal, to: model, now: peerNow(peer), into: &peers[peer].output)
      counts.writes += 1
      note(
        "p\(peer) writes \(id.rawValue) to \(model): \(proposal.operations.map { "\($0.verb) \($0.field)" })"
          + (proposal.conditions.isEmpty ? "" : " if unchanged")
      )
      var values: [String: FieldValue] = [:]
      for operation in proposal.operations where operation.verb == .set { values[operation.field] = operation.value }
      peers[peer].undecided[id] = .init(model: model, fields: values, isPlain: proposal.isPlainSet, adds: adds)
      for operation in proposal.operations {
        peers[peer].lastPlain["\(model).\(operation.field)"] =
          proposal.isPlainSet ? operation.value.map { (id, $0) } : nil
      }
    } catch {
      throw broken("p\(peer) cannot write: \(error)")
    }
    try settle(peer)
  }

  // MARK: Invariants

  /// A replica shows a state of the one sequence, never an older one, with its own plain writes over it.
  func check(_ reveal: Reveal, of peer: Int) throws(Broken) {
    let before = peers[peer].seen[reveal.model] ?? (0, 0)
    if before.epoch == reveal.epoch, reveal.version < before.version {
      throw broken("p\(peer) went from version \(before.version) of \(reveal.model) back to \(reveal.version)")
    }
    if reveal.epoch < before.epoch { throw broken("p\(peer) went back to an earlier epoch of \(reveal.model)") }
    peers[peer].seen[reveal.model] = (reveal.epoch, reveal.version)
    guard reveal.version > 0 else { return }
    guard let truth = ledger.states[.init(model: reveal.model, epoch: reveal.epoch, version: reveal.version)] else {
      throw broken(
        "p\(peer) has version \(reveal.version) of \(reveal.model), never stored in epoch \(reveal.epoch >> 32)"
      )
    }
    for field in World.fields {
      let mine = peers[peer].session.fieldRecord(reveal.model, field)?.committed
      if mine != truth[field] {
        throw broken(
          "p\(peer) at version \(reveal.version) of \(reveal.model) has \(field) = \(describe(mine)), "
            + "the hub had \(describe(truth[field]))"
        )
      }
    }
    try checkOwnWrites(peer)
  }

  /// G5: the last plain write of a field shows until it has its outcome.
  private func checkOwnWrites(_ peer: Int) throws(Broken) {
    for (place, last) in peers[peer].lastPlain {
      guard let write = peers[peer].undecided[last.id] else { continue }
      let field = String(place.dropFirst(write.model.count + 1))
      guard place.hasPrefix(write.model + "."), peers[peer].session.isOverlaid(last.id, in: write.model) else {
        continue
      }
      let shown = peers[peer].session.shown(write.model, field)
      if shown != last.value {
        throw broken("p\(peer) shows \(place) = \(describe(shown)) over its own pending \(last.value)")
      }
    }
  }

  /// G6: one outcome each, and a true one.
  func check(_ outcome: Outcome, of id: WriteID, _ peer: Int) throws(Broken) {
    note("p\(peer) write \(id.rawValue): \(outcome)")
    guard let write = peers[peer].undecided.removeValue(forKey: id) else {
      throw broken("write \(id.rawValue) of p\(peer) got a second outcome, \(outcome)")
    }
    switch outcome {
    case .committed(let epoch, let version):
      counts.committed += 1
      guard let entry = ledger.entries[.init(model: write.model, epoch: epoch, version: version)] else {
        throw broken("write \(id.rawValue) of p\(peer) was acknowledged at version \(version), which was never stored")
      }
      if entry.tag != peers[peer].session.identity.tag {
        throw broken("write \(id.rawValue) of p\(peer) was acknowledged with another peer's version \(version)")
      }
      // After a rescue a commit may have come back without fields that were written again later.
      for (field, value) in write.fields where entry.changes[field] != .some(.some(value)) && epoch >> 32 == 1 {
        throw broken("version \(version) does not hold what write \(id.rawValue) of p\(peer) wrote to \(field)")
      }
    case .conflict: counts.conflicts += 1
    case .superseded: counts.superseded += 1
    case .kept: counts.kept += 1
    case .unknown: counts.unknown += 1
    case .expired: throw broken("write \(id.rawValue) of p\(peer) expired, which nobody asked for")
    case .refused(let refusal) where refusal.code == .doesNotFit && write.adds > 0: counts.misfits += 1
    case .refused(let refusal): throw broken("write \(id.rawValue) of p\(peer) was refused: \(refusal)")
    }
  }

  func count(_ notice: Notice, of peer: Int) {
    note("p\(peer) \(notice)")
    switch notice {
    case .gap: counts.gaps += 1
    case .healed(_, let form, _): if form == .delta { counts.deltas += 1 } else { counts.snapshots += 1 }
    case .missedBeat: counts.missedBeats += 1
    case .diverged: counts.divergences += 1
    case .newEpoch: counts.newEpochs += 1
    case .offered: counts.offers += 1
    default: break
    }
  }

  /// After everything has healed: all replicas are the hub's, and nothing waits.
  func checkEnd() throws(Broken) {
    if let counters = hub?.counters { counts.add(counters) }
    for peer in peers.indices where !peers[peer].isOver {
      guard peers[peer].session.phase == .live else {
        throw broken("p\(peer) is \(peers[peer].session.phase) after all has healed")
      }
      if let (id, write) = peers[peer].undecided.min(by: { $0.key < $1.key }) {
        throw broken("write \(id.rawValue) of p\(peer) to \(write.model) has no outcome after all has healed")
      }
      for model in modelNames {
        guard let head = hub?.head(of: model) else { continue }
        let mine = peers[peer].session.version(of: model)
        guard mine.version == head.version, mine.epoch == hub?.epoch else {
          throw broken(
            "p\(peer) has version \(mine.version) of \(model) in epoch \(mine.epoch >> 32), "
              + "the hub \(head.version) in \((hub?.epoch ?? 0) >> 32)"
          )
        }
        guard peers[peer].session.digest(of: model) == head.digest else {
          throw broken("p\(peer) and the hub have other digests of \(model)")
        }
        if peers[peer].session.unconfirmed > 0 { throw broken("p\(peer) still counts unconfirmed writes") }
      }
    }
    if counts.divergences > 0 { throw broken("a replica diverged from the hub at the same version") }
  }

  private func describe(_ value: FieldValue?) -> String { value?.description ?? "none" }
}
