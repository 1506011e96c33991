import BindingHub
import BindingPeer
import BindingProtocol

/// What peers show and report, checked against the oracle.
extension World {
  /// A replica shows a state of the one sequence, never an older one, overlaid with its own plain writes.
  func check(_ update: ModelUpdate, of peer: SimulatedPeer) throws(Violation) {
    guard let model = context.modelNames.firstIndex(of: update.model) else {
      return try checkEphemeralModel(update, of: peer)
    }
    let before = peer.observed.seen[model]
    if before.epoch == update.epoch, update.version < before.version {
      throw Violation(
        .neverBack, "\(peer) went from version \(before.version) of \(update.model) back to \(update.version)")
    }
    if update.epoch < before.epoch {
      throw Violation(.neverBack, "\(peer) went back to an earlier epoch of \(update.model)")
    }
    peer.observed.seen[model] = (update.epoch, update.version)
    if model == 0 { recordReached(update, peer) }
    recordSeen(update, in: model, by: peer)
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
    guard let truth = oracle.state(.init(model: model, epoch: update.epoch, version: update.version)) else {
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
            + "\(describe(mine)), the hub had \(describe(truth[field]))"
        )
      }
    }
    try checkOverlay(update, model, of: peer)
  }

  /// G5: the last plain write of a field shows until it has its outcome, and so does every gathered word or number.
  private func checkOwnWrites(_ peer: SimulatedPeer, in model: Int) throws(Violation) {
    for id in peer.observed.snapshot.overlaid {
      guard let write = peer.writes.unacknowledged[id] else { continue }
      for (field, value) in write.fields {
        guard let last = peer.writes.lastPlain[model][field], last.id == id,
          last.value != peer.observed.snapshot.shown[field]
        else {
          continue
        }
        throw Violation(
          .readYourWrites,
          "\(peer) shows \(SimulatedField.names[field]) = \(describe(peer.observed.snapshot.shown[field])) over its own "
            + "pending "
            + "\(value)")
      }
      // A write that is resent may already be among the committed values.
      for (field, element) in write.gathered where !mayBeForgotten(peer) {
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
  func checkAcknowledged(_ peer: SimulatedPeer) throws(Violation) {
    var wrong: Violation?
    peer.writes.acknowledged.removeAll { at in
      let mine = peer.read { $0.version(of: context.modelNames[at.model]) }
      guard mine.epoch == at.epoch, mine.version < at.version, let last = peer.writes.lastPlain[at.model][at.field]
      else {
        return true
      }
      let shown = peer.read { $0.shown(context.modelNames[at.model], SimulatedField.names[at.field]) }
      if shown != last.value {
        wrong = Violation(
          .readYourWrites,
          "\(peer) at version \(mine.version) of \(context.modelNames[at.model]) shows "
            + "\(SimulatedField.names[at.field]) = \(describe(shown)), although its \(last.value) was acknowledged at "
            + "\(at.version)")
      }
      return false
    }
    if let wrong { throw wrong }
  }

  /// G6: each write has one outcome, and a true one.
  func check(_ outcome: Outcome, of id: WriteID, _ peer: SimulatedPeer) throws(Violation) {
    context.record("\(peer) write \(id.rawValue): \(outcome)")
    guard let write = peer.writes.unacknowledged.remove(id) else {
      throw Violation(.oneOutcome, "write \(id.rawValue) of \(peer) got a second outcome, \(outcome)")
    }
    // A computed property, since the text is needed only on failure.
    var what: String { "write \(id.rawValue) of \(peer)" }
    switch outcome {
    case .committed(let epoch, let version):
      return try checkCommitted(write, id, peer, .init(model: write.model, epoch: epoch, version: version))
    case .conflict:
      context.counts[.conflict] += 1
      if write.isPlain, write.original == nil { context.counts[.offlineConflict] += 1 }
    case .superseded:
      context.counts[.coalesced] += 1
      return try checkCoalesced(write, what, peer)
    case .unchanged: context.counts[.unchanged] += 1
    case .unknown:
      context.counts[.unknown] += 1
      // Undecided writes are resent; only how long an earlier run waited is unknown.
      if losses == 0, !mayBeForgotten(peer), !peer.numbers.wasForgotten || peer.outbox.successor == nil {
        throw Violation(.outcomeKept, "nobody knows what became of \(what), although nothing was lost")
      }
      return
    case .expired:
      context.counts[.expiredUnsent] += 1
      if !write.isWithdrawn { throw Violation(.oneOutcome, "\(what) expired, which nobody asked for") }
    case .refused(let refusal):
      context.counts[refusal.code == .loop ? .refusedAsLoop : .refused] += 1
      if !write.mayBeRefused, !isRefusedByOwner(refusal, in: write.model) {
        throw Violation(.oneOutcome, "\(what) was refused: \(refusal)")
      }
    }
    try checkNotCarriedOut(peer.index, id, write)
    notCarriedOut.append((peer.index, id, write))
  }

  /// The superseding write sets all the same fields and contains the gathered words and numbers.
  private func checkCoalesced(
    _ write: SimulatedWrite, _ what: @autoclosure () -> String, _ peer: SimulatedPeer
  ) throws(Violation) {
    guard let writing, write.isPlain,
      write.fields.allSatisfy({ field, _ in writing.write.fields.contains { $0.field == field } }),
      write.gathered.allSatisfy({ field, _ in writing.write.gathered.contains { $0.field == field } })
    else { throw Violation(.coalescing, "\(what()) was replaced by one that does not set all of its fields") }
    peer.writes.unacknowledged[writing.id]?.gathered += write.gathered
  }

  private func checkCommitted(
    _ write: SimulatedWrite, _ id: WriteID, _ peer: SimulatedPeer, _ point: Oracle.Point
  ) throws(Violation) {
    var what: String { "write \(id.rawValue) of \(peer)" }
    context.counts[.committed] += 1
    let isSeen = peer.read { $0.version(of: context.modelNames[write.model]) }
    if delivering == .commits || delivering == .catchup { context.counts[.ownBeforeAcknowledgement] += 1 }
    if delivering == .outcomes, isSeen.version < point.version { context.counts[.ownAfterAcknowledgement] += 1 }
    guard let entry = oracle.entry(point) else {
      throw Violation(.oneOutcome, "\(what) was acknowledged at version \(point.version), which was never stored")
    }
    if entry.isRecovered {
      throw Violation(.oneOutcome, "\(what) was acknowledged with version \(point.version), which was brought back")
    }
    if entry.tag != peer.session.identity.tag {
      throw Violation(.oneOutcome, "\(what) was acknowledged with another peer's version \(point.version)")
    }
    for (field, value) in write.fields where entry.change(of: field) != .some(.some(value)) {
      throw Violation(
        .oneOutcome,
        "version \(point.version) does not hold what \(what) wrote to \(SimulatedField.names[field])")
    }
    if !mayBeForgotten(peer) { try checkGathered(write, what, point, entry) }
    let name = Oracle.Name(model: write.model, tag: entry.tag, number: entry.number)
    if let other = oracle.fates[name].claimedBy, other != id {
      throw Violation(.oneOutcome, "\(what) and write \(other.rawValue) were acknowledged as proposal \(entry.number)")
    }
    oracle.fates[name].claimedBy = id
    if write.isPlain {
      for (field, _) in write.fields where peer.writes.lastPlain[write.model][field]?.id == id {
        peer.writes.acknowledged.append((write.model, field, point.epoch, point.version))
      }
    }
    if let condition = write.condition { try check(condition, of: what, point, entry) }
  }

  /// A compare-and-set succeeds only if the field was not written since.
  private func check(
    _ condition: Condition, of what: @autoclosure () -> String, _ point: Oracle.Point, _ entry: Oracle.Entry
  ) throws(Violation) {
    if condition.version > 0, condition.epoch != entry.epoch {
      throw Violation(.comparison, "\(what()) compared with another epoch and was carried out")
    }
    guard condition.version + 1 < point.version, let field = SimulatedField.index(of: condition.field) else { return }
    // A field deleted and forgotten since context.counts as never written.
    let first = condition.version == 0 ? oracle.beginnings[point.model][field] : condition.version
    guard first + 1 < point.version else { return }
    for version in first + 1..<point.version {
      let between = oracle.entry(.init(model: point.model, epoch: point.epoch, version: version))
      if between?.change(of: field) != nil {
        throw Violation(
          .comparison,
          "\(what()) at version \(point.version) compared \(condition.field) with version \(condition.version), "
            + "but version \(version) changed it")
      }
    }
  }

  func checkNotCarriedOut(_ peer: Int, _ id: WriteID, _ write: SimulatedWrite) throws(Violation) {
    for (field, value) in write.fields {
      guard let point = oracle.point(of: value, in: field, of: write.model) else { continue }
      // A recovered value does not identify its writer: a second loss forgets that.
      if losses > 1, oracle.entry(point)?.isRecovered == true { continue }
      throw Violation(
        .noPhantom,
        "write \(id.rawValue) of p\(peer) was not carried out, its peer was told; "
          + "but it is version \(point.version) of \(context.modelNames[write.model])")
    }
    // After a loss a later write that contained it may have been recovered.
    for (field, element) in write.gathered
    where losses == 0 && SimulatedField.elements(of: oracle.head(of: write.model)[field]).contains(element) {
      throw Violation(
        .noPhantom,
        "write \(id.rawValue) of p\(peer) was not carried out, its peer was told; "
          + "but its \(element) is in \(SimulatedField.names[field]) of \(context.modelNames[write.model])")
    }
  }

  func count(_ notice: Notice, of peer: Int) {
    context.record("p\(peer) \(notice)")
    switch notice {
    case .gap: context.counts[.gap] += 1
    case .healed(_, let form, _): context.counts[form == .delta ? .healedByDelta : .healedBySnapshot] += 1
    case .missedHeartbeat: context.counts[.missedHeartbeat] += 1
    case .diverged: divergences += 1
    case .newEpoch: context.counts[.newEpoch] += 1
    case .offered: context.counts[.offered] += 1
    case .unknownIdentity: peers[peer].numbers.wasForgotten = true
    default: break
    }
  }

  func lookAtSnapshot(_ frame: [UInt8], for peer: Int) {
    guard case (let header, .catchup(let chunk))? = try? HubMessage.decode(frame), chunk.form == .snapshot,
      let model = model(of: header.topic)
    else { return }
    if chunk.version < peers[peer].session.version(of: context.modelNames[model]).version {
      context.counts[.snapshotOlder] += 1
    }
  }

  func describe(_ value: FieldValue?) -> String { oracle.describe(value) }
}
