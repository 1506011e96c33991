import BindingHub
import BindingPeer
import BindingProtocol

/// Liars: each has a secret of its own and may write, like a peer, but sends whatever it likes. Every guarantee to
/// honest peers still holds.
extension World {
  /// What a liar does. Each history uses some of these.
  enum Lie: CaseIterable {
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
    case badStructure
    /// Enough identities that the hub may have to forget others.
    case crowd
  }

  private struct Liar {
    let identity: Identity
    let session: SessionID
    let connection: ConnectionID
  }

  static func drawLies(from chance: inout Chance) -> [Lie] {
    Lie.allCases.filter { chance.perMille($0 == .presentEpoch ? 200 : 600) }
  }

  func awaitLie() {
    guard !lies.isEmpty, context.isChaos else { return }
    context.agenda.add(.besides(.lie), at: context.now + lieChance.within(20...1_500))
  }

  func lie() throws(Violation) {
    defer { awaitLie() }
    // In a quiet time no peer writes.
    guard hub != nil, !isHubPaused, !context.isQuiet, let lie = lies.isEmpty ? nil : lies[lieChance.below(lies.count)]
    else {
      return
    }
    context.counts[.lied] += 1
    switch lie {
    case .stolenTag: try stealTag()
    case .forgedOffer: try forgeOffer()
    case .presentEpoch: try claimPresent()
    case .farNumbers: try numberFar()
    case .reservedNames: try writeReserved()
    case .badStructure: try speakBadly()
    case .crowd: for _ in 0..<4 { try comeAndGo() }
    }
  }

  // MARK: Tools

  private func makeLiar() -> Liar {
    let identity = Identity(secret: Secret(high: 3, low: lieChance.next()), name: "liar")
    oracle.claims.liars.insert(identity.tag)
    return Liar(
      identity: identity, session: lieChance.next() | 1, connection: 1 << 41 + lieChance.next() % (1 << 30))
  }

  private func send(_ bytes: [UInt8], _ liar: Liar) throws(Violation) {
    guard hub != nil else { return }
    bytes.withUnsafeBytes { hub?.receive($0, on: liar.connection, time: hubTime, into: &hubOutput) }
    try settleHub()
  }

  private func send(_ message: PeerMessage, _ liar: Liar) throws(Violation) {
    var start = StartNumber(hubRun)
    if case .hello = message { start = 0 }
    try send(message.encode(session: liar.session, start: start), liar)
  }

  /// Says hello and joins a model; nil if the hub then has no such model.
  private func enter(_ liar: Liar, unacknowledged: ProposalNumber = 1) throws(Violation) -> (model: Int, topic: Topic)?
  {
    try send(.hello(Hello(identity: liar.identity, capabilities: Capability.all)), liar)
    let model = lieChance.below(context.modelNames.count)
    try send(.join([Join(request: 1, model: context.modelNames[model], unacknowledged: unacknowledged)]), liar)
    return topic(of: model).map { (model, $0) }
  }

  private func goAway(_ liar: Liar) throws(Violation) {
    if lieChance.perMille(500) { try send(.leave(Leave()), liar) }
    hub?.closed(liar.connection, time: hubTime, into: &hubOutput)
    try settleHub()
  }

  private func forged(_ field: String? = nil) -> WireOperation {
    let field = field ?? SimulatedField.names[lieChance.below(SimulatedField.plain)]
    return WireOperation(verb: .set, field: .name(field), value: Oracle.forged)
  }

  // MARK: The lies

  /// R9: no client speaks for another: the victim's session goes on undisturbed.
  private func stealTag() throws(Violation) {
    let victim = peers[lieChance.below(peers.count)]
    let liar = makeLiar()
    let stolen = Identity(tag: victim.session.identity.tag, secret: liar.identity.secret, name: "thief")
    context.record("a liar says hello as p\(victim.index), and speaks in its session")
    try send(.hello(Hello(identity: stolen, capabilities: Capability.all)), liar)
    let index = lieChance.below(context.modelNames.count)
    try send(.join([Join(request: 1, model: context.modelNames[index], unacknowledged: 1_000)]), liar)
    guard let topic = topic(of: index) else { return }
    let next = oracle.lastDecided(of: stolen.tag, in: index) + 1
    let set = WireOperation(verb: .set, field: .name("b"), value: Oracle.ofImpostor)
    let proposal = NumberedProposal(topic: topic, number: next, confirmed: .max, operations: [set])
    try send(.propose([proposal]), liar)
    let wasThere = hasSession(victim)
    let inItsName = Liar(identity: stolen, session: victim.link.session, connection: liar.connection)
    for message in [
      .join([Join(request: 1, model: context.modelNames[index], unacknowledged: 1_000)]), .propose([proposal]),
      .alive(Alive(heartbeat: 1, entries: [AliveEntry(topic: topic, confirmed: .max, applied: .max)])), .leave(Leave()),
    ] as [PeerMessage] where inItsName.session != 0 {
      try send(message, inItsName)
    }
    if wasThere, !hasSession(victim) {
      throw Violation(.lease, "a liar that spoke in its session ended that of p\(victim.index)")
    }
  }

  /// Claims to be ahead in the present epoch: that proves a loss, once in a start. The hub may then ask for its
  /// replica.
  private func claimPresent() throws(Violation) {
    let liar = makeLiar()
    context.record("a liar is ahead in the present epoch")
    guard let (model, topic) = try enter(liar) else { return }
    let version: Version = [4, 400, 1 << 52][lieChance.below(3)]
    let old = epoch
    try send(.join([Join(request: 2, model: context.modelNames[model], epoch: old, version: version)]), liar)
    let field = OfferedField(
      name: SimulatedField.names[lieChance.below(SimulatedField.plain)], version: version,
      origin: liar.identity.origin, number: .max, time: .max, value: Oracle.forged)
    try send(
      .offer(
        Offer(request: 2, topic: topic, epoch: old, version: version, chunk: 0, isLast: true, fields: [field])), liar)
    try goAway(liar)
  }

  private func numberFar() throws(Violation) {
    let liar = makeLiar()
    let far: ProposalNumber = [2, 100, 1 << 20, .max - 1, .max][lieChance.below(5)]
    context.record("a liar context.counts from \(far)")
    guard let (_, topic) = try enter(liar, unacknowledged: far) else { return }
    for number in [far, .max, 1, far] as [ProposalNumber] {
      let proposal = NumberedProposal(
        topic: topic, number: number, confirmed: .max, isVoid: lieChance.perMille(200),
        isEarlier: lieChance.perMille(500), operations: [forged()])
      try send(.propose([proposal]), liar)
    }
    try send(.alive(Alive(heartbeat: .max, entries: [AliveEntry(topic: topic, confirmed: .max, applied: .max)])), liar)
    try goAway(liar)
  }

  private func writeReserved() throws(Violation) {
    let liar = makeLiar()
    context.record("a liar writes what nobody may")
    guard let (_, topic) = try enter(liar) else { return }
    for (index, name) in ["@me", "@owner", "@peer-0", "@x", Names.description, "a.b", "", "a\u{0}"].enumerated() {
      // A frame with an invalid name ends the session; the next frames belong to no session.
      let proposal = NumberedProposal(topic: topic, number: ProposalNumber(index + 1), operations: [forged(name)])
      try send(.propose([proposal]), liar)
    }
    try goAway(liar)
  }

  private func speakBadly() throws(Violation) {
    let liar = makeLiar()
    context.record("a liar speaks badly")
    guard let (_, topic) = try enter(liar) else { return }
    let ahead = WireCondition(epoch: epoch + 1 << 32, version: 1 << 60, field: .name("a"))
    let beyond = WireCondition(epoch: epoch, version: .max, field: .id(7))
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
    try send(.propose(proposals), liar)
    for _ in 0..<3 {
      var frame = PeerMessage.propose(Array(proposals.suffix(1))).encode(
        session: liar.session, start: StartNumber(hubRun))
      if lieChance.perMille(500) {
        frame.removeLast(1 + lieChance.below(frame.count - 1))
      } else {
        frame.append(UInt8(truncatingIfNeeded: lieChance.next()))
      }
      try send(frame, liar)
      try send(.hello(Hello(identity: liar.identity, capabilities: Capability.all)), liar)
    }
    try goAway(liar)
  }

  /// Adds an identity with a last decided number that never returns.
  private func comeAndGo() throws(Violation) {
    let liar = makeLiar()
    guard let (_, topic) = try enter(liar) else { return }
    try send(.propose([NumberedProposal(topic: topic, number: 1, operations: [forged()])]), liar)
    try send(.leave(Leave()), liar)
    hub?.closed(liar.connection, time: hubTime, into: &hubOutput)
  }
}
