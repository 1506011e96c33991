import BindingHub
import BindingPeer
import BindingProtocol

/// What peers show: a state of the one sequence, never an older one, overlaid with their own pending writes (G1, G5).
struct ReplicaOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .updated(let update, let peer): try check(update, of: peer)
    case .peerSettled(let peer): try checkAcknowledged(peer)
    default: break
    }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for peer in peers where !peer.outbox.isOver { try checkNothingPending(peer) }
  }

  /// A replica shows a state of the one sequence, never an older one, overlaid with its own plain writes.
  private func check(_ update: ModelUpdate, of peer: SimulatedPeer) throws(Violation) {
    guard let model = modelNames.firstIndex(of: update.model) else { return }
    let before = peer.observed.seen[model]
    if update.cause == .detached, update.version == 0, before.version > 0,
      context.rights?.users[peer.user].wasUnreadable[model] == true
    {
      counts[.droppedWithoutRight] += 1
      peer.observed.seen[model] = (0, 0)
      peer.numbers.seen[model].removeAll()
      peer.writes.acknowledged.removeAll { $0.model == model }
      return recordNotified(update, peer, in: model)
    }
    if before.epoch == update.epoch, update.version < before.version {
      throw Violation(
        .neverBack, "\(peer) went from version \(before.version) of \(update.model) back to \(update.version)")
    }
    if update.epoch < before.epoch {
      throw Violation(.neverBack, "\(peer) went back to an earlier epoch of \(update.model)")
    }
    peer.observed.seen[model] = (update.epoch, update.version)
    for commit in update.commits where !commit.own && update.proposalHops <= commit.hops {
      throw Violation(
        .hops, "an answer of \(peer) to a commit \(commit.hops) hops deep would be \(update.proposalHops) deep")
    }
    peer.read {
      $0.look(at: update.model, SimulatedField.names, meant: SimulatedField.areShown, into: &peer.observed.snapshot)
    }
    recordNotified(update, peer, in: model)
    try checkOwnWrites(peer, in: model)
    // An own write changes no committed value.
    guard update.version > 0, update.cause != .local else { return }
    // The last update of a model that was left with it cannot be checked any more.
    if update.model == context.visited, peer.read({ $0.version(of: update.model).version }) == 0 { return }
    guard let truth = log.state(.init(model: model, epoch: update.epoch, version: update.version)) else {
      throw Violation(
        .trueReplica,
        "\(peer) has version \(update.version) of \(update.model), never stored in epoch \(update.epoch >> 32)")
    }
    for field in 0..<SimulatedField.count {
      let mine = peer.observed.snapshot.committed[field]
      if mine != truth[field] {
        throw Violation(
          .trueReplica,
          "\(peer) at version \(update.version) of \(update.model) has \(SimulatedField.names[field]) = "
            + "\(describe(mine)), the hub had \(describe(truth[field]))")
      }
    }
    try checkOverlay(update, model, of: peer)
  }

  /// G5: the last plain write of a field shows until it has its outcome, and so does every gathered word or number.
  private func checkOwnWrites(_ peer: SimulatedPeer, in model: Int) throws(Violation) {
    for id in peer.observed.snapshot.overlaid {
      guard let write = peer.writes.unacknowledged[id] else { continue }
      for (field, value) in write.fields {
        let shown = peer.observed.snapshot.shown[field]
        guard let last = peer.writes.lastPlain[model][field], last.id == id, last.value != shown else { continue }
        throw Violation(
          .readYourWrites,
          "\(peer) shows \(SimulatedField.names[field]) = \(describe(shown)) over its own pending \(value)")
      }
      // A write that is resent may already be among the committed values.
      for (field, element) in write.gathered where !peer.mayBeForgotten {
        // The application merges two lists when the first is committed; until then the last one shows.
        if field == SimulatedField.list, id != peer.observed.snapshot.overlaid.last(where: { isOver($0, field, peer) })
        {
          continue
        }
        let count = SimulatedField.elements(of: peer.observed.snapshot.shown[field]).count { $0 == element }
        guard count != 1 else { continue }
        throw Violation(
          .readYourWrites,
          "\(peer) shows \(SimulatedField.names[field]) = \(describe(peer.observed.snapshot.shown[field])), "
            + "with \(count) of its own pending \(element)")
      }
    }
  }

  private func isOver(_ id: WriteID, _ field: Int, _ peer: SimulatedPeer) -> Bool {
    peer.writes.unacknowledged[id]?.gathered.contains { $0.field == field } ?? false
  }

  /// R6: an acknowledged write shows until the committed values have reached it.
  private func checkAcknowledged(_ peer: SimulatedPeer) throws(Violation) {
    var wrong: Violation?
    peer.writes.acknowledged.removeAll { at in
      let mine = peer.read { $0.version(of: modelNames[at.model]) }
      guard mine.epoch == at.epoch, mine.version < at.version, let last = peer.writes.lastPlain[at.model][at.field]
      else { return true }
      let shown = peer.read { $0.shown(modelNames[at.model], SimulatedField.names[at.field]) }
      // What may not be read any more shows no more.
      if mine.version == 0, context.rights?.users[peer.user].wasUnreadable[at.model] == true { return true }
      if shown != last.value {
        wrong = Violation(
          .readYourWrites,
          "\(peer) at version \(mine.version) of \(modelNames[at.model]) shows "
            + "\(SimulatedField.names[at.field]) = \(describe(shown)), although its \(last.value) was acknowledged at "
            + "\(at.version)")
      }
      return false
    }
    if let wrong { throw wrong }
  }

  /// R4, R5: no overlaid write is contained in the committed values, or older than an own write that is.
  private func checkOverlay(_ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer) throws(Violation) {
    // A hub that has forgotten a peer cannot report its writes.
    if peer.observed.snapshot.overlaid.isEmpty || peer.mayBeForgotten { return }
    let base = lastOwn(update, model, of: peer)
    for (id, number) in zip(peer.observed.snapshot.overlaid, peer.observed.snapshot.numbers) {
      guard let write = peer.writes.unacknowledged[id] else { continue }
      for (field, value) in write.fields {
        guard let point = log.point(of: value, in: field, of: model), point.epoch == update.epoch,
          point.version <= update.version, mustKnow(number, point, in: field, peer)
        else { continue }
        throw Violation(
          .readYourWrites,
          "write \(id.rawValue) of \(peer) overlays version \(update.version) of \(update.model), which contains it"
        )
      }
      guard let base else { continue }
      // A write without a number was merged or is resent: it gets a later number.
      let isOlder =
        if let number {
          number <= base.number
        } else {
          (base.id.map { id < $0 } ?? false) && !peer.numbers.wasForgotten && !peer.numbers.receivedUnknown
            && write.original == nil
        }
      guard isOlder else { continue }
      throw Violation(
        .readYourWrites,
        "write \(id.rawValue) of \(peer), proposal \(number ?? 0), overlays its own later proposal \(base.number) "
          + "in \(update.model)")
    }
  }

  /// The last of its own writes in the committed values, and its id if it is a plain one. A recovered value says
  /// nothing about its writer's numbers.
  private func lastOwn(
    _ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer
  ) -> (id: WriteID?, number: ProposalNumber)? {
    var last: (id: WriteID?, number: ProposalNumber)?
    for (field, name) in SimulatedField.names.enumerated() {
      guard let version = peer.read({ $0.fieldRecord(update.model, name)?.version }),
        let entry = log.entry(.init(model: model, epoch: update.epoch, version: version)), !entry.isRecovered,
        entry.tag == peer.tag, last.map({ $0.number < entry.number }) ?? true
      else { continue }
      last = (peer.observed.snapshot.committed[field].flatMap { peer.writes.writers[$0] }, entry.number)
    }
    return last
  }

  /// Whether a peer must have noticed that the value at a point is its own write. A value recovered in this epoch
  /// has no number, and only a write sent in an earlier epoch can be recovered. A write that is resent because its
  /// outcome was unknown was sent in an earlier epoch under another number.
  private func mustKnow(
    _ number: ProposalNumber?, _ point: LogOracle.Point, in field: Int, _ peer: SimulatedPeer
  ) -> Bool {
    guard let entry = log.entry(point), entry.isRecovered else { return true }
    guard let number, let first = peer.numbers.firstSent[point.model][number] else { return false }
    return first >= entry.epoch && !peer.numbers.receivedUnknown
  }

  /// Records what observers are notified of.
  private func recordNotified(_ update: ModelUpdate, _ peer: SimulatedPeer, in model: Int) {
    for change in update.changes {
      if let field = SimulatedField.index(of: change.field) { peer.observed.notified[model][field] = change.new }
    }
  }

  /// Where nothing is pending, the shown values equal the committed ones, and observers have received them.
  private func checkNothingPending(_ peer: SimulatedPeer) throws(Violation) {
    for (model, name) in modelNames.enumerated() {
      for (field, title) in SimulatedField.names.enumerated() {
        let record = peer.read { $0.fieldRecord(name, title) }
        let notified = peer.observed.notified[model][field]
        guard record?.shown != record?.committed || record?.isPending == true || notified != record?.committed else {
          continue
        }
        throw Violation(
          .readYourWrites,
          "\(peer) shows \(title) = \(describe(record?.shown)) of \(name) where nothing is pending and "
            + "\(describe(record?.committed)) is committed; its observers received \(describe(notified))")
      }
    }
  }
}
