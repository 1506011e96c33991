import BindingHub
import BindingPeer
import BindingProtocol

/// Features between peers: ephemeral models, owners and barriers. All concern the first model.
extension World {
  /// Events of these features, besides those of every history.
  enum Besides {
    case actInEphemeralModel(peer: Int)
    case comeBack(peer: Int, run: Int)
    case withdrawInEphemeralModel(peer: Int, run: Int, WriteID)
    case approve(peer: Int, run: Int, ApprovalRequest, refuses: Bool)
    case breakOff(peer: Int, run: Int, crashes: Bool)
    case strand(peer: Int, run: Int)
    case forgeOffer(hubRun: Int)
    case lie
  }

  /// What the hub has received from each peer, by tag, as seen from outside.
  struct Received {
    var last: [Tag: UInt64] = [:]
    var hello: [Tag: UInt64] = [:]
    var session: [Tag: SessionID] = [:]
    /// When a member of the model said hello again.
    var comingBack: [Tag: UInt64] = [:]
    /// Since when each peer is in the model by a join after its last hello; and the peers in its ephemeral model.
    var inModel: [Tag: UInt64] = [:]
    var inEphemeralModel: Swift.Set<Tag> = []
    /// The session of an answered join to the model, and how often the peer had left the model before.
    struct Membership: Equatable {
      let session: SessionID
      let leaves: Int
    }
    var served: [Tag: Membership] = [:]
    var leaves: [Tag: Int] = [:]
    /// The peer that is leaving context.now.
    var leaving: Tag?
  }

  func beginEphemeralWriters() {
    guard context.profile.hasEphemeralModel else { return }
    for index in 0..<context.profile.peers where isInEphemeralModel(index) {
      context.agenda.add(
        .besides(.actInEphemeralModel(peer: index)), at: context.now + context.featureChance.within(20...400))
    }
  }

  func handle(_ event: Besides) throws(Violation) {
    switch event {
    case .actInEphemeralModel(let peer): try actInEphemeralModel(peer)
    case .comeBack(let peer, let run): if peers[peer].process.run == run { try comeBack(peer) }
    case .withdrawInEphemeralModel(let peer, let run, let id):
      if peers[peer].process.run == run { try withdrawInEphemeralModel(id, of: peer) }
    case .approve(let peer, let run, let request, let refuses):
      if peers[peer].process.run == run { try answer(request, refuses: refuses, peer) }
    case .breakOff(let peer, let run, let crashes):
      if peers[peer].process.run == run { try breakOff(peer, crashes: crashes) }
    case .strand(let peer, let run): if peers[peer].process.run == run { try strand(peer) }
    case .forgeOffer(let run): if hubRun == run { try forgeOffer() }
    case .lie: try lie()
    }
  }

  /// Another run of the hub has received nothing yet.
  func resetHubObservations() {
    guard context.profile.hasEphemeralOrBarriers else { return }
    received = Received()
    ephemeral?.begin(Epoch(hubRun))
    ownership = Ownership()
    asked.removeAll()
    for peer in peers { peer.member?.mayHaveLost = true }
  }

  /// Inspects a frame before the hub does.
  func recordReceived(_ frame: [UInt8], of peer: SimulatedPeer) {
    let tag = peer.session.identity.tag
    // If its session has ended, nothing that it sends before another hello context.counts.
    if !isLiving(tag) {
      forget(tag)
      received.comingBack[tag] = nil
    }
    received.last[tag] = context.now
    guard let kind = PeerMessageKind(rawValue: frame[0]) else { return }
    switch kind {
    case .hello, .join, .leave, .approval, .awaitApplied: break
    default: return
    }
    guard let (header, message) = try? PeerMessage.decode(frame) else { return }
    switch message {
    case .hello:
      if ephemeral?.present.contains(where: { $0.value.tag == tag }) == true {
        context.counts[.keptInEphemeralModel] += 1
      }
      received.hello[tag] = context.now
      received.session[tag] = header.session
      if received.inModel[tag] != nil { received.comingBack[tag] = context.now }
      forget(tag)
    case .join(let joins) where read({ $0.hasOpenSession(header.session) }) == true:
      for join in joins where join.form == .model {
        if join.name == context.modelNames[0] { received.inModel[tag] = received.inModel[tag] ?? context.now }
        if join.name == ephemeral?.name { received.inEphemeralModel.insert(tag) }
      }
    case .leave(let leave):
      received.leaving = tag
      if leave.topics.isEmpty { return forget(tag) }
      for topic in leave.topics {
        let name = topicNames[topic]
        if name == context.modelNames[0] {
          received.inModel[tag] = nil
          received.comingBack[tag] = nil
          received.served[tag] = nil
          received.leaves[tag, default: 0] += 1
        }
        if name == ephemeral?.name { received.inEphemeralModel.remove(tag) }
      }
    case .approval(let approval): recordReceived(approval, in: header.session)
    case .awaitApplied(let wanted): recordReceived(wanted, in: header.session)
    default: break
    }
  }

  private func forget(_ tag: Tag) {
    received.inModel[tag] = nil
    received.inEphemeralModel.remove(tag)
    received.served[tag] = nil
  }

  /// Whether the hub must not have taken it for gone.
  func isLiving(_ tag: Tag) -> Bool {
    received.last[tag].map { context.now < $0 + UInt64(context.profile.leaseMilliseconds) } ?? false
  }

  /// Inspects a frame that leaves the hub.
  func look(
    _ frame: UnsafeRawBufferPointer, _ kind: HubMessageKind, to destination: HubOutput.Destination
  ) throws(Violation) {
    switch kind {
    case .commits where ephemeral != nil: break
    case .joined, .approve, .awaited: break
    default: return
    }
    guard case (let header, let message)? = try? HubMessage.decode(frame) else { return }
    switch message {
    case .commits(let group):
      guard case .publish = destination, let name = ephemeral?.name,
        topicNames[header.topic] == name
      else { return }
      if ephemeral?.moves(to: header.topic) == true { context.counts[.renumberedEphemeralModel] += 1 }
      try apply(group)
    case .joined(let joined):
      guard joined.model == context.modelNames[0], case .connection(let connection) = destination,
        let peer = peers.first(where: { $0.link.hubSide == Int(connection) })
      else { return }
      let tag = peer.session.identity.tag
      received.served[tag] = .init(session: joined.session, leaves: received.leaves[tag] ?? 0)
    case .approve(let request): try look(request)
    case .awaited(let awaited): try look(awaited)
    default: break
    }
  }

  func checkEphemeralAndBarriers() throws(Violation) {
    try checkEphemeralModelHealed()
    try checkBarriersOver()
  }

  /// Whether a feature needs more time to end than a history without it.
  var needsMoreTime: Bool {
    if context.profile.hasOwner, peers.contains(where: { !$0.writes.unacknowledged.isEmpty }) { return true }
    guard let ephemeral, hub != nil else { return false }
    // A hub stopped at the end of the chaos phase gave every session a new term.
    return ephemeral.present.contains { field, held in
      let tag = field.hasPrefix(Names.presencePrefix) ? EphemeralOracle.slotOwner(held) : held.tag
      return !peers.contains { $0.session.identity.tag == tag && !$0.outbox.isOver }
    }
  }
}
