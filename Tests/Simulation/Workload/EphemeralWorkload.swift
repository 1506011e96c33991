import BindingPeer
import BindingProtocol

/// What applications do in the ephemeral model of the first model: each field belongs to its writer and vanishes with
/// it. One of them owns the first model now and then.
final class EphemeralWorkload: SimulationPart {
  let context: SimulationContext
  private let network: SimulatedNetwork
  private let model: String
  /// Fields for which several peers compete.
  private static let contested = ["x", "y", "n"]

  init(_ context: SimulationContext, _ network: SimulatedNetwork) {
    self.context = context
    self.network = network
    model = Names.ephemeral(context.modelNames[0])
  }

  func begin() {
    guard profile.hasEphemeralModel else { return }
    for index in 0..<profile.peers where profile.isInEphemeralModel(index) {
      agenda.add(.stepInEphemeralModel(peer: index), at: now + featureChance.within(20...400))
    }
  }

  /// One step of an application: usually a write.
  func step(_ peer: SimulatedPeer) throws(Violation) {
    guard isChaos else { return }
    agenda.add(.stepInEphemeralModel(peer: peer.index), at: now + featureChance.within(50...900))
    guard !peer.process.isPaused, let member = peer.member, !member.isAway else { return }
    let isOwner = profile.hasOwner && peer.index == profile.peers - 1
    if isOwner, featureChance.perMille(400) { return try takeOrGiveUpOwnership(peer, member) }
    let own = "c\(peer.index)"
    let contested = EphemeralWorkload.contested
    let field = featureChance.perMille(500) ? own : contested[featureChance.below(contested.count)]
    switch featureChance.below(16) {
    case 0: try leave(peer, member)
    case 1: try write([FieldOperation(.clear, "")], peer, member)
    case 2, 3: try write([FieldOperation(.delete, field)], peer, member)
    case 4: try write([FieldOperation(.set, Names.me, context.uniqueValue(of: peer.index))], peer, member)
    case 5: try write([FieldOperation(.delete, Names.me)], peer, member)
    case 6:
      let fields = Swift.Set([own, field, "x"]).sorted()
      try write(fields.map { FieldOperation(.set, $0, value(of: $0, peer)) }, peer, member)
    case 7 where profile.hasOwner && featureChance.perMille(200): try takeOwnership(peer, member)
    default: try write([FieldOperation(.set, field, value(of: field, peer))], peer, member)
    }
  }

  /// The description may bound "n"; every other value is unique.
  private func value(of field: String, _ peer: SimulatedPeer) -> FieldValue {
    field == "n"
      ? FieldValue(bytes: Array("\(featureChance.below(40))".utf8)) : context.uniqueValue(of: peer.index)
  }

  private func write(
    _ operations: [FieldOperation], _ peer: SimulatedPeer, _ member: EphemeralMember
  ) throws(Violation) {
    let id: WriteID
    do {
      id = try peer.session.write(Proposal(operations: operations), to: model, now: peer.clock, into: &peer.effects)
    } catch {
      if case .outboxFull = error, profile.maxOutboxWrites < 100 { return }
      throw Violation(.oneOutcome, "\(peer) cannot write to \(model): \(error)")
    }
    context.writeCount += 1
    counts[.wroteInEphemeralModel] += 1
    record("\(peer) writes \(id.rawValue) to \(model): \(operations.map { "\($0.verb) \($0.field)" })")
    member.record(id, operations)
    try peer.settle()
    if featureChance.perMille(80) {
      context.schedule(.withdrawInEphemeralModel(id), of: peer, at: now + featureChance.within(0...200))
    }
  }

  func withdraw(_ id: WriteID, of peer: SimulatedPeer) throws(Violation) {
    guard !peer.process.isPaused, let member = peer.member, member.unacknowledged[id] != nil else { return }
    record("\(peer) withdraws \(id.rawValue)")
    member.withdrawn.insert(id)
    _ = peer.session.withdraw(id, now: peer.clock, into: &peer.effects)
    try peer.settle()
  }

  private func leave(_ peer: SimulatedPeer, _ member: EphemeralMember) throws(Violation) {
    member.isAway = true
    record("\(peer) leaves \(model)")
    counts[.leftEphemeralModel] += 1
    peer.session.leave(model, now: peer.clock, into: &peer.effects)
    context.schedule(.rejoinEphemeralModel, of: peer, at: now + featureChance.within(0...3_000))
    try peer.settle()
  }

  func rejoin(_ peer: SimulatedPeer) throws(Violation) {
    guard let member = peer.member, member.isAway else { return }
    guard !peer.process.isPaused else { return context.schedule(.rejoinEphemeralModel, of: peer, at: now + 100) }
    record("\(peer) joins \(model) again")
    // It had left completely: nothing that it said there belongs to it any more.
    if !peer.read({ $0.knows(model) }) { peer.member = EphemeralMember() }
    peer.member?.isAway = false
    try peer.join(model)
  }

  // MARK: Ownership of the first model

  private func takeOrGiveUpOwnership(_ peer: SimulatedPeer, _ member: EphemeralMember) throws(Violation) {
    if member.has(Names.owner) == nil {
      try takeOwnership(peer, member)
    } else if featureChance.perMille(300) {
      try write([FieldOperation(.delete, Names.owner)], peer, member)
    }
  }

  private func takeOwnership(_ peer: SimulatedPeer, _ member: EphemeralMember) throws(Violation) {
    try write([FieldOperation(.set, Names.owner, context.uniqueValue(of: peer.index))], peer, member)
  }

  /// Ends ownership: over a slow connection, asking one question after the other would take too long.
  func endOwnership() throws(Violation) {
    guard profile.hasOwner, profile.requestDelay > 5 || featureChance.perMille(500) else { return }
    for peer in network.peers {
      guard let member = peer.member, !member.isAway, member.has(Names.owner) != nil else { continue }
      try write([FieldOperation(.delete, Names.owner)], peer, member)
    }
  }
}
