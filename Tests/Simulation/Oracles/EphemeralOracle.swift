import BindingHub
import BindingPeer
import BindingProtocol

/// The first model's ephemeral model: each field belongs to its writer and vanishes with it (§9).
final class EphemeralOracle: Invariant, SimulationPart {
  let context: SimulationContext
  private let sessions: SessionOracle
  private let approvals: ApprovalQuestions
  @exclusivity(unchecked) private(set) var log: EphemeralLog

  init(_ context: SimulationContext, _ sessions: SessionOracle, _ approvals: ApprovalQuestions) {
    self.context = context
    self.sessions = sessions
    self.approvals = approvals
    log = EphemeralLog(of: context.modelNames[0])
  }

  var name: String { log.name }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, _):
      log.begin(Epoch(hub.run))
      for peer in hub.network.peers { peer.member?.mayHaveLost = true }
    case .received(let frame, let peer, _) where frame[0] == PeerMessageKind.hello.rawValue:
      if log.present.contains(where: { $0.value.tag == peer.tag }) { counts[.keptInEphemeralModel] += 1 }
    case .sent(let frame, .commits, .publish, let hub):
      guard case (let header, .commits(let group))? = try? HubMessage.decode(frame),
        hub.name(of: header.topic) == log.name
      else { return }
      if log.moves(to: header.topic) { counts[.renumberedEphemeralModel] += 1 }
      try apply(group, of: hub)
    case .sent(let frame, .welcome, .connection(let connection), let hub):
      // A writer whose numbers the hub has forgotten starts again.
      guard case (_, .welcome(let welcome))? = try? HubMessage.decode(frame), !welcome.knewIdentity,
        let peer = hub.network.peer(on: connection)
      else { return }
      log.forget(peer.tag)
    case .updated(let update, let peer): if update.model == log.name { try check(update, of: peer) }
    case .ended(let id, log.name, let outcome, let peer): try check(outcome, of: id, peer)
    default: break
    }
  }

  // MARK: What the hub publishes

  /// Enters commits of the ephemeral model, and checks that the hub deletes only fields of sessions that are gone.
  private func apply(_ group: CommitGroup, of hub: SimulatedHub) throws(Violation) {
    let ownerBefore = log.owner
    for change in try log.enter(group) {
      guard change.tag == .none, let old = change.old else { continue }
      if change.field.hasPrefix(Names.presencePrefix) {
        guard let owner = EphemeralLog.slotOwner(old), owner != EphemeralLog.slotOwner(change.new),
          mustBeThere(owner)
        else { continue }
        throw Violation(
          .living, "the hub removed \(owner.short) from the presence of \(modelNames[0]), although it is there")
      }
      let isGone = !sessions.isLiving(old.tag) || sessions.received.leaving == old.tag || hasStayedAway(old.tag)
      guard isGone || (change.field == Names.owner && wasSilent(old.tag)) else {
        let last = sessions.received.last[old.tag] ?? 0
        throw Violation(
          .living, "the hub deleted \(change.field) of \(old.tag.short), from which it received at \(last) ms")
      }
      if sessions.received.leaving != old.tag { counts[.goneFromEphemeralModel] += 1 }
      hub.network.peers.first { $0.tag == old.tag }?.member?.mayHaveLost = true
    }
    guard log.owner != ownerBefore else { return }
    // The model has another owner, or none: the hub decides the open question afresh.
    if approvals.open != nil { counts[.ownerGone] += 1 }
    approvals.voidOpen()
  }

  /// §9.3: an owner that does not answer in time loses the model.
  private func wasSilent(_ owner: Tag) -> Bool {
    approvals.spendSilence(of: owner, at: now, timeout: ApprovalQuestions.timeout)
  }

  /// Whether a returned peer failed to join the ephemeral model within the time allowed.
  private func hasStayedAway(_ tag: Tag) -> Bool {
    !sessions.received.inEphemeralModel.contains(tag)
      && sessions.received.hello[tag].map { now >= $0 + 3_000 } ?? false
  }

  /// Whether presence is observed, and this peer is present or has only lost its connection.
  private func mustBeThere(_ tag: Tag) -> Bool {
    guard sessions.isLiving(tag), sessions.received.leaving != tag,
      sessions.received.inEphemeralModel.contains(where: sessions.isLiving)
    else { return false }
    // The hub need not announce a peer again that it had taken for gone before another joins.
    if let since = sessions.received.inModel[tag] { return since < now }
    return sessions.received.comingBack[tag].map { now < $0 + 3_000 } == true
  }

  // MARK: What peers show and receive

  private func check(_ update: ModelUpdate, of peer: SimulatedPeer) throws(Violation) {
    guard let member = peer.member else { return }
    let before = member.seen
    if update.epoch < before.epoch || update.epoch == before.epoch && update.version < before.version {
      throw Violation(
        .neverBack,
        "\(peer) went from \(before.epoch):\(before.version) of \(log.name) back to \(update.epoch):\(update.version)")
    }
    member.seen = (update.epoch, update.version)
    // It may have left in the same step.
    guard peer.read({ $0.knows(log.name) }) else { return }
    peer.read { $0.look(at: log.name, [], meant: [], into: &peer.observed.snapshot) }
    for field in member.fields where field != Names.me && !peer.observed.snapshot.overlaid.isEmpty {
      guard let pending = member.pending(field), peer.observed.snapshot.overlaid.contains(pending.id),
        let value = pending.value,
        case let shown = peer.read({ $0.shown(log.name, field) }), shown != value
      else { continue }
      throw Violation(
        .readYourWrites,
        "\(peer) shows \(field) = \(describe(shown)) of \(log.name) over its own pending \(value)")
    }
    guard update.version > 0, update.cause != .local, update.cause != .detached else { return }
    guard let truth = log.state(update.epoch, update.version) else {
      throw Violation(
        .trueReplica,
        "\(peer) has version \(update.version) of \(log.name) in epoch \(update.epoch), which never was")
    }
    var mine: EphemeralLog.State = [:]
    for field in peer.read({ $0.committed(log.name, after: 0) }) {
      if let value = field.value { mine[field.name] = .init(value: value, tag: field.origin.tag) }
    }
    guard mine != truth else { return }
    throw Violation(
      .trueReplica,
      "\(peer) at version \(update.version) of \(log.name) has \(EphemeralOracle.text(mine)), the hub had "
        + EphemeralOracle.text(truth))
  }

  private static func text(_ state: EphemeralLog.State) -> String {
    "\(state.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value.value) of \($0.value.tag.short)" })"
  }

  private func check(_ outcome: Outcome, of id: WriteID, _ peer: SimulatedPeer) throws(Violation) {
    record("\(peer) write \(id.rawValue) to its ephemeral model: \(outcome)")
    guard let member = peer.member else { return }
    let what = "write \(id.rawValue) of \(peer)"
    guard let fields = member.unacknowledged.removeValue(forKey: id) else {
      // Its session claimed again what it had.
      if case .refused = outcome { member.refusedClaims += 1 }
      counts[outcome.isRefusal ? .lostInEphemeralModel : .claimedAgain] += 1
      return
    }
    switch outcome {
    case .unchanged: return
    case .committed(let epoch, let version):
      guard log.author(epoch, version) == peer.tag else {
        throw Violation(
          .oneOutcome, "\(what) was acknowledged at version \(version) of \(log.name), which is not its own")
      }
      return
    case .superseded: break
    case .expired:
      if !member.withdrawn.contains(id) { throw Violation(.oneOutcome, "\(what) expired without being withdrawn") }
    case .refused(let refusal):
      let isUnderstood =
        switch refusal.code {
        case .notOwner: !fields.isEmpty
        case .doesNotFit: fields.contains("n")
        case .notPermitted: fields.contains(Names.me)
        default: false
        }
      if !isUnderstood { throw Violation(.oneOutcome, "\(what) to \(log.name) was refused: \(refusal)") }
      // A new description may refuse a value that the former one accepted.
      if refusal.code == .doesNotFit { member.refused.insert("n") }
      if refusal.code == .notOwner {
        counts[.notOwner] += 1
        member.refused.formUnion(fields)
        // The first attempt, which the hub has forgotten, may have given the field up.
        if peer.mayBeForgotten { member.mayHaveLost = true }
      }
    // Decided by a former hub, or by one that has forgotten the writer.
    case .unknown where peer.hub.run > 1 || profile.forgetsSoon:
      member.mayHaveLost = true
      if !member.withdrawn.contains(id) { return }
    case .conflict, .unknown: throw Violation(.oneOutcome, "\(what) to \(log.name) ended as \(outcome)")
    }
    member.revert(id)
  }
}

extension Outcome {
  fileprivate var isRefusal: Bool { if case .refused = self { true } else { false } }

}
