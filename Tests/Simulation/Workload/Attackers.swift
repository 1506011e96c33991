import BindingHub
import BindingPeer
import BindingProtocol

/// Attackers: each has a secret of its own and may write, like a peer, but sends whatever it likes. Every guarantee to
/// honest peers still holds.
final class Attackers: SimulationPart {
  /// What an attacker does. Each history uses some of these.
  enum Attack: CaseIterable {
    /// A hello with another's tag, and every message in another's session.
    case stolenTag
    /// A replica that never existed.
    case forgedOffer
    /// A forged replica of the present epoch, which a hub believes once in a start.
    case presentEpoch
    /// Numbers far ahead, all of them its own.
    case farNumbers
    /// Reserved names.
    case reservedNames
    /// Unreadable frames, and meaningless proposals.
    case malformed
    /// Enough identities that the hub may have to forget others.
    case manyIdentities
  }

  private struct Attacker {
    let identity: Identity
    let session: SessionID
    let connection: ConnectionID
  }

  let context: SimulationContext
  private let hub: SimulatedHub
  private let attacks: [Attack]
  /// Chance for everything that attackers do.
  @exclusivity(unchecked) private var chance: Chance

  init(_ hub: SimulatedHub, chance: Chance) {
    context = hub.context
    self.hub = hub
    var chance = chance
    attacks =
      context.profile.forgedOffers > 0
      ? Attack.allCases.filter { chance.perMille($0 == .presentEpoch ? 200 : 600) } : []
    self.chance = chance
  }

  private var network: SimulatedNetwork { hub.network }

  func awaitAttack() {
    guard !attacks.isEmpty, isChaos else { return }
    agenda.add(.attack, at: now + chance.within(20...1_500))
  }

  func attack() throws(Violation) {
    defer { awaitAttack() }
    // In a quiet time no peer writes.
    guard hub.isRunning, !isQuiet, !attacks.isEmpty, case let attack = attacks[chance.below(attacks.count)]
    else { return }
    counts[.attacked] += 1
    switch attack {
    case .stolenTag: try stealTag()
    case .forgedOffer: try forgeOffer()
    case .presentEpoch: try claimPresentEpoch()
    case .farNumbers: try claimFarNumbers()
    case .reservedNames: try writeReserved()
    case .malformed: try sendMalformed()
    case .manyIdentities: for _ in 0..<4 { try joinAndLeave() }
    }
  }

  /// A hub that has lost commits has started: an impostor may be there before the peers.
  func awaitForgedOffer() {
    guard profile.forgedOffers > 0, isChaos, chance.perMille(profile.forgedOffers) else { return }
    agenda.add(.forgeOffer(hubRun: hub.run), at: now + chance.within(1...1_500))
  }

  // MARK: Tools

  private func makeAttacker() -> Attacker {
    let identity = Identity(secret: Secret(high: 3, low: chance.next()), name: "liar")
    hub.invariants.log.claims.attackers.insert(identity.tag)
    return Attacker(identity: identity, session: chance.next() | 1, connection: 1 << 41 + chance.next() % (1 << 30))
  }

  private func send(_ bytes: [UInt8], _ attacker: Attacker) throws(Violation) {
    guard hub.isThere else { return }
    hub.receive(bytes, on: attacker.connection)
    try hub.settle()
  }

  private func send(_ message: PeerMessage, _ attacker: Attacker) throws(Violation) {
    var start = hub.start
    if case .hello = message { start = 0 }
    try send(message.encode(session: attacker.session, start: start), attacker)
  }

  /// Says hello and joins a model; nil if the hub then has no such model.
  private func enter(_ attacker: Attacker, unacknowledged: ProposalNumber = 1) throws(Violation) -> (
    model: Int, topic: Topic
  )? {
    try send(.hello(Hello(identity: attacker.identity, capabilities: Capability.all)), attacker)
    let model = chance.below(modelNames.count)
    try send(.join([Join(request: 1, model: modelNames[model], unacknowledged: unacknowledged)]), attacker)
    return hub.topic(of: model).map { (model, $0) }
  }

  private func goAway(_ attacker: Attacker) throws(Violation) {
    if chance.perMille(500) { try send(.leave(Leave()), attacker) }
    hub.closed(attacker.connection)
    try hub.settle()
  }

  private func forged(_ field: String? = nil) -> WireOperation {
    let field = field ?? SimulatedField.names[chance.below(SimulatedField.plain)]
    return WireOperation(verb: .set, field: .name(field), value: LogOracle.forged)
  }

  // MARK: Attacks

  /// R9: no client speaks for another: the victim's session goes on undisturbed.
  private func stealTag() throws(Violation) {
    let victim = network.peers[chance.below(network.peers.count)]
    let attacker = makeAttacker()
    let stolen = Identity(tag: victim.tag, secret: attacker.identity.secret, name: "thief")
    record("an attacker says hello as \(victim) and sends in its session")
    try send(.hello(Hello(identity: stolen, capabilities: Capability.all)), attacker)
    let index = chance.below(modelNames.count)
    try send(.join([Join(request: 1, model: modelNames[index], unacknowledged: 1_000)]), attacker)
    guard let topic = hub.topic(of: index) else { return }
    let next = hub.invariants.log.lastDecided(of: stolen.tag, in: index) + 1
    let set = WireOperation(verb: .set, field: .name("b"), value: LogOracle.ofImpostor)
    let proposal = NumberedProposal(topic: topic, number: next, confirmed: .max, operations: [set])
    try send(.propose([proposal]), attacker)
    let wasThere = hub.hasSession(victim)
    let inItsName = Attacker(identity: stolen, session: victim.link.session, connection: attacker.connection)
    for message in [
      .join([Join(request: 1, model: modelNames[index], unacknowledged: 1_000)]), .propose([proposal]),
      .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: topic, confirmed: .max, applied: .max)])), .leave(Leave()),
    ] as [PeerMessage] where inItsName.session != 0 {
      try send(message, inItsName)
    }
    if wasThere, !hub.hasSession(victim) {
      throw Violation(.lease, "an attacker that sent in the session of \(victim) ended it")
    }
  }

  /// Claims to be ahead in the present epoch: that proves a loss, once in a start. The hub may then ask for its
  /// replica.
  private func claimPresentEpoch() throws(Violation) {
    let attacker = makeAttacker()
    record("an attacker is ahead in the present epoch")
    guard let (model, topic) = try enter(attacker) else { return }
    let version: Version = [4, 400, 1 << 52][chance.below(3)]
    let old = hub.epoch
    try send(.join([Join(request: 2, model: modelNames[model], epoch: old, version: version)]), attacker)
    let field = OfferedField(
      name: SimulatedField.names[chance.below(SimulatedField.plain)], version: version,
      origin: attacker.identity.origin, number: .max, time: .max, value: LogOracle.forged)
    try send(
      .offer(
        Offer(request: 2, topic: topic, epoch: old, version: version, chunk: 0, isLast: true, fields: [field])),
      attacker)
    try goAway(attacker)
  }

  private func claimFarNumbers() throws(Violation) {
    let attacker = makeAttacker()
    let far: ProposalNumber = [2, 100, 1 << 20, .max - 1, .max][chance.below(5)]
    record("an attacker counts from \(far)")
    guard let (_, topic) = try enter(attacker, unacknowledged: far) else { return }
    for number in [far, .max, 1, far] as [ProposalNumber] {
      let proposal = NumberedProposal(
        topic: topic, number: number, confirmed: .max, isVoid: chance.perMille(200),
        isEarlier: chance.perMille(500), operations: [forged()])
      try send(.propose([proposal]), attacker)
    }
    try send(
      .alive(Alive(heartbeat: .max, entries: [AliveEntry(topic: topic, confirmed: .max, applied: .max)])), attacker)
    try goAway(attacker)
  }

  private func writeReserved() throws(Violation) {
    let attacker = makeAttacker()
    record("an attacker writes reserved names")
    guard let (_, topic) = try enter(attacker) else { return }
    for (index, name) in ["@me", "@owner", "@peer-0", "@x", Names.description, "a.b", "", "a\u{0}"].enumerated() {
      // A frame with an invalid name ends the session; the next frames belong to no session.
      let proposal = NumberedProposal(topic: topic, number: ProposalNumber(index + 1), operations: [forged(name)])
      try send(.propose([proposal]), attacker)
    }
    try goAway(attacker)
  }

  private func sendMalformed() throws(Violation) {
    let attacker = makeAttacker()
    record("an attacker sends malformed messages")
    guard let (_, topic) = try enter(attacker) else { return }
    let ahead = WireCondition(epoch: hub.epoch + 1 << 32, version: 1 << 60, field: .name("a"))
    let beyond = WireCondition(epoch: hub.epoch, version: .max, field: .id(7))
    let proposals = [
      NumberedProposal(topic: topic, number: 1, operations: [forged("a"), forged("a")]),
      NumberedProposal(topic: topic, number: 2, hops: .max, operations: [forged()]),
      NumberedProposal(topic: topic, number: 3, conditions: [ahead, beyond], operations: [forged()]),
      NumberedProposal(topic: topic, number: 4, operations: []),
      NumberedProposal(
        topic: topic, number: 5, operations: [.init(verb: .delete, field: .id(.max - 1), value: nil)]),
      NumberedProposal(topic: topic + 1_000, number: 6, operations: [forged()]),
      NumberedProposal(topic: topic, number: 6, hops: 8, operations: [forged()]),
    ]
    try send(.propose(proposals), attacker)
    for _ in 0..<3 {
      var frame = PeerMessage.propose(Array(proposals.suffix(1))).encode(session: attacker.session, start: hub.start)
      if chance.perMille(500) {
        frame.removeLast(1 + chance.below(frame.count - 1))
      } else {
        frame.append(UInt8(truncatingIfNeeded: chance.next()))
      }
      try send(frame, attacker)
      try send(.hello(Hello(identity: attacker.identity, capabilities: Capability.all)), attacker)
    }
    try goAway(attacker)
  }

  /// Adds an identity with a last decided number that never returns.
  private func joinAndLeave() throws(Violation) {
    let attacker = makeAttacker()
    guard let (_, topic) = try enter(attacker) else { return }
    try send(.propose([NumberedProposal(topic: topic, number: 1, operations: [forged()])]), attacker)
    try send(.leave(Leave()), attacker)
    hub.closed(attacker.connection)
  }

  /// Offers a replica that never existed: in others' names and numbers, with reserved field names.
  func forgeOffer() throws(Violation) {
    guard hub.isRunning else { return }
    let connection: ConnectionID = 1 << 41 + chance.next() % 1_000
    let identity = Identity(secret: Secret(high: 3, low: chance.next()), name: "impostor")
    hub.invariants.log.claims.attackers.insert(identity.tag)
    let session = chance.next() | 1
    let model = chance.below(modelNames.count)
    // A hub believes an offer of the present epoch once; that is an attack of its own.
    let offeredEpochs: [Epoch] = [
      hub.epoch - 1 << 32, hub.invariants.log.losses > 0 ? hub.epoch : 1, hub.epoch + 1 << 32, .max,
    ]
    let versions: [Version] = [3, 40, 1_000, 1 << 52, .max]
    let offeredEpoch = offeredEpochs[chance.perMille(600) ? 0 : chance.below(offeredEpochs.count)]
    let version = versions[chance.below(versions.count)]
    record("an impostor offers version \(version) of epoch \(offeredEpoch >> 32) of \(modelNames[model])")
    func send(_ message: PeerMessage, start: StartNumber) {
      hub.receive(message.encode(session: session, start: start), on: connection)
    }
    let start = hub.start
    send(.hello(Hello(identity: identity, capabilities: Capability.all)), start: 0)
    send(.join([Join(request: 1, model: modelNames[model], epoch: offeredEpoch, version: version)]), start: start)
    guard let topic = hub.topic(of: model) else { return try hub.settle() }
    let victim = network.peers[chance.below(network.peers.count)].session.identity
    let names = [SimulatedField.names[chance.below(SimulatedField.plain)], "@peer-0", "@me"]
    let fields = names.map { name in
      OfferedField(
        name: name, version: max(version, 1), origin: Origin(tag: victim.tag, name: victim.name),
        number: ProposalNumber(1 + chance.below(20)), time: .max, value: LogOracle.forged)
    }
    let numbers = network.peers.map { peer in
      SeenNumber(tag: peer.tag, number: ProposalNumber(chance.below(100_000)))
    }
    send(
      .offer(
        Offer(
          request: 1, topic: topic, epoch: offeredEpoch, version: version, chunk: 0, isLast: true, fields: fields,
          numbers: numbers)), start: start)
    counts[.forgedOffer] += 1
    try hub.settle()
    send(.leave(Leave()), start: start)
    try hub.settle()
  }
}
