import BindingHub
import BindingPeer
import BindingProtocol

/// Impostors: each knows the tag of a peer, and may know its session, but not its secret.
final class Impostors: SimulationPart {
  private let hub: SimulatedHub
  var context: SimulationContext { hub.context }

  init(_ hub: SimulatedHub) { self.hub = hub }

  /// R9: the hub refuses an impostor that knows a peer's tag and session but not its secret, and nothing changes.
  func impersonate(_ peer: SimulatedPeer) throws(Violation) {
    guard hub.hasSession(peer), peer.session.phase == .live else { return }
    let connection: ConnectionID = 1 << 40
    let tag = peer.tag
    let identity = Identity(tag: tag, secret: Secret(high: 1, low: chance.next()), name: "impostor")
    let hello = Hello(identity: identity, capabilities: [Capability.users])
    var frames = [PeerMessage.hello(hello).encode(session: chance.next() | 1, start: 0)]
    if let model = peer.session.joinedModels.first(where: { !Names.isEphemeral($0) }),
      let index = modelNames.firstIndex(of: model), let topic = hub.topic(of: index)
    {
      let proposal = NumberedProposal(
        topic: topic, number: hub.invariants.log.lastDecided(of: tag, in: index) + 1,
        operations: [
          WireOperation(verb: .set, field: .name("a"), value: LogOracle.ofImpostor)
        ])
      frames.append(
        PeerMessage.propose([proposal]).encode(
          session: peer.link.session, start: hub.start))
    }
    record("an impostor sends as \(peer)")
    for frame in frames { hub.receive(frame, on: connection) }
    counts[.impostor] += 1
    try hub.settle()
  }

  /// R9: a restarted hub needs no memory of identities. It refuses an impostor that arrives before all peers with a
  /// tag read from commits, as at any other time.
  func impersonateFirst() throws(Violation) {
    let connection: ConnectionID = 1 << 40 + 1
    let tag = hub.network.peers[chance.below(hub.network.peers.count)].tag
    let model = chance.below(modelNames.count)
    let secret = Secret(high: 2, low: chance.next())
    let session = chance.next() | 1
    let start = hub.start
    record("an impostor sends as \(tag.short) before that is back")
    func send(_ message: PeerMessage, start: StartNumber) throws(Violation) {
      hub.receive(message.encode(session: session, start: start), on: connection)
      try hub.settle()
    }
    let identity = Identity(tag: tag, secret: secret, name: "impostor")
    try send(.hello(Hello(identity: identity, capabilities: [Capability.users])), start: 0)
    try send(.join([Join(request: 1, model: modelNames[model])]), start: start)
    if let topic = hub.topic(of: model) {
      let set = WireOperation(verb: .set, field: .name("a"), value: LogOracle.ofImpostor)
      let number = hub.invariants.log.lastDecided(of: tag, in: model) + 1
      try send(.propose([NumberedProposal(topic: topic, number: number, operations: [set])]), start: start)
    }
    counts[.impostorFirst] += 1
  }
}
