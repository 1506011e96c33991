import BindingHub
import BindingPeer
import BindingProtocol

/// Impostors, and peers that answer each other.
extension World {
  /// R9: the hub refuses an impostor that knows a peer's tag and session but not its secret, and nothing changes.
  func impersonate(_ peer: Int) throws(Violation) {
    guard hasSession(peers[peer]), peers[peer].session.phase == .live else {
      return
    }
    let connection: ConnectionID = 1 << 40
    let tag = peers[peer].session.identity.tag
    let identity = Identity(tag: tag, secret: Secret(high: 1, low: context.chance.next()), name: "impostor")
    var frames = [PeerMessage.hello(Hello(identity: identity)).encode(session: context.chance.next() | 1, start: 0)]
    if let model = peers[peer].session.joinedModels.first(where: { !Names.isEphemeral($0) }),
      let index = context.modelNames.firstIndex(of: model), let topic = topic(of: index)
    {
      let proposal = NumberedProposal(
        topic: topic, number: oracle.lastDecided(of: tag, in: index) + 1,
        operations: [
          WireOperation(verb: .set, field: .name("a"), value: Oracle.ofImpostor)
        ])
      frames.append(
        PeerMessage.propose([proposal]).encode(
          session: peers[peer].link.session, start: StartNumber(hubRun)))
    }
    context.record("an impostor speaks for p\(peer)")
    for frame in frames {
      frame.withUnsafeBytes { hub?.receive($0, on: connection, time: hubTime, into: &hubOutput) }
    }
    context.counts[.impostor] += 1
    try settleHub()
  }

  /// R9: a restarted hub needs no memory of identities. It refuses an impostor that arrives before all peers with a
  /// tag read from commits, as at any other time.
  func impersonateFirst() throws(Violation) {
    let connection: ConnectionID = 1 << 40 + 1
    let tag = peers[context.chance.below(peers.count)].session.identity.tag
    let model = context.chance.below(context.modelNames.count)
    let secret = Secret(high: 2, low: context.chance.next())
    let session = context.chance.next() | 1
    let start = StartNumber(hubRun)
    context.record("an impostor speaks for \(tag.short) before it is back")
    func send(_ message: PeerMessage, start: StartNumber) throws(Violation) {
      message.encode(session: session, start: start).withUnsafeBytes {
        hub?.receive($0, on: connection, time: hubTime, into: &hubOutput)
      }
      try settleHub()
    }
    try send(.hello(Hello(identity: Identity(tag: tag, secret: secret, name: "impostor"))), start: 0)
    try send(.join([Join(request: 1, model: context.modelNames[model])]), start: start)
    if let topic = topic(of: model) {
      let set = WireOperation(verb: .set, field: .name("a"), value: Oracle.ofImpostor)
      let number = oracle.lastDecided(of: tag, in: model) + 1
      try send(.propose([NumberedProposal(topic: topic, number: number, operations: [set])]), start: start)
    }
    context.counts[.impostorFirst] += 1
  }

  /// The hub's topic of a model.
  func topic(of model: Int) -> Topic? { read { $0.topic(of: context.modelNames[model]) } ?? nil }

  /// An application that answers what others write.
  func answer(_ update: ModelUpdate, of peer: Int) {
    guard context.isChaos, context.profile.answers > 0, peers[peer].process.answers < 60,
      update.commits.contains(where: { !$0.own }),
      context.chance.perMille(context.profile.answers), let model = context.modelNames.firstIndex(of: update.model)
    else { return }
    peers[peer].process.answers += 1
    context.agenda.add(
      .answer(peer: peer, run: peers[peer].process.run, model: model, hops: update.proposalHops),
      at: context.now + context.chance.within(1...context.profile.pace))
  }

  func writeAnswer(_ peer: Int, to model: Int, hops: UInt8) throws(Violation) {
    guard context.isChaos, !context.isQuiet, peers[peer].session.joinedModels.contains(context.modelNames[model]) else {
      return
    }
    let field = SimulatedField.names[context.chance.below(SimulatedField.plain)]
    context.counts[.answered] += 1
    try write(
      Proposal(operations: [FieldOperation(.set, field, context.uniqueValue(of: peer))], hops: hops), to: model,
      by: peer)
  }
}
