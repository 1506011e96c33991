import BindingHub
import BindingPeer
import BindingProtocol

/// Peers in an ephemeral model: each field belongs to its writer and vanishes with it.
extension World {
  /// Fields for which several peers compete.
  private static let contested = ["x", "y", "n"]

  /// Excludes carriers, which only send an earlier run's writes.
  func isInEphemeralModel(_ peer: Int) -> Bool {
    peer < min(context.profile.ephemeralWriters, context.profile.peers)
      || context.profile.hasOwner && peer == context.profile.peers - 1
  }

  func joinEphemeralModel(_ peer: Int, _ session: inout Session, _ output: inout PeerOutput, now: UInt64)
    -> EphemeralMember?
  {
    guard isInEphemeralModel(peer) else { return nil }
    session.join(Names.ephemeral(context.modelNames[0]), now: now, into: &output)
    return EphemeralMember()
  }

  /// One step of an application in the ephemeral model: usually a write.
  func actInEphemeralModel(_ index: Int) throws(Violation) {
    guard context.isChaos, let ephemeral else { return }
    context.agenda.add(
      .besides(.actInEphemeralModel(peer: index)), at: context.now + context.featureChance.within(50...900))
    let peer = peers[index]
    guard !peer.process.isPaused, let member = peer.member, !member.isAway else { return }
    if context.profile.hasOwner, index == context.profile.peers - 1, context.featureChance.perMille(400) {
      return try own(peer, member)
    }
    let own = "c\(index)"
    let field =
      context.featureChance.perMille(500) ? own : World.contested[context.featureChance.below(World.contested.count)]
    switch context.featureChance.below(16) {
    case 0:
      member.isAway = true
      context.record("p\(index) leaves \(ephemeral.name)")
      context.counts[.leftEphemeralModel] += 1
      peer.session.leave(ephemeral.name, now: peerNow(index), into: &peer.output)
      context.agenda.add(
        .besides(.comeBack(peer: index, run: peer.process.run)),
        at: context.now + context.featureChance.within(0...3_000))
      try settle(index)
    case 1: try writeEphemeral([FieldOperation(.clear, "")], peer, member)
    case 2, 3: try writeEphemeral([FieldOperation(.delete, field)], peer, member)
    case 4: try writeEphemeral([FieldOperation(.set, Names.me, context.uniqueValue(of: index))], peer, member)
    case 5: try writeEphemeral([FieldOperation(.delete, Names.me)], peer, member)
    case 6:
      let fields = Swift.Set([own, field, "x"]).sorted()
      try writeEphemeral(fields.map { FieldOperation(.set, $0, uniqueInEphemeralModel($0, index)) }, peer, member)
    case 7 where context.profile.hasOwner && context.featureChance.perMille(200):
      try writeEphemeral([FieldOperation(.set, Names.owner, context.uniqueValue(of: index))], peer, member)
    default: try writeEphemeral([FieldOperation(.set, field, uniqueInEphemeralModel(field, index))], peer, member)
    }
  }

  /// The description may bound "n"; every other value is unique.
  private func uniqueInEphemeralModel(_ field: String, _ peer: Int) -> FieldValue {
    field == "n" ? FieldValue(bytes: Array("\(context.featureChance.below(40))".utf8)) : context.uniqueValue(of: peer)
  }

  func writeEphemeral(_ operations: [FieldOperation], _ peer: SimulatedPeer, _ member: EphemeralMember)
    throws(Violation)
  {
    guard let ephemeral else { return }
    let id: WriteID
    do {
      id = try peer.session.write(
        Proposal(operations: operations), to: ephemeral.name, now: peerNow(peer.index), into: &peer.output)
    } catch {
      if case .outboxFull = error, context.profile.maxOutboxWrites < 100 { return }
      throw Violation(.oneOutcome, "\(peer) cannot write to \(ephemeral.name): \(error)")
    }
    context.writeCount += 1
    context.counts[.wroteInEphemeralModel] += 1
    context.record(
      "\(peer) writes \(id.rawValue) to \(ephemeral.name): \(operations.map { "\($0.verb) \($0.field)" })")
    member.record(id, operations)
    try settle(peer.index)
    if context.featureChance.perMille(80) {
      context.agenda.add(
        .besides(.withdrawInEphemeralModel(peer: peer.index, run: peer.process.run, id)),
        at: context.now + context.featureChance.within(0...200))
    }
  }

  func withdrawInEphemeralModel(_ id: WriteID, of index: Int) throws(Violation) {
    let peer = peers[index]
    guard !peer.process.isPaused, let member = peer.member, member.unacknowledged[id] != nil else { return }
    context.record("p\(index) withdraws \(id.rawValue)")
    member.withdrawn.insert(id)
    _ = peer.session.withdraw(id, now: peerNow(index), into: &peer.output)
    try settle(index)
  }

  func comeBack(_ index: Int) throws(Violation) {
    guard let ephemeral, let member = peers[index].member, member.isAway else { return }
    let peer = peers[index]
    guard !peer.process.isPaused else {
      return context.agenda.add(.besides(.comeBack(peer: index, run: peer.process.run)), at: context.now + 100)
    }
    context.record("p\(index) joins \(ephemeral.name) again")
    // It had left completely: nothing that it said there belongs to it any more.
    if !peer.read({ $0.knows(ephemeral.name) }) { peer.member = EphemeralMember() }
    peer.member?.isAway = false
    peer.session.join(ephemeral.name, now: peerNow(index), into: &peer.output)
    try settle(index)
  }

  // MARK: What the hub publishes

  /// Enters commits of the ephemeral model, and checks that the hub deletes only fields of sessions that are gone.
  func apply(_ group: CommitGroup) throws(Violation) {
    let ownerBefore = ephemeral?.owner
    for change in try ephemeral?.enter(group) ?? [] {
      guard change.tag == .none, let old = change.old else { continue }
      if change.field.hasPrefix(Names.presencePrefix) {
        guard let owner = EphemeralOracle.slotOwner(old), owner != EphemeralOracle.slotOwner(change.new),
          mustBeThere(owner)
        else {
          continue
        }
        throw Violation(
          .living, "\(owner.short) lives and is in \(context.modelNames[0]), and the hub tells that it has gone")
      }
      let isGone = !isLiving(old.tag) || received.leaving == old.tag || hasStayedAway(old.tag)
      guard isGone || (change.field == Names.owner && wasSilent(old.tag)) else {
        throw Violation(
          .living,
          "the hub deleted \(change.field) of \(old.tag.short), which was heard at \(received.last[old.tag] ?? 0) ms")
      }
      if received.leaving != old.tag { context.counts[.goneFromEphemeralModel] += 1 }
      peers.first { $0.session.identity.tag == old.tag }?.member?.mayHaveLost = true
    }
    if ephemeral?.owner != ownerBefore { ownerChanged() }
  }

  /// §9.3: an owner that does not answer in time loses the model.
  private func wasSilent(_ owner: Tag) -> Bool {
    ownership.spendSilence(of: owner, at: context.now, timeout: World.approvalTimeout)
  }

  /// Whether a returned peer failed to join the ephemeral model within the time allowed.
  private func hasStayedAway(_ tag: Tag) -> Bool {
    !received.inEphemeralModel.contains(tag) && received.hello[tag].map { context.now >= $0 + 3_000 } ?? false
  }

  /// Whether presence is observed, and this peer is present or has only lost its connection.
  private func mustBeThere(_ tag: Tag) -> Bool {
    guard isLiving(tag), received.leaving != tag, received.inEphemeralModel.contains(where: isLiving) else {
      return false
    }
    // The hub need not announce a peer again that it had taken for gone before another joins.
    if let since = received.inModel[tag] { return since < context.now }
    return received.comingBack[tag].map { context.now < $0 + 3_000 } == true
  }

  // MARK: What peers show and receive

  func checkEphemeralModel(_ update: ModelUpdate, of peer: SimulatedPeer) throws(Violation) {
    guard let ephemeral, update.model == ephemeral.name, let member = peer.member else { return }
    let before = member.seen
    if update.epoch < before.epoch || update.epoch == before.epoch && update.version < before.version {
      throw Violation(
        .neverBack,
        "\(peer) went from \(before.epoch):\(before.version) of \(ephemeral.name) back to "
          + "\(update.epoch):\(update.version)")
    }
    member.seen = (update.epoch, update.version)
    // It may have left in the same step.
    guard peer.read({ $0.knows(ephemeral.name) }) else { return }
    peer.read { $0.look(at: ephemeral.name, [], meant: [], into: &peer.observed.snapshot) }
    for field in member.fields where field != Names.me && !peer.observed.snapshot.overlaid.isEmpty {
      guard let pending = member.pending(field), peer.observed.snapshot.overlaid.contains(pending.id),
        let value = pending.value,
        case let shown = peer.read({ $0.shown(ephemeral.name, field) }), shown != value
      else { continue }
      throw Violation(
        .readYourWrites,
        "\(peer) shows \(field) = \(describe(shown)) of \(ephemeral.name) over its own pending \(value)")
    }
    guard update.version > 0, update.cause != .local, update.cause != .detached else { return }
    guard let truth = ephemeral.state(update.epoch, update.version) else {
      throw Violation(
        .trueReplica,
        "\(peer) has version \(update.version) of \(ephemeral.name) in epoch \(update.epoch), which never was")
    }
    var mine: EphemeralOracle.State = [:]
    for field in peer.read({ $0.committed(ephemeral.name, after: 0) }) {
      if let value = field.value { mine[field.name] = .init(value: value, tag: field.origin.tag) }
    }
    guard mine != truth else { return }
    throw Violation(
      .trueReplica,
      "\(peer) at version \(update.version) of \(ephemeral.name) has \(World.words(mine)), the hub had "
        + World.words(truth))
  }

  private static func words(_ state: EphemeralOracle.State) -> String {
    "\(state.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.value) of \($0.value.tag.short)" })"
  }

  func checkEphemeralModel(_ outcome: Outcome, of id: WriteID, _ peer: SimulatedPeer) throws(Violation) {
    context.record("\(peer) write \(id.rawValue) to its ephemeral model: \(outcome)")
    guard let ephemeral, let member = peer.member else { return }
    let what = "write \(id.rawValue) of \(peer)"
    guard let fields = member.unacknowledged.removeValue(forKey: id) else {
      // Its session claimed again what it had.
      if case .refused = outcome { member.refusedClaims += 1 }
      context.counts[outcome.isRefusal ? .lostInEphemeralModel : .claimedAgain] += 1
      return
    }
    switch outcome {
    case .unchanged: return
    case .committed(let epoch, let version):
      guard ephemeral.author(epoch, version) == peer.session.identity.tag else {
        throw Violation(
          .oneOutcome, "\(what) was acknowledged at version \(version) of \(ephemeral.name), which is not its own")
      }
      return
    case .superseded: break
    case .expired:
      if !member.withdrawn.contains(id) { throw Violation(.oneOutcome, "\(what) expired, which nobody asked for") }
    case .refused(let refusal):
      let isUnderstood =
        switch refusal.code {
        case .notOwner: !fields.isEmpty
        case .doesNotFit: fields.contains("n")
        case .notPermitted: fields.contains(Names.me)
        default: false
        }
      if !isUnderstood { throw Violation(.oneOutcome, "\(what) to \(ephemeral.name) was refused: \(refusal)") }
      // A new description may refuse a value that the former one accepted.
      if refusal.code == .doesNotFit { member.refused.insert("n") }
      if refusal.code == .notOwner {
        context.counts[.notOwner] += 1
        member.refused.formUnion(fields)
        // The first attempt, which the hub has forgotten, may have given the field up.
        if mayBeForgotten(peer) { member.mayHaveLost = true }
      }
    // Decided by a former hub, or by one that has forgotten the writer.
    case .unknown where hubRun > 1 || context.profile.forgetsSoon:
      member.mayHaveLost = true
      if !member.withdrawn.contains(id) { return }
    case .conflict, .unknown: throw Violation(.oneOutcome, "\(what) to \(ephemeral.name) ended as \(outcome)")
    }
    member.revert(id)
  }
}

extension Outcome {
  fileprivate var isRefusal: Bool { if case .refused = self { true } else { false } }
}
