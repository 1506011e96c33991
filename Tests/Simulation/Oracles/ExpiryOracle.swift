import BindingHub
import BindingPeer
import BindingProtocol

/// Fields that expire (§8.1): never before a full term since the last write or renewal, never much later, and never
/// shown by who does not hear the hub.
final class ExpiryOracle: Invariant, SimulationPart {
  /// What is stored of a field, and since when its term counts.
  private struct Stored {
    var value: FieldValue?
    var since: UInt64
    var wasRenewed = false
  }
  private struct Sent {
    let values: [FieldValue]
    let at: UInt64
  }
  let context: SimulationContext
  @exclusivity(unchecked) private var names: [String] = []
  @exclusivity(unchecked) private var stored: [String: Stored] = [:]
  /// What each number stands for, and when each process last wrote a value.
  @exclusivity(unchecked) private var sent: [Tag: [ProposalNumber: Sent]] = [:]
  @exclusivity(unchecked) private var madeAt: [Tag: [FieldValue: UInt64]] = [:]
  /// Weak, since the hub has the invariants.
  @exclusivity(unchecked) private weak var hub: SimulatedHub?
  @exclusivity(unchecked) private var settledAt: UInt64 = 0

  init(_ context: SimulationContext) { self.context = context }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, _):
      self.hub = hub
      settledAt = now
      (names, stored) = ([], [:])
      for batch in hub.store.log where batch.model == ExpiryWorkload.model { try enter(batch, isNew: false) }
    case .stored(let batch, _) where batch.model == ExpiryWorkload.model: try enter(batch, isNew: true)
    case .peerSent(let frame, let peer) where frame[0] == PeerMessageKind.propose.rawValue: try check(frame, of: peer)
    case .hubSettled: try checkAges()
    default: break
    }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    guard let head = hub.head(of: ExpiryWorkload.model), stored[Names.description]?.value != nil else { return }
    for (field, _) in ExpiryWorkload.limits {
      if let value = stored[field]?.value, value != ExpiryWorkload.off {
        throw Violation(.expiry, "\(field) is \(value) still, though nobody renews it")
      }
      for peer in peers where peer.outbox.successor == nil {
        let record = peer.session.fieldRecord(ExpiryWorkload.model, field)
        if let value = record?.shown, value != ExpiryWorkload.off {
          throw Violation(.expiry, "\(peer) shows \(value) in \(field), which has expired")
        }
        if record?.isExpired == true { throw Violation(.expiry, "\(peer) hears the hub and shows \(field) as expired") }
      }
    }
    for peer in peers where peer.outbox.successor == nil {
      if peer.read({ $0.digest(of: ExpiryWorkload.model) }) != head.digest {
        throw Violation(.convergence, "\(peer) has other values of drive than the hub")
      }
    }
  }

  // MARK: Writers

  /// An application has made a write.
  func made(_ operations: [FieldOperation], by peer: SimulatedPeer) {
    for operation in operations {
      if let value = operation.value { madeAt[peer.tag, default: [:]][value] = now }
    }
  }

  /// A write that waited longer than its limit is sent as void, or not at all.
  private func check(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .propose(let proposals))? = try? PeerMessage.decode(frame) else { return }
    for proposal in proposals where hub?.name(of: proposal.topic) == ExpiryWorkload.model {
      let values = proposal.operations.compactMap { $0.verb == .set ? $0.value : nil }
      let known = sent[peer.tag]?[proposal.number]
      if known == nil { sent[peer.tag, default: [:]][proposal.number] = Sent(values: values, at: now) }
      guard !proposal.isVoid else {
        counts[.sentLateAsVoid] += 1
        continue
      }
      guard let limit = limit(of: proposal) else { continue }
      let written = values.compactMap { madeAt[peer.tag]?[$0] }.min() ?? now
      let from = min(known?.at ?? now, written)
      if now >= from + limit {
        throw Violation(
          .expiry, "\(peer) sends proposal \(proposal.number) after \(now - from) ms, its limit is \(limit)")
      }
    }
  }

  private func limit(of proposal: NumberedProposal) -> UInt64? {
    proposal.operations.compactMap { operation -> UInt64? in
      switch operation.field {
      case .name(let name): ExpiryWorkload.limits[name]
      case .id(let id): Int(id) < names.count ? ExpiryWorkload.limits[names[Int(id)]] : nil
      }
    }.min()
  }

  // MARK: The hub

  private func enter(_ batch: Batch, isNew: Bool) throws(Violation) {
    if case .renumbering(let kept) = batch.form { names = kept.map { names[Int($0)] } }
    if batch.form == .removal { (names, stored) = ([], [:]) }
    let wasDescribed = stored[Names.description]?.value != nil
    defer {
      // Without a description nothing expires: what was written before begins its term with it.
      if !wasDescribed, stored[Names.description]?.value != nil {
        for name in ExpiryWorkload.limits.keys { stored[name]?.since = now }
      }
    }
    if let group = try? CommitGroup.decode(batch.body) {
      for (offset, name) in group.names.names.enumerated() where Int(group.names.first) + offset >= names.count {
        names.append(name)
      }
      for commit in group.commits {
        let isFallback = group.origins[Int(commit.origin)].tag == .none
        for change in commit.changes {
          let field = names[Int(change.field)]
          if isFallback, isNew { try checkFallback(field, change.value) }
          stored[field] = Stored(value: change.value, since: now)
        }
      }
    }
    for decision in batch.decisions where decision.outcome == .unchanged {
      for value in sent[decision.origin.tag]?[decision.number]?.values ?? [] where value != ExpiryWorkload.off {
        for field in ExpiryWorkload.limits.keys where stored[field]?.value == value {
          stored[field]?.since = now
          stored[field]?.wasRenewed = true
        }
      }
    }
  }

  private func checkFallback(_ field: String, _ value: FieldValue?) throws(Violation) {
    counts[.fellBack] += 1
    guard let limit = ExpiryWorkload.limits[field], value == ExpiryWorkload.off, let present = stored[field],
      present.value != nil, present.value != ExpiryWorkload.off
    else { throw Violation(.expiry, "the hub set \(field) back to \(value?.description ?? "nothing") without a cause") }
    if present.wasRenewed { counts[.renewed] += 1 }
    if now < present.since + limit {
      throw Violation(.expiry, "\(field) fell back \(now - present.since) ms after a write or renewal")
    }
  }

  /// No value outlives its term by much while the hub works.
  private func checkAges() throws(Violation) {
    // The hub was stopped: it gives each value one more term.
    let wasStopped = now > settledAt + 2_500
    settledAt = now
    guard stored[Names.description]?.value != nil else { return }
    let slack = 3_500 + 4 * profile.storeDelay + (profile.fullAppends > 0 ? 5_000 : 0)
    for (field, limit) in ExpiryWorkload.limits {
      guard let present = stored[field], let value = present.value, value != ExpiryWorkload.off else { continue }
      if wasStopped { stored[field]?.since = max(present.since, now - limit) }
      if now > (stored[field]?.since ?? now) + 2 * limit + slack {
        throw Violation(.expiry, "\(field) is \(value) for \(now - present.since) ms, its limit is \(limit)")
      }
    }
  }

  // MARK: Readers

  /// Who has not heard the hub shows the default, except where it wrote itself.
  func checkShown(by peer: SimulatedPeer) throws(Violation) {
    for (field, limit) in ExpiryWorkload.limits {
      guard let record = peer.session.fieldRecord(ExpiryWorkload.model, field) else { continue }
      if record.isExpired { counts[.shownAsExpired] += 1 }
      guard !record.isPending, let value = record.shown, value != ExpiryWorkload.off else { continue }
      let silence = now - min(now, peer.process.heardAt)
      if silence > max(limit, 2_500) + 300 {
        throw Violation(.expiry, "\(peer) shows \(value) in \(field) and has not heard the hub for \(silence) ms")
      }
    }
  }
}
