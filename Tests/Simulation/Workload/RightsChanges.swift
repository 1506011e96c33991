import BindingHub
import BindingProtocol

/// Rights that change in flight, and a stranger who asks for everything.
final class RightsChanges: SimulationPart {
  let context: SimulationContext
  private let hub: SimulatedHub

  init(_ hub: SimulatedHub) {
    context = hub.context
    self.hub = hub
  }

  func awaitChange() {
    guard context.rights != nil, isChaos else { return }
    agenda.add(.changeRights, at: now + context.rightsChance.within(50...3_000))
  }

  /// A person changes the file of rights; a hub that is stopped or gone reads it later.
  func change() throws(Violation) {
    guard isChaos else { return }
    defer { awaitChange() }
    if hub.isRunning, context.rightsChance.perMille(300) { return try pry() }
    guard hub.isRunning || !hub.isThere else { return }
    if profile.hasLimits, context.rightsChance.perMille(400) {
      context.rights?.changeLimits(&context.rightsChance)
      record("limits change")
      return try hub.applyRights()
    }
    counts[.rightsChanged] += 1
    if context.rightsChance.perMille(500), let (user, model) = writer() {
      context.rights?.takeAway(model, from: user)
    } else {
      context.rights?.change(&context.rightsChance)
    }
    record("rights change")
    try hub.applyRights()
  }

  /// Somebody who waits for an outcome: the hub may have decided, or decides now.
  private func writer() -> (user: Int, model: Int)? {
    for peer in hub.network.peers.reversed() {
      if let write = peer.writes.unacknowledged.first?.write { return (peer.user, write.model) }
    }
    return nil
  }

  /// Says hello and asks for all that there is, with forged claims.
  private func pry() throws(Violation) {
    counts[.pried] += 1
    let connection: ConnectionID = 1 << 41 + context.rightsChance.next() % (1 << 30)
    let identity = Identity(secret: Secret(high: 4, low: context.rightsChance.next()), name: "stranger")
    hub.invariants.log.claims.attackers.insert(identity.tag)
    let session = context.rightsChance.next() | 1
    record("a stranger asks for everything")
    func send(_ message: PeerMessage, start: StartNumber) throws(Violation) {
      guard hub.isThere else { return }
      hub.receive(message.encode(session: session, start: start), on: connection)
      try hub.settle()
    }
    let start = hub.start
    // Some claim to speak for the user who may do everything.
    let claim = context.rightsChance.perMille(300) ? [Representation(name: "u0").text] : []
    try send(.hello(Hello(identity: identity, capabilities: Capability.all + claim)), start: 0)
    let joins = modelNames.enumerated().map {
      Join(request: UInt32($0), model: $1, epoch: hub.epoch - 1 << 32, version: 1_000)
    }
    try send(.join(joins), start: start)
    try send(.join([Join(request: 100, prefix: ""), Join(request: 101, prefix: "m")]), start: start)
    for model in modelNames.indices {
      guard let topic = hub.topic(of: model) else { continue }
      let operations = SimulatedField.names.prefix(SimulatedField.plain).map {
        WireOperation(verb: .set, field: .name($0), value: LogOracle.forged)
      }
      for (index, operation) in (operations + [WireOperation(verb: .clear, field: .id(0), value: nil)]).enumerated() {
        let proposal = NumberedProposal(topic: topic, number: ProposalNumber(index + 1), operations: [operation])
        try send(.propose([proposal]), start: start)
      }
    }
    for message in [.status, .verify(Verify(timeoutMilliseconds: 100)), .askHeads] as [PeerMessage] {
      try send(message, start: start)
    }
    // Stays for a while, as one who listens would, and is then gone.
    if context.rightsChance.perMille(500) {
      hub.closed(connection)
      try hub.settle()
    }
  }
}
