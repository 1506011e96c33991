import BindingPeer
import BindingProtocol

/// Outboxes that survive a peer's crash: the bytes of the file, and the sessions that send what it holds. Such a
/// session is a peer of its own in the world, a *carrier*, which belongs to its *successor*.
extension SimulatedPeer {
  /// Appends a session's journal entry to the file of its process.
  func keep(_ entry: JournalEntry) {
    (outbox.successor ?? self).outbox.book?.append(entry, run: outbox.bookRun, wall: context.wall)
  }

  /// A killed process leaves its outbox, cut at any byte, as all that its next run has.
  func killWithOutbox() throws(Violation) {
    outbox.carrier?.end()
    outbox.carrier = nil
    tearKeeping()
    // In a quiet time no peer writes, and a record torn late enough is sent.
    if !isQuiet, chance.perMille(500) { tear() }
    let unacknowledged = writes.unacknowledged.ids
    guard let runs = outbox.book?.reopen() else {
      throw Violation(.outboxWhole, "\(self) cannot read its outbox again")
    }
    let own = runs.first { $0.number == outbox.bookRun }
    for id in unacknowledged where own?.writes.contains(where: { $0.id == id }) != true {
      throw Violation(.outboxWhole, "write \(id.rawValue) of \(self) is not in the outbox that it left")
    }
    counts[.restored] += UInt64(runs.reduce(0) { $0 + $1.writes.count })
  }

  /// Makes one more write, whose record the crash cuts off at a random byte before any of it is sent.
  private func tear() {
    let field = chance.below(SimulatedField.plain)
    let proposal = Proposal(operations: [
      FieldOperation(.set, SimulatedField.names[field], FieldValue(bytes: Array("\"\(self).t\(now)\"".utf8)))
    ])
    // Where its record is whole, it shows over what the application wrote before.
    writes.lastPlain[0][field] = nil
    var effects = PeerEffects()
    guard (try? session.write(proposal, to: modelNames[0], now: clock, into: &effects)) != nil else { return }
    session.finishDrain(now: clock, into: &effects)
    let before = outbox.book?.count ?? 0
    for entry in effects.journal { keep(entry) }
    // It may have superseded others.
    for case .settled(let id, _, _) in effects.outcomes { writes.unacknowledged.remove(id) }
    let torn = (outbox.book?.count ?? 0) - before
    outbox.book?.cut(to: before + chance.below(torn + 1))
  }

  /// Sends the writes of earlier runs, one run after the other.
  func sendPreviousRuns() throws(Violation) {
    outbox.carrier = nil
    guard !outbox.previousRuns.isEmpty else { return }
    let (run, ids) = outbox.previousRuns.removeFirst()
    let session = Session(
      resuming: run, seed: chance.next(), now: clock, wall: context.wall,
      defersOutcomes: outbox.keeping.choice?.defersOutcomes ?? false)
    // R10: under another identity a proposal that was decided would take effect again.
    guard session.identity.tag == run.identity.tag else {
      throw Violation(.exactlyOnce, "\(self) sends the writes of an earlier run under another identity")
    }
    let index = hub.network.peers.count
    let carrier = SimulatedPeer(
      index, session, clockOffset: process.clockOffset, run: 0, generation: (index + 1) * 1_000_000, of: hub)
    carrier.outbox.successor = self
    carrier.outbox.bookRun = run.number
    carrier.numbers.wasForgotten = outbox.forgottenRuns.contains(run.number)
    for (write, id) in zip(run.writes, ids) {
      carrier.outbox.successorIDs[write.id] = id
      carrier.outbox.models[write.id] = write.model
      guard let model = modelNames.firstIndex(of: write.model) else { continue }
      let isAddition = write.proposal.operations.contains { $0.verb == .add || $0.verb == .describe }
      let mine = SimulatedWrite(
        model: model, fields: SimulatedField.plainSets(write.proposal), isPlain: false,
        mayBeRefused: isAddition || write.proposal.hops > 8, isWithdrawn: write.isWithdrawn)
      carrier.writes.unacknowledged.add(mine, as: write.id)
    }
    hub.network.peers.append(carrier)
    outbox.carrier = carrier
    agenda.add(.tick(peer: index, run: 0), at: now + chance.within(1...400))
    try carrier.settle()
  }

  /// Reports a carrier's progress to its successor.
  func reportToSuccessor(_ effects: PeerEffects) throws(Violation) {
    guard let successor = outbox.successor, successor.outbox.carrier === self else { return }
    for case .numbered(let id, let number, _) in effects.journal where number > 0 {
      guard let mine = outbox.successorIDs[id], let model = outbox.models[id] else { continue }
      successor.session.carriedSent(mine, of: model, as: number)
    }
    for case .settled(let id, let model, let outcome) in effects.outcomes {
      if let mine = outbox.successorIDs[id] { successor.session.carriedEnded(mine, of: model, as: outcome) }
    }
    if session.hasDeferredOutcomes { successor.keepSoon() }
    if session.unconfirmed == 0, !session.hasDeferredOutcomes, !outbox.isOver {
      outbox.isOver = true
      session.bye(now: clock, into: &self.effects)
      try settle()
      successor.outbox.book?.leave(outbox.bookRun)
      end()
      try successor.sendPreviousRuns()
    }
    try successor.settle()
  }

  private func end() {
    disconnect()
    effects.removeAll()
    outbox.isOver = true
    writes.unacknowledged.removeAll()
    process.run += 1
    link.generation += 1
    // No frame of a dead process arrives after the hub has learned that its connection is closed.
    (link.hubSide, link.lost) = (-1, -1)
  }
}
