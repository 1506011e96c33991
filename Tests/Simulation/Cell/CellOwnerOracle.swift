import BindingHub
import BindingProtocol

/// What must hold of a model with an owner where several hubs share the log (protocol.md §17.4): only the hub where
/// the owner is decides what others write, and applies only what the owner has allowed.
final class CellOwnerOracle: Invariant, SimulationPart {
  /// What one owner's hub has asked.
  private struct Question: Hashable {
    let session: SessionID
    let token: UInt32
  }
  /// Where a peer is that may own the model.
  private struct Place {
    /// Not owned: a hub has its oracles. It lives as long as its cell.
    unowned let hub: SimulatedHub
    let session: SessionID
    /// Whether its join of the model was answered.
    var isServed = false
    /// Whether the hub can ask it. A hub that is drained ends the session.
    var canBeAsked: Bool { isServed && hub.read { $0.hasOpenSession(session) } == true }
  }
  let context: SimulationContext
  private let log: LogOracle
  private let model: String
  /// The owner as the log says, with the hub by its index.
  @exclusivity(unchecked) private var owner: (tag: Tag, hub: Int)?
  @exclusivity(unchecked) private var hubs: [StartNumber: Int] = [:]
  @exclusivity(unchecked) private var places: [Tag: Place] = [:]
  @exclusivity(unchecked) private var asked: [Question: ApprovalRequest] = [:]
  @exclusivity(unchecked) private var allowed: [ApprovalRequest] = []
  @exclusivity(unchecked) private var denied: Set<Tag> = []
  /// Batches that were decided while the owner could be asked.
  @exclusivity(unchecked) private var askable: Set<Batch> = []

  init(_ context: SimulationContext, _ log: LogOracle) {
    (self.context, self.log) = (context, log)
    model = context.modelNames[0]
  }

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .received(let frame, let peer, _): receive(frame, of: peer)
    case .sent(let frame, .approve, _, _):
      guard case (_, .approve(let request))? = try? HubMessage.decode(frame) else { return }
      counts[.ownerAsked] += 1
      asked[Question(session: request.session, token: request.token)] = request
    case .sent(let frame, .joined, .connection, let hub):
      guard case (_, .joined(let joined))? = try? HubMessage.decode(frame), joined.model == model,
        let tag = places.first(where: { $0.value.session == joined.session && $0.value.hub === hub })?.key
      else { return }
      places[tag]?.isServed = true
    case .decided(let batches):
      guard let owner, places[owner.tag].map({ $0.hub.index == owner.hub && $0.canBeAsked }) == true
      else { return }
      for batch in batches where batch.model == model && !batch.changesOwner { askable.insert(batch) }
    case .stored(let batch, let hub): if batch.model == model { try enter(batch, by: hub) }
    default: break
    }
  }

  private func receive(_ frame: [UInt8], of peer: SimulatedPeer) {
    hubs[peer.hub.start] = peer.hub.index
    guard let kind = frame.first.flatMap(PeerMessageKind.init(rawValue:)), [.hello, .leave, .approval].contains(kind),
      let (header, message) = try? PeerMessage.decode(frame)
    else { return }
    switch message {
    case .hello: places[peer.tag] = Place(hub: peer.hub, session: header.session)
    case .leave: places[peer.tag]?.isServed = false
    case .approval(let approval):
      guard let request = asked[Question(session: header.session, token: approval.token)] else { return }
      if approval.isAccepted { allowed.append(request) } else { denied.insert(request.origin.tag) }
    default: break
    }
  }

  private func enter(_ batch: Batch, by hub: SimulatedHub) throws(Violation) {
    let mustBeAllowed = askable.contains(batch)
    askable = askable.filter { $0.record > batch.record }
    if let owner {
      for commit in commits(in: batch) where commit.writer != owner.tag {
        guard owner.hub == hub.index else {
          throw Violation(
            .approval, "\(hub) has decided a write of \(commit.writer.short), although the owner is at hub \(owner.hub)"
          )
        }
        if mustBeAllowed { try check(commit, owner: owner.tag) }
      }
    }
    for decision in batch.decisions {
      switch decision.outcome {
      case .refused(let refusal)? where refusal.code == .refusedByOwner:
        counts[.refusedByOwner] += 1
        guard !denied.contains(decision.origin.tag) else { break }
        throw Violation(.approval, "no owner has refused what \(decision.origin.tag.short) wrote")
      case .refused(let refusal)? where refusal.code == .ownerSilent: counts[.ownerSilent] += 1
      default: break
      }
      guard decision.form == .owner else { continue }
      owner = decision.number == 0 ? nil : hubs[decision.number].map { (decision.origin.tag, $0) }
      counts[owner == nil ? .ownerGone : .ownedInCell] += 1
    }
  }

  private func check(
    _ commit: (writer: Tag, fields: [String: FieldValue?]), owner: Tag
  ) throws(Violation) {
    let isAllowed = allowed.contains { request in
      guard request.origin.tag == commit.writer, request.fields.count == commit.fields.count else { return false }
      return request.fields.allSatisfy { commit.fields[$0.name] == .some($0.value) }
    }
    guard !isAllowed else {
      counts[.allowedByOwner] += 1
      return
    }
    throw Violation(
      .approval, "\(commit.writer.short) has written \(commit.fields.keys.sorted()), which \(owner.short) did not allow"
    )
  }

  /// What peers have written in a batch.
  private func commits(in batch: Batch) -> [(writer: Tag, fields: [String: FieldValue?])] {
    guard !batch.body.isEmpty, let group = try? CommitGroup.decode(batch.body) else { return [] }
    return group.commits.compactMap { commit in
      guard commit.number > 0 else { return nil }
      var fields: [String: FieldValue?] = [:]
      for change in commit.changes {
        fields[SimulatedField.names[log.names[0][Int(change.field)]]] = .some(change.value)
      }
      return (group.origins[Int(commit.origin)].tag, fields)
    }
  }
}

extension Batch {
  /// Whether another peer owns the model from this record on, or nobody.
  fileprivate var changesOwner: Bool { decisions.contains { $0.form == .owner } }
}
