import BindingHub
import BindingPeer
import BindingProtocol

/// Impostors, and peers that answer each other.
extension World {
  /// R9: the hub refuses an impostor that knows a peer's tag and session but not its secret, and nothing changes.
  func impersonate(_ peer: Int) throws(Broken) {
    guard hasSession(peers[peer]), peers[peer].session.phase == .live else {
      return
    }
    let connection: ConnectionID = 1 << 40
    let tag = peers[peer].session.identity.tag
    let identity = Identity(tag: tag, secret: Secret(high: 1, low: chance.next()), name: "impostor")
    var frames = [PeerMessage.hello(Hello(identity: identity)).encode(session: chance.next() | 1, start: 0)]
    if let model = peers[peer].session.joinedModels.first(where: { !Names.isEphemeral($0) }),
      let index = modelNames.firstIndex(of: model), let topic = topic(of: index)
    {
      let proposal = NumberedProposal(
        topic: topic, number: oracle.lastDecided(of: tag, in: index) + 1,
        operations: [
          WireOperation(verb: .set, field: .name("a"), value: Oracle.ofImpostor)
        ])
      frames.append(
        PeerMessage.propose([proposal]).encode(
          session: peers[peer].sessionOnTheWire, start: StartNumber(hubRun)))
    }
    record("an impostor speaks for p\(peer)")
    for frame in frames {
      frame.withUnsafeBytes { hub?.receive($0, on: connection, time: hubTime, into: &hubOutput) }
    }
    counts[.impostor] += 1
    try settleHub()
  }

  /// R9: a restarted hub needs no memory of identities. It refuses an impostor that arrives before all peers with a
  /// tag read from commits, as at any other time.
  func impersonateFirst() throws(Broken) {
    let connection: ConnectionID = 1 << 40 + 1
    let tag = peers[chance.below(peers.count)].session.identity.tag
    let model = chance.below(modelNames.count)
    let secret = Secret(high: 2, low: chance.next())
    let session = chance.next() | 1
    let start = StartNumber(hubRun)
    record("an impostor speaks for \(tag.short) before it is back")
    func send(_ message: PeerMessage, start: StartNumber) throws(Broken) {
      message.encode(session: session, start: start).withUnsafeBytes {
        hub?.receive($0, on: connection, time: hubTime, into: &hubOutput)
      }
      try settleHub()
    }
    try send(.hello(Hello(identity: Identity(tag: tag, secret: secret, name: "impostor"))), start: 0)
    try send(.join([Join(request: 1, model: modelNames[model])]), start: start)
    if let topic = topic(of: model) {
      let set = WireOperation(verb: .set, field: .name("a"), value: Oracle.ofImpostor)
      let number = oracle.lastDecided(of: tag, in: model) + 1
      try send(.propose([NumberedProposal(topic: topic, number: number, operations: [set])]), start: start)
    }
    counts[.impostorFirst] += 1
  }

  /// The hub's topic of a model.
  func topic(of model: Int) -> Topic? { read { $0.topic(of: modelNames[model]) } ?? nil }

  /// An application that answers what others write.
  func answer(_ update: ModelUpdate, of peer: Int) {
    guard isChaos, profile.answers > 0, peers[peer].answers < 60, update.commits.contains(where: { !$0.own }),
      chance.perMille(profile.answers), let model = modelNames.firstIndex(of: update.model)
    else { return }
    peers[peer].answers += 1
    agenda.add(
      .answer(peer: peer, run: peers[peer].run, model: model, hops: update.proposalHops),
      at: now + chance.within(1...profile.pace))
  }

  func writeAnswer(_ peer: Int, to model: Int, hops: UInt8) throws(Broken) {
    guard isChaos, !isQuiet, peers[peer].session.joinedModels.contains(modelNames[model]) else { return }
    let field = SimulatedField.names[chance.below(SimulatedField.plain)]
    counts[.answered] += 1
    try write(
      Proposal(operations: [FieldOperation(.set, field, uniqueValue(of: peer))], hops: hops), to: model, by: peer)
  }
}
