import BindingPeer
import BindingProtocol

/// Outboxes that survive a peer's crash: the bytes of the file, and the sessions that send what it holds. Such a
/// session is a peer of its own in the world, a *carrier*, which belongs to its *successor*.
extension World {
  /// Appends a session's journal entry to the file of its process.
  func keep(_ entry: JournalEntry, of peer: Int) {
    let owner = peers[peer].outbox.successor ?? peer
    peers[owner].outbox.book?.append(entry, run: peers[peer].outbox.bookRun, wall: context.wall)
  }

  /// A killed process leaves its outbox, cut at any byte, as all that its next run has.
  func crashWithOutbox(_ peer: Int) throws(Violation) {
    if let carrier = peers[peer].outbox.carrier { end(carrier) }
    // In a quiet time no peer writes, and a record torn late enough is sent.
    if !context.isQuiet, context.chance.perMille(500) { tear(peer) }
    let unacknowledged = peers[peer].writes.unacknowledged.ids
    guard let runs = peers[peer].outbox.book?.reopen() else {
      throw Violation(.outboxWhole, "p\(peer) cannot read its outbox again")
    }
    let own = runs.first { $0.number == peers[peer].outbox.bookRun }
    for id in unacknowledged where own?.writes.contains(where: { $0.id == id }) != true {
      throw Violation(.outboxWhole, "write \(id.rawValue) of p\(peer) is not in the outbox that it left")
    }
    context.counts[.restored] += UInt64(runs.reduce(0) { $0 + $1.writes.count })
  }

  /// Makes one more write, whose record the crash cuts off at a random byte before any of it is sent.
  private func tear(_ peer: Int) {
    let proposal = Proposal(operations: [
      FieldOperation(
        .set, SimulatedField.names[context.chance.below(SimulatedField.plain)],
        FieldValue(bytes: Array("\"p\(peer).t\(context.now)\"".utf8)))
    ])
    var output = PeerOutput()
    guard
      (try? peers[peer].session.write(proposal, to: context.modelNames[0], now: peerNow(peer), into: &output)) != nil
    else { return }
    peers[peer].session.finishDrain(now: peerNow(peer), into: &output)
    let before = peers[peer].outbox.book?.count ?? 0
    for case .keep(let entry) in output.actions { keep(entry, of: peer) }
    // It may have superseded others.
    for case .settled(let id, _, _) in output.actions { peers[peer].writes.unacknowledged.remove(id) }
    let torn = (peers[peer].outbox.book?.count ?? 0) - before
    peers[peer].outbox.book?.cut(to: before + context.chance.below(torn + 1))
  }

  /// Sends the writes of earlier runs, one run after the other.
  func carryOn(_ peer: Int) throws(Violation) {
    peers[peer].outbox.carrier = nil
    guard !peers[peer].outbox.previousRuns.isEmpty else { return }
    let (run, ids) = peers[peer].outbox.previousRuns.removeFirst()
    let session = Session(resuming: run, seed: context.chance.next(), now: peerNow(peer), wall: context.wall)
    let index = peers.count
    let carrier = SimulatedPeer(
      index: index, session: session, output: PeerOutput(), generation: (index + 1) * 1_000_000, run: 0,
      clockOffset: peers[peer].process.clockOffset, models: context.modelNames.count)
    carrier.outbox.successor = peer
    carrier.outbox.bookRun = run.number
    for (write, id) in zip(run.writes, ids) {
      guard let model = context.modelNames.firstIndex(of: write.model) else { continue }
      let isAddition = write.proposal.operations.contains { $0.verb == .add }
      let mine = SimulatedWrite(
        model: model, fields: World.plainSets(write.proposal), isPlain: false,
        mayBeRefused: isAddition || write.proposal.hops > 8, isWithdrawn: write.isWithdrawn)
      carrier.writes.unacknowledged.add(mine, as: write.id)
      carrier.outbox.successorIDs[write.id] = id
    }
    peers.append(carrier)
    peers[peer].outbox.carrier = index
    context.agenda.add(.tickPeer(peer: index, run: 0), at: context.now + context.chance.within(1...400))
    try settle(index)
  }

  /// Reports its carrier's progress to the successor.
  func reportToSuccessor(_ actions: [PeerAction], of carrier: Int) throws(Violation) {
    guard let successor = peers[carrier].outbox.successor, peers[successor].outbox.carrier == carrier else { return }
    for action in actions {
      switch action {
      case .keep(.numbered(let id, let number, _)) where number > 0:
        guard let mine = peers[carrier].outbox.successorIDs[id],
          let model = peers[carrier].writes.unacknowledged[id]?.model
        else {
          continue
        }
        peers[successor].session.carriedSent(mine, of: context.modelNames[model], as: number)
      case .settled(let id, let model, let outcome):
        if let mine = peers[carrier].outbox.successorIDs[id] {
          peers[successor].session.carriedEnded(mine, of: model, as: outcome)
        }
      default: break
      }
    }
    if peers[carrier].session.unconfirmed == 0, !peers[carrier].outbox.isOver {
      peers[carrier].outbox.isOver = true
      peers[carrier].session.bye(now: peerNow(carrier), into: &peers[carrier].output)
      try settle(carrier)
      peers[successor].outbox.book?.leave(peers[carrier].outbox.bookRun)
      end(carrier)
      try carryOn(successor)
    }
    try settle(successor)
  }

  private func end(_ carrier: Int) {
    breakConnection(carrier)
    peers[carrier].output.removeAll()
    peers[carrier].outbox.isOver = true
    peers[carrier].writes.unacknowledged.removeAll()
    peers[carrier].process.run += 1
    peers[carrier].link.generation += 1
    // No frame of a dead process arrives after the hub has learned that its connection is closed.
    peers[carrier].link.hubSide = -1
  }
}
