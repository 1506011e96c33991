import BindingHub
import BindingPeer
import BindingWire

/// What peers show and tell, held against the ledger.
extension World {
  /// A replica shows a state of the one sequence, never an older one, with its own plain writes over it.
  func check(_ reveal: Reveal, of peer: Int) throws(Broken) {
    let before = peers[peer].seen[reveal.model] ?? (0, 0)
    if before.epoch == reveal.epoch, reveal.version < before.version {
      throw broken(
        .neverBack, "p\(peer) went from version \(before.version) of \(reveal.model) back to \(reveal.version)")
    }
    if reveal.epoch < before.epoch {
      throw broken(.neverBack, "p\(peer) went back to an earlier epoch of \(reveal.model)")
    }
    peers[peer].seen[reveal.model] = (reveal.epoch, reveal.version)
    for commit in reveal.commits where !commit.own && reveal.proposalHops <= commit.hops {
      throw broken(
        .hops, "an answer of p\(peer) to a commit \(commit.hops) hops deep would be \(reveal.proposalHops) deep")
    }
    // A write of its own changes nothing of what is committed.
    guard reveal.version > 0, reveal.cause != .local else { return try checkOwnWrites(peer, in: reveal.model) }
    guard let truth = ledger.states[.init(model: reveal.model, epoch: reveal.epoch, version: reveal.version)] else {
      throw broken(
        .trueReplica,
        "p\(peer) has version \(reveal.version) of \(reveal.model), never stored in epoch \(reveal.epoch >> 32)")
    }
    var base = WriteID?.none
    for field in World.fields {
      let mine = peers[peer].session.fieldRecord(reveal.model, field)?.committed
      if mine != truth[field] {
        throw broken(
          .trueReplica,
          "p\(peer) at version \(reveal.version) of \(reveal.model) has \(field) = \(describe(mine)), "
            + "the hub had \(describe(truth[field]))"
        )
      }
      if let id = mine.flatMap({ peers[peer].writers[$0] }) { base = max(base ?? id, id) }
    }
    try checkOverlay(reveal, of: peer, over: base)
    try checkOwnWrites(peer, in: reveal.model)
  }

  /// R4, R5: nothing lies over the committed values that they hold, nor what one of them was written after.
  private func checkOverlay(_ reveal: Reveal, of peer: Int, over base: WriteID?) throws(Broken) {
    for (id, write) in peers[peer].undecided
    where write.model == reveal.model && peers[peer].session.isOverlaid(id, in: write.model) {
      for (field, value) in write.fields {
        guard let place = ledger.place(of: value, in: field, of: write.model), place.epoch == reveal.epoch,
          place.version <= reveal.version
        else { continue }
        throw broken(
          .readYourWrites,
          "write \(id.rawValue) of p\(peer) lies over version \(reveal.version) of \(write.model), which holds it")
      }
      if let base, id < base, !peers[peer].wasForgotten {
        throw broken(
          .readYourWrites,
          "write \(id.rawValue) of p\(peer) lies over its own later write \(base.rawValue) in \(write.model)")
      }
    }
  }

  /// G5: the last plain write of a field shows until it has its outcome.
  private func checkOwnWrites(_ peer: Int, in model: String) throws(Broken) {
    for (place, last) in peers[peer].lastPlain
    where place.model == model && peers[peer].undecided[last.id] != nil
      && peers[peer].session.isOverlaid(last.id, in: model)
    {
      let shown = peers[peer].session.shown(model, place.field)
      if shown != last.value {
        throw broken(
          .readYourWrites, "p\(peer) shows \(place.field) = \(describe(shown)) over its own pending \(last.value)")
      }
    }
  }

  /// R6: and then until the committed values have reached it.
  func checkAcknowledged(_ peer: Int) throws(Broken) {
    for (place, at) in peers[peer].acknowledged {
      let (model, field) = (place.model, place.field)
      let mine = peers[peer].session.version(of: model)
      guard mine.epoch == at.epoch, mine.version < at.version, let last = peers[peer].lastPlain[place] else {
        peers[peer].acknowledged[place] = nil
        continue
      }
      let shown = peers[peer].session.shown(model, field)
      if shown != last.value {
        throw broken(
          .readYourWrites,
          "p\(peer) at version \(mine.version) of \(model) shows \(field) = \(describe(shown)), "
            + "although its \(last.value) was acknowledged at \(at.version)")
      }
    }
  }

  /// G6: one outcome each, and a true one.
  func check(_ outcome: Outcome, of id: WriteID, _ peer: Int) throws(Broken) {
    note("p\(peer) write \(id.rawValue): \(outcome)")
    guard let write = peers[peer].undecided.removeValue(forKey: id) else {
      throw broken(.oneOutcome, "write \(id.rawValue) of p\(peer) got a second outcome, \(outcome)")
    }
    let what = "write \(id.rawValue) of p\(peer)"
    switch outcome {
    case .committed(let epoch, let version):
      return try checkCommitted(write, id, peer, .init(model: write.model, epoch: epoch, version: version))
    case .conflict:
      counts[.conflict] += 1
      if write.isPlain { counts[.offlineConflict] += 1 }
    case .superseded:
      counts[.folded] += 1
      guard let writing, write.isPlain, write.fields.keys.allSatisfy({ writing.fields[$0] != nil }) else {
        throw broken(.folding, "\(what) was replaced by one that does not set all of its fields")
      }
    case .kept: counts[.kept] += 1
    case .unknown:
      counts[.unknown] += 1
      if losses == 0, !peers[peer].wasForgotten {
        throw broken(.outcomeKept, "nobody knows what became of \(what), although nothing was lost")
      }
      return
    case .expired:
      counts[.expiredUnsent] += 1
      if !write.isWithdrawn { throw broken(.oneOutcome, "\(what) expired, which nobody asked for") }
    case .refused(let refusal):
      counts[refusal.code == .loop ? .refusedAsLoop : .refused] += 1
      if !write.mayBeRefused { throw broken(.oneOutcome, "\(what) was refused: \(refusal)") }
    }
    try checkNotCarriedOut(peer, id, write)
    notCarriedOut.append((peer, id, write))
  }

  private func checkCommitted(
    _ write: SimulatedPeer.Write, _ id: WriteID, _ peer: Int, _ place: Ledger.Place
  ) throws(Broken) {
    let what = "write \(id.rawValue) of p\(peer)"
    counts[.committed] += 1
    let isSeen = peers[peer].session.version(of: write.model)
    if delivering == .commits || delivering == .catchup { counts[.ownBeforeAcknowledgement] += 1 }
    if delivering == .outcomes, isSeen.version < place.version { counts[.ownAfterAcknowledgement] += 1 }
    guard let entry = ledger.entries[place] else {
      throw broken(.oneOutcome, "\(what) was acknowledged at version \(place.version), which was never stored")
    }
    if entry.tag != peers[peer].session.identity.tag {
      throw broken(.oneOutcome, "\(what) was acknowledged with another peer's version \(place.version)")
    }
    // After a rescue a commit may have come back without fields that were written again later.
    for (field, value) in write.fields where entry.changes[field] != .some(.some(value)) && place.epoch >> 32 == 1 {
      throw broken(.oneOutcome, "version \(place.version) does not hold what \(what) wrote to \(field)")
    }
    let name = Ledger.Name(model: write.model, tag: entry.tag, number: entry.number)
    if let other = claimed.updateValue(id, forKey: name), other != id {
      throw broken(.oneOutcome, "\(what) and write \(other.rawValue) were acknowledged as proposal \(entry.number)")
    }
    if write.isPlain {
      for field in write.fields.keys {
        let spot = SimulatedPeer.Spot(model: write.model, field: field)
        guard peers[peer].lastPlain[spot]?.id == id else { continue }
        peers[peer].acknowledged[spot] = (place.epoch, place.version)
      }
    }
    if let condition = write.condition, !entry.isRescued { try check(condition, of: what, place, entry) }
  }

  /// A compare-and-set won only if nobody had written the field since.
  private func check(
    _ condition: Condition, of what: String, _ place: Ledger.Place, _ entry: Ledger.Entry
  ) throws(Broken) {
    if condition.version > 0, condition.epoch != entry.epoch {
      throw broken(.comparison, "\(what) compared with another epoch and was carried out")
    }
    guard condition.version + 1 < place.version else { return }
    for version in condition.version + 1..<place.version {
      let between = ledger.entries[.init(model: place.model, epoch: place.epoch, version: version)]
      if between?.changes[condition.field] != nil {
        throw broken(
          .comparison,
          "\(what) at version \(place.version) compared \(condition.field) with version \(condition.version), "
            + "but version \(version) changed it")
      }
    }
  }

  private func checkNotCarriedOut(_ peer: Int, _ id: WriteID, _ write: SimulatedPeer.Write) throws(Broken) {
    for (field, value) in write.fields {
      guard let place = ledger.place(of: value, in: field, of: write.model) else { continue }
      throw broken(
        .noPhantom,
        "write \(id.rawValue) of p\(peer) was not carried out, its peer was told; "
          + "but it is version \(place.version) of \(write.model)")
    }
  }

  func count(_ notice: Notice, of peer: Int) {
    note("p\(peer) \(notice)")
    switch notice {
    case .gap: counts[.gap] += 1
    case .healed(_, let form, _): counts[form == .delta ? .healedByDelta : .healedBySnapshot] += 1
    case .missedBeat: counts[.missedBeat] += 1
    case .diverged: divergences += 1
    case .newEpoch: counts[.newEpoch] += 1
    case .offered: counts[.offered] += 1
    case .unknownIdentity: peers[peer].wasForgotten = true
    default: break
    }
  }

  func lookAtSnapshot(_ frame: [UInt8], for peer: Int) {
    guard case (let header, .catchup(let chunk))? = try? HubMessage.decode(frame), chunk.form == .snapshot,
      let model = hub?.modelID(at: Int(header.topic) - Int(Topics.firstModel))
    else { return }
    if chunk.version < peers[peer].session.version(of: model).version { counts[.snapshotOlder] += 1 }
  }

  /// After everything has healed: all replicas are the hub's, and nothing waits.
  func checkHealed() throws(Broken) {
    for peer in peers.indices where !peers[peer].isOver {
      guard peers[peer].session.phase == .live else {
        throw broken(.convergence, "p\(peer) is \(peers[peer].session.phase) after all has healed")
      }
      if let (id, write) = peers[peer].undecided.min(by: { $0.key < $1.key }) {
        throw broken(
          .convergence, "write \(id.rawValue) of p\(peer) to \(write.model) has no outcome after all has healed")
      }
      for model in modelNames {
        guard let head = hub?.head(of: model) else { continue }
        let mine = peers[peer].session.version(of: model)
        guard mine.version == head.version, mine.epoch == hub?.epoch else {
          throw broken(
            .convergence,
            "p\(peer) has version \(mine.version) of \(model) in epoch \(mine.epoch >> 32), "
              + "the hub \(head.version) in \((hub?.epoch ?? 0) >> 32)"
          )
        }
        guard peers[peer].session.digest(of: model) == head.digest else {
          throw broken(.convergence, "p\(peer) and the hub have other digests of \(model)")
        }
        if climate.joinsPrefix, head.version > 0, !peers[peer].announced.contains(model) {
          throw broken(.convergence, "p\(peer) joined the prefix of \(model) and was not told of it")
        }
      }
      if peers[peer].session.unconfirmed > 0 {
        throw broken(.convergence, "p\(peer) still counts unconfirmed writes")
      }
    }
    for (peer, id, write) in notCarriedOut { try checkNotCarriedOut(peer, id, write) }
    for (place, entry) in ledger.entries where place.epoch == epoch {
      for value in entry.changes.values where value?.bytes == Array("\"stranger\"".utf8) {
        throw broken(.noPhantom, "version \(place.version) of \(place.model) was written by a stranger")
      }
    }
    if divergences > 0 { throw broken(.trueReplica, "a replica diverged from the hub at the same version") }
  }

  private func describe(_ value: FieldValue?) -> String { value?.description ?? "none" }
}
