import BindingHub
import BindingPeer
import BindingProtocol

/// The replicas of a peer in the file of its outbox.
struct PeerKeeping {
  /// An own plain write whose outcome the application knows.
  struct Acknowledged {
    let epoch: Epoch
    let version: Version
    let value: FieldValue
  }
  /// What was appended and is not synced, with the length of the file before and after.
  struct UnderWay {
    let batch: KeepBatch
    let carrier: SimulatedPeer?
    let begin: Int
    let end: Int
  }
  var choice: KeepChoice?
  var isScheduled = false
  var underWay: UnderWay?
  /// The last one of each field, by model.
  var acknowledged: [Int: [Int: Acknowledged]] = [:]
  /// What the file held earlier: somebody may put back an old copy.
  var earlier: KeptReplicas?

  /// Whether a peer records outcomes only once its replica is synced.
  static func defersOutcomes(_ peer: Int) -> Bool { peer % 4 == 0 }
}

extension SimulatedPeer {
  private var mustKeep: Bool {
    outbox.keeping.underWay == nil
      && (read { $0.isKeepingDue } || outbox.carrier?.read { $0.hasDeferredOutcomes } ?? false)
  }

  /// Has the process store soon what has changed.
  func keepSoon() {
    guard outbox.keeping.choice != nil, !outbox.keeping.isScheduled, mustKeep else { return }
    outbox.keeping.isScheduled = true
    context.schedule(.keep, of: self, at: now + chance.within(1...250))
  }

  /// Appends what has changed to the file.
  func keep() {
    outbox.keeping.isScheduled = false
    guard !process.isPaused, mustKeep, let book = outbox.book else { return keepSoon() }
    var batch = session.takeKeeping(wall: context.wall, now: clock)
    var entries = batch.entries.map { (run: outbox.bookRun, entry: $0) }
    let carrier = outbox.keeping.choice?.defersOutcomes == true ? outbox.carrier : nil
    if let carrier {
      let kept = book.replicas
      let own = carrier.session.takeDeferredOutcomes { model, outcome in
        if !session.follows(model), case .committed(_, let version) = outcome, let log = kept.lastLog,
          let replica = kept[log, model], replica.version < version
        {
          batch.dropped.append((log, model))
        }
        return session.contains(model, outcome)
      }
      for (_, model) in batch.dropped { session.keepAnew(model) }
      entries += own.map { (run: carrier.outbox.bookRun, entry: $0) }
    }
    if chance.perMille(100) { outbox.keeping.earlier = book.replicas }
    counts[.keptReplica] += UInt64(batch.records.count)
    outbox.book?.keep(batch, entries)
    outbox.keeping.underWay = .init(
      batch: batch, carrier: carrier, begin: book.count, end: outbox.book?.count ?? 0)
    context.schedule(.kept, of: self, at: now + chance.within(0...60))
  }

  /// What was appended last is synced.
  func finishKeeping() throws(Violation) {
    guard let underWay = outbox.keeping.underWay else { return }
    outbox.keeping.underWay = nil
    session.finishKeeping(underWay.batch, isStored: true)
    if let carrier = underWay.carrier, !carrier.outbox.isOver {
      carrier.session.finishKeeping(KeepBatch(), isStored: true)
      try carrier.settle()
    }
    try settle()
  }

  /// A crash may tear what was appended last, unless another entry was synced after it.
  func tearKeeping() {
    guard let underWay = outbox.keeping.underWay, outbox.book?.count == underWay.end, chance.perMille(500) else {
      return
    }
    counts[.tornReplica] += 1
    outbox.book?.cut(to: underWay.begin + chance.below(underWay.end - underWay.begin + 1))
  }

  /// Somebody sometimes puts back the replicas of an earlier copy of the file.
  func restoreEarlierReplicas() -> Bool {
    guard let earlier = outbox.keeping.earlier, chance.perMille(300) else { return false }
    counts[.earlierReplica] += 1
    outbox.book?.replaceReplicas(by: earlier)
    return true
  }

  func recordAcknowledged(_ id: WriteID, _ outcome: Outcome) {
    guard case .committed(let epoch, let version) = outcome, let write = writes.unacknowledged[id] else { return }
    for (field, value) in write.fields {
      outbox.keeping.acknowledged[write.model, default: [:]][field] = .init(
        epoch: epoch, version: version, value: value)
    }
  }

  // MARK: Checks

  /// A process that begins without a hub shows what the former one has left.
  func checkRestored(after former: SimulatedPeer, isEarlier: Bool) throws(Violation) {
    for (model, name) in modelNames.enumerated() where name != context.visited && session.knows(name) {
      let kept = session.version(of: name)
      if kept.version > 0 { counts[.restoredReplica] += 1 }
      read {
        $0.look(at: name, SimulatedField.names, meant: SimulatedField.areShown, into: &observed.snapshot)
      }
      if !former.mayBeForgotten { try checkHidden(model, kept, after: former) }
      if outbox.keeping.choice?.defersOutcomes == true, !isEarlier {
        try checkAcknowledged(model, kept, after: former)
      }
    }
  }

  /// What the replica contains of the former process's writes is not laid over it again.
  private func checkHidden(
    _ model: Int, _ kept: (epoch: Epoch, version: Version), after former: SimulatedPeer
  ) throws(Violation) {
    for (run, ids) in outbox.previousRuns where run.identity.tag == former.tag {
      for (write, id) in zip(run.writes, ids) where write.model == modelNames[model] {
        guard let number = write.number, observed.snapshot.overlaid.contains(id) else { continue }
        for (field, value) in SimulatedField.plainSets(write.proposal) {
          guard let point = invariants.log.point(of: value, in: field, of: model), point.epoch == kept.epoch,
            point.version <= kept.version, let entry = invariants.log.entry(point), !entry.isRecovered,
            entry.tag == former.tag, entry.number == number
          else { continue }
          throw Violation(
            .readYourWrites,
            "\(self) lays \(value), proposal \(number) of its former process, over version \(kept.version) of "
              + "\(modelNames[model]) from disk, which contains it")
        }
      }
    }
  }

  /// What shows is not older than what the former process was told.
  private func checkAcknowledged(
    _ model: Int, _ kept: (epoch: Epoch, version: Version), after former: SimulatedPeer
  ) throws(Violation) {
    if context.rights?.users[user].wasUnreadable[model] == true { return }
    for (field, known) in former.outbox.keeping.acknowledged[model] ?? [:] {
      if kept.epoch > known.epoch || kept.epoch == known.epoch && kept.version >= known.version { continue }
      // A later own write shows, or none of the two.
      guard former.writes.lastPlain[model][field]?.value == known.value else { continue }
      let shown = observed.snapshot.shown[field]
      guard shown != known.value else { continue }
      throw Violation(
        .readYourWrites,
        "\(self) begins with version \(kept.version) of \(modelNames[model]) and shows "
          + "\(SimulatedField.names[field]) = \(shown.map { "\($0)" } ?? "nothing"), although its former process was "
          + "told that \(known.value) is version \(known.version)")
    }
  }
}
