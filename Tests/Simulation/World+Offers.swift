import BindingHub
import BindingPeer
import BindingProtocol

/// Offers to a hub that has lost commits: from peers, which report what they have, and from impostors.
extension World {
  /// Records an offer that the hub has read.
  func recordOffer(_ frame: [UInt8], of peer: SimulatedPeer, wasAccepted: Bool) {
    guard case (_, .offer(let offer))? = try? PeerMessage.decode(frame), let model = model(of: offer.topic) else {
      return
    }
    if offer.chunk == 0 { peer.numbers.offered.removeAll() }
    peer.numbers.offered += World.seen(in: offer)
    guard offer.isLast, wasAccepted else { return }
    oracle.claims.record(peer.numbers.offered, from: peer.session.identity.tag, at: offer.epoch, in: model)
  }

  private static func seen(in offer: Offer) -> [SeenNumber] {
    offer.fields.map { SeenNumber(tag: $0.origin.tag, number: $0.number) } + (offer.numbers ?? [])
  }

  /// A peer that offers its replica reports every number that it was shown.
  func checkOffer(_ frame: [UInt8], of peer: SimulatedPeer) throws(Violation) {
    guard case (_, .offer(let offer))? = try? PeerMessage.decode(frame), let model = model(of: offer.topic) else {
      return
    }
    if offer.chunk == 0 { peer.numbers.offering.removeAll() }
    peer.numbers.offering += World.seen(in: offer)
    guard offer.isLast else { return }
    var highest: [Tag: ProposalNumber] = [:]
    for seen in peer.numbers.offering { highest[seen.tag] = max(highest[seen.tag] ?? 0, seen.number) }
    for (tag, number) in peer.numbers.seen[model] where highest[tag] ?? 0 < number {
      throw Violation(
        .exactlyOnce,
        "\(peer) has seen proposal \(number) of \(tag.short) in \(context.modelNames[model]) "
          + "and offers its replica as "
          + "if it had seen \(highest[tag] ?? 0)")
    }
  }

  /// Records the numbers of the commits that a peer has seen one by one.
  func recordSeen(_ update: ModelUpdate, in model: Int, by peer: SimulatedPeer) {
    for commit in update.commits where commit.number > 0 {
      peer.numbers.seen[model][commit.origin.tag] = max(peer.numbers.seen[model][commit.origin.tag] ?? 0, commit.number)
    }
  }

  /// A hub that has lost commits has started: an impostor may be there before the peers.
  func awaitForgedOffer() {
    guard context.profile.forgedOffers > 0, context.isChaos, lieChance.perMille(context.profile.forgedOffers) else {
      return
    }
    context.agenda.add(.besides(.forgeOffer(hubRun: hubRun)), at: context.now + lieChance.within(1...1_500))
  }

  /// Offers a replica that never existed: in others' names and numbers, with reserved field names.
  func forgeOffer() throws(Violation) {
    guard hub != nil, !isHubPaused else { return }
    let connection: ConnectionID = 1 << 41 + lieChance.next() % 1_000
    let identity = Identity(secret: Secret(high: 3, low: lieChance.next()), name: "impostor")
    oracle.claims.liars.insert(identity.tag)
    let session = lieChance.next() | 1
    let model = lieChance.below(context.modelNames.count)
    // A hub believes an offer of the present epoch once; that is a lie of its own.
    let offeredEpochs: [Epoch] = [epoch - 1 << 32, losses > 0 ? epoch : 1, epoch + 1 << 32, .max]
    let versions: [Version] = [3, 40, 1_000, 1 << 52, .max]
    let offeredEpoch = offeredEpochs[lieChance.perMille(600) ? 0 : lieChance.below(offeredEpochs.count)]
    let version = versions[lieChance.below(versions.count)]
    context.record(
      "an impostor offers version \(version) of epoch \(offeredEpoch >> 32) of \(context.modelNames[model])")
    func send(_ message: PeerMessage, start: StartNumber) {
      message.encode(session: session, start: start).withUnsafeBytes {
        hub?.receive($0, on: connection, time: hubTime, into: &hubOutput)
      }
    }
    let start = StartNumber(hubRun)
    send(.hello(Hello(identity: identity, capabilities: Capability.all)), start: 0)
    send(
      .join([Join(request: 1, model: context.modelNames[model], epoch: offeredEpoch, version: version)]), start: start)
    guard let topic = topic(of: model) else { return try settleHub() }
    let victim = peers[lieChance.below(peers.count)].session.identity
    let names = [SimulatedField.names[lieChance.below(SimulatedField.plain)], "@peer-0", "@me"]
    let fields = names.map { name in
      OfferedField(
        name: name, version: max(version, 1), origin: Origin(tag: victim.tag, name: victim.name),
        number: ProposalNumber(1 + lieChance.below(20)), time: .max, value: Oracle.forged)
    }
    let numbers = peers.map { peer in
      SeenNumber(tag: peer.session.identity.tag, number: ProposalNumber(lieChance.below(100_000)))
    }
    send(
      .offer(
        Offer(
          request: 1, topic: topic, epoch: offeredEpoch, version: version, chunk: 0, isLast: true, fields: fields,
          numbers: numbers)), start: start)
    context.counts[.forgedOffer] += 1
    try settleHub()
    send(.leave(Leave()), start: start)
    try settleHub()
  }

  /// Records the epoch in which a proposal was first sent.
  func recordSent(_ frame: [UInt8], by peer: SimulatedPeer) {
    guard case (let header, .propose(let proposals))? = try? PeerMessage.decode(frame),
      header.start == StartNumber(hubRun), let epoch = peer.read({ $0.epoch })
    else { return }
    for proposal in proposals {
      guard let model = model(of: proposal.topic), peer.numbers.firstSent[model][proposal.number] == nil else {
        continue
      }
      // A proposal marked as first sent in an earlier epoch may stem from an earlier process.
      peer.numbers.firstSent[model][proposal.number] = proposal.isEarlier ? 0 : epoch
    }
  }

  /// A proposal first sent in this epoch has an outcome, whatever others say of older epochs.
  func checkUnknown(_ number: ProposalNumber, in model: Int, to peer: Int) throws(Violation) {
    peers[peer].numbers.receivedUnknown = true
    guard peers[peer].numbers.firstSent[model][number] == epoch else { return }
    throw Violation(
      .outcomeKept,
      "p\(peer) was told that nobody knows what became of proposal \(number) to \(context.modelNames[model]), "
        + "which was first "
        + "sent in this epoch")
  }
}
