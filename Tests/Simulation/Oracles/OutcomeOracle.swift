import BindingHub
import BindingPeer
import BindingProtocol

/// Outcomes: each write has one, and a true one (G6).
struct OutcomeOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle
  /// The kind of message that a peer is reading.
  var reading: HubMessageKind?
  /// The write being made; it may supersede others.
  var writing: (id: WriteID, write: SimulatedWrite)?
  /// Writes that ended without being committed.
  var notCommitted: [(peer: Int, id: WriteID, write: SimulatedWrite)] = []

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .reading(let kind): reading = kind
    case .writing(let write): writing = write
    case .ended(let id, let model, let outcome, let peer):
      if !Names.isEphemeral(model), model != ExpiryWorkload.model, model != UndoWorkload.model {
        try check(outcome, of: id, peer)
      }
    case .askedToMerge(let id, let model, let peer): try checkQuestions(id, in: model, of: peer)
    default: break
    }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for (peer, id, write) in notCommitted { try checkNotCommitted(peer, id, write) }
  }

  /// A peer is asked again only if another write came meanwhile, or if its number was used up.
  private func checkQuestions(_ id: WriteID, in model: Int, of peer: SimulatedPeer) throws(Violation) {
    guard let questions = peer.writes.unacknowledged[id]?.questions,
      questions > log.listsWritten[model] + log.losses + 1
    else { return }
    throw Violation(
      .boundedMerges,
      "\(peer) was asked \(questions) times to merge write \(id.rawValue); its field was written "
        + "\(log.listsWritten[model]) times")
  }

  /// G6: each write has one outcome, and a true one.
  private mutating func check(_ outcome: Outcome, of id: WriteID, _ peer: SimulatedPeer) throws(Violation) {
    record("\(peer) write \(id.rawValue): \(outcome)")
    guard let write = peer.writes.unacknowledged.remove(id) else {
      throw Violation(.oneOutcome, "write \(id.rawValue) of \(peer) got a second outcome, \(outcome)")
    }
    // A computed property, since the text is needed only on failure.
    var what: String { "write \(id.rawValue) of \(peer)" }
    switch outcome {
    case .committed(let epoch, let version):
      return try checkCommitted(write, id, peer, .init(model: write.model, epoch: epoch, version: version))
    case .conflict:
      counts[.conflict] += 1
      if write.isPlain, write.original == nil { counts[.offlineConflict] += 1 }
    case .superseded:
      counts[.coalesced] += 1
      return try checkCoalesced(write, what, peer)
    case .unchanged: counts[.unchanged] += 1
    case .unknown:
      counts[.unknown] += 1
      // A peer that loses the right to read is told no outcome.
      if context.rights?.users[peer.user].wasUnreadable[write.model] == true { return }
      // Undecided writes are resent; only how long an earlier run waited is unknown.
      if log.losses == 0, !peer.mayBeForgotten, !peer.numbers.wasForgotten || peer.outbox.successor == nil {
        throw Violation(.outcomeKept, "\(what) ended with an unknown outcome, although nothing was lost")
      }
      return
    case .expired:
      counts[.expiredUnsent] += 1
      if !write.isWithdrawn { throw Violation(.oneOutcome, "\(what) expired without being withdrawn") }
    case .refused(let refusal):
      counts[refusal.code == .loop ? .refusedAsLoop : .refused] += 1
      if refusal.code == .notPermitted, context.rights?.users[peer.user].wasDenied[write.model] == true {
        counts[.refusedWithoutRight] += 1
      } else if !write.mayBeRefused, !mayOwnerRefuse(refusal, in: write.model), !mayLackList(refusal) {
        throw Violation(.oneOutcome, "\(what) was refused: \(refusal)")
      }
    }
    try checkNotCommitted(peer.index, id, write)
    notCommitted.append((peer.index, id, write))
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
    _ write: SimulatedWrite, _ id: WriteID, _ peer: SimulatedPeer, _ point: LogOracle.Point
  ) throws(Violation) {
    var what: String { "write \(id.rawValue) of \(peer)" }
    counts[.committed] += 1
    let isSeen = peer.read { $0.version(of: modelNames[write.model]) }
    if reading == .commits || reading == .catchup { counts[.ownBeforeAcknowledgement] += 1 }
    if reading == .outcomes, isSeen.version < point.version { counts[.ownAfterAcknowledgement] += 1 }
    guard let entry = log.entry(point) else {
      throw Violation(.oneOutcome, "\(what) was acknowledged at version \(point.version), which was never stored")
    }
    if entry.isRecovered {
      throw Violation(.oneOutcome, "\(what) was acknowledged with version \(point.version), which was recovered")
    }
    if entry.tag != peer.tag {
      throw Violation(.oneOutcome, "\(what) was acknowledged with another peer's version \(point.version)")
    }
    for (field, value) in write.fields where entry.change(of: field) != .some(.some(value)) {
      throw Violation(
        .oneOutcome,
        "version \(point.version) does not hold what \(what) wrote to \(SimulatedField.names[field])")
    }
    if !peer.mayBeForgotten { try checkGathered(write, what, point, entry) }
    let name = LogOracle.Name(model: write.model, tag: entry.tag, number: entry.number)
    if let other = log.results[name].claimedBy, other != id {
      throw Violation(.oneOutcome, "\(what) and write \(other.rawValue) were acknowledged as proposal \(entry.number)")
    }
    log.results[name].claimedBy = id
    if write.isPlain {
      for (field, _) in write.fields where peer.writes.lastPlain[write.model][field]?.id == id {
        peer.writes.acknowledged.append((write.model, field, point.epoch, point.version))
      }
    }
    if let condition = write.condition { try check(condition, of: what, point, entry) }
  }

  /// A compare-and-set succeeds only if the field was not written since.
  private func check(
    _ condition: Condition, of what: @autoclosure () -> String, _ point: LogOracle.Point, _ entry: LogOracle.Entry
  ) throws(Violation) {
    if condition.version > 0, condition.epoch != entry.epoch {
      throw Violation(.comparison, "\(what()) compared with another epoch and was committed")
    }
    guard condition.version + 1 < point.version, let field = SimulatedField.index(of: condition.field) else { return }
    // A field deleted and forgotten since counts as never written.
    let first = condition.version == 0 ? log.beginnings[point.model][field] : condition.version
    guard first + 1 < point.version else { return }
    for version in first + 1..<point.version {
      let between = log.entry(.init(model: point.model, epoch: point.epoch, version: version))
      if between?.change(of: field) != nil {
        throw Violation(
          .comparison,
          "\(what()) at version \(point.version) compared \(condition.field) with version \(condition.version), "
            + "but version \(version) changed it")
      }
    }
  }

  /// Whether a write was refused as writes to a model with an owner may be.
  private func mayOwnerRefuse(_ refusal: Refusal, in model: Int) -> Bool {
    profile.hasOwner && model == 0 && (refusal.code == .refusedByOwner || refusal.code == .ownerSilent)
  }

  /// Whether a list may not be described any more: an attacker wrote or forged its model's description.
  private func mayLackList(_ refusal: Refusal) -> Bool {
    profile.lists > 0 && refusal.code == .doesNotFit && !log.claims.attackers.isEmpty
  }

  private func checkNotCommitted(_ peer: Int, _ id: WriteID, _ write: SimulatedWrite) throws(Violation) {
    for (field, value) in write.fields {
      guard let point = log.point(of: value, in: field, of: write.model) else { continue }
      // A recovered value does not identify its writer: a second loss forgets that.
      if log.losses > 1, log.entry(point)?.isRecovered == true { continue }
      if log.losses > 0, wasRepeated(id, at: point) { continue }
      throw Violation(
        .noPhantom,
        "write \(id.rawValue) of p\(peer) ended without being committed, "
          + "but it is version \(point.version) of \(modelNames[write.model])")
    }
    // After a loss a later write that contained it may have been recovered.
    for (field, element) in write.gathered
    where log.losses == 0 && SimulatedField.elements(of: log.head(of: write.model)[field]).contains(element) {
      throw Violation(
        .noPhantom,
        "write \(id.rawValue) of p\(peer) ended without being committed, "
          + "but its \(element) is in \(SimulatedField.names[field]) of \(modelNames[write.model])")
    }
  }

  /// Whether a later run of its peer has repeated a write and had it committed there. The earlier one was killed before
  /// it had recorded the refusal, which the hub has lost too: it decides anew, and the later run is told so.
  private func wasRepeated(_ id: WriteID, at point: LogOracle.Point) -> Bool {
    guard let entry = log.entry(point) else { return false }
    return log.results[LogOracle.Name(model: point.model, tag: entry.tag, number: entry.number)].claimedBy == id
  }

  /// A committed write contains everything that it put in, and what it superseded.
  private func checkGathered(
    _ write: SimulatedWrite, _ what: @autoclosure () -> String, _ point: LogOracle.Point, _ entry: LogOracle.Entry
  ) throws(Violation) {
    guard !write.gathered.isEmpty else { return }
    for (field, element) in write.gathered {
      let value = entry.change(of: field) ?? nil
      guard !SimulatedField.elements(of: value).contains(element) else { continue }
      throw Violation(
        .lossless,
        "\(what()) was acknowledged at version \(point.version), which has no \(element): \(describe(value))")
    }
    if let original = write.original, let value = entry.change(of: write.gathered[0].field), value != original,
      write.gathered[0].field == SimulatedField.text
    {
      counts[.textMerged] += 1
    }
    if write.original == nil { counts[.unionGrown] += 1 }
  }
}
