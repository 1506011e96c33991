import BindingHub
import BindingPeer
import BindingProtocol

/// Offers to a hub that has lost commits: a peer reports every number that it has seen, so that no proposal takes
/// effect twice (G3).
struct OfferOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .peerSent(let frame, let peer) where frame[0] == PeerMessageKind.offer.rawValue:
      try checkOffer(frame, of: peer)
    case .offerRead(let frame, let peer, let wasAccepted): recordOffer(frame, of: peer, wasAccepted: wasAccepted)
    case .updated(let update, let peer):
      guard let model = modelNames.firstIndex(of: update.model) else { return }
      recordSeen(update, in: model, by: peer)
    default: break
    }
  }

  /// Records an offer that the hub has read.
  private func recordOffer(_ frame: [UInt8], of peer: SimulatedPeer, wasAccepted: Bool) {
    guard case (_, .offer(let offer))? = try? PeerMessage.decode(frame), let model = peer.hub.model(of: offer.topic)
    else { return }
    if offer.chunk == 0 { peer.numbers.offered.removeAll() }
    peer.numbers.offered += OfferOracle.seen(in: offer)
    guard offer.isLast, wasAccepted else { return }
    let replica = SumAdditions.Replica(epoch: offer.epoch, version: offer.version, offerer: peer.tag)
    log.claims.record(peer.numbers.offered, of: replica, in: model)
  }

  private static func seen(in offer: Offer) -> [SeenNumber] {
    offer.fields.map { SeenNumber(tag: $0.origin.tag, number: $0.number) } + (offer.numbers ?? [])
  }

  /// A peer that offers its replica reports every number that it was shown.
  private func checkOffer(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .offer(let offer))? = try? PeerMessage.decode(frame), let model = peer.hub.model(of: offer.topic)
    else { return }
    if offer.chunk == 0 { peer.numbers.offering.removeAll() }
    peer.numbers.offering += OfferOracle.seen(in: offer)
    guard offer.isLast else { return }
    var highest: [Tag: ProposalNumber] = [:]
    for seen in peer.numbers.offering { highest[seen.tag] = max(highest[seen.tag] ?? 0, seen.number) }
    for (tag, number) in peer.numbers.seen[model] where highest[tag] ?? 0 < number {
      throw Violation(
        .exactlyOnce,
        "\(peer) has seen proposal \(number) of \(tag.short) in \(modelNames[model]) and offers its replica as "
          + "if it had seen \(highest[tag] ?? 0)")
    }
  }

  /// Records the numbers of the commits that a peer has seen one by one.
  private func recordSeen(_ update: ModelUpdate, in model: Int, by peer: SimulatedPeer) {
    for commit in update.commits where commit.number > 0 {
      peer.numbers.seen[model][commit.origin.tag] = max(peer.numbers.seen[model][commit.origin.tag] ?? 0, commit.number)
    }
  }

}
