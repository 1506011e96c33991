import BindingPeer
import BindingProtocol

/// What applications do with fields that expire: they live in a model of their own. Some write, renew and forget them,
/// and all read them.
final class ExpiryWorkload: SimulationPart {
  static let model = "drive"
  /// The limits of its fields, in milliseconds.
  static let limits: [String: UInt64] = ["x": 400, "y": 3_000]
  static let off = FieldValue(bytes: Array(#""off""#.utf8))
  /// As every process declares them.
  static let declared = limits.mapValues { FieldExpiry(milliseconds: $0, fallback: off) }
  private static let description = FieldValue(
    bytes: Array(
      #"{"fields":{"x":{"default":"off","expires":400},"y":{"default":"off","expires":3000},"z":{}}}"#.utf8))

  let context: SimulationContext
  private let network: SimulatedNetwork
  private let oracle: ExpiryOracle?
  private var chance: Chance
  /// When a look last found a peer stopped: its timers are late afterwards.
  private var stoppedAt: [Int: UInt64] = [:]

  init(_ context: SimulationContext, _ network: SimulatedNetwork, _ invariants: Invariants, _ chance: Chance) {
    self.context = context
    self.network = network
    oracle = invariants.expiry
    self.chance = chance
  }

  func begin() {
    guard profile.hasExpiry else { return }
    for index in 0..<min(4, profile.peers) {
      agenda.add(.stepExpiring(peer: index), at: now + 300 + chance.within(20...400))
    }
    agenda.add(.lookAtExpiring, at: now + 100)
  }

  func step(_ peer: SimulatedPeer) throws(Violation) {
    guard isChaos else { return }
    agenda.add(.stepExpiring(peer: peer.index), at: now + chance.within(30...700))
    guard !peer.process.isPaused, !isQuiet else { return }
    // An outbox keeps what does not expire, and only that: those with one write nothing else here.
    let mayBeKept = peer.outbox.book == nil
    if mayBeKept, peer.session.fieldRecord(Self.model, Names.description)?.committed == nil {
      try write([FieldOperation(.setIfAbsent, Names.description, Self.description)], peer)
    }
    let field = chance.perMille(600) ? "x" : "y"
    let record = peer.session.fieldRecord(Self.model, field)
    switch chance.below(10) {
    case 0: try write([FieldOperation(.set, field, Self.off)], peer)
    case 1: try write([FieldOperation(.delete, field)], peer)
    case 2: try write(["x", "y"].map { FieldOperation(.set, $0, uniqueValue(peer)) }, peer)
    case 3 where mayBeKept: try write([FieldOperation(.set, "z", uniqueValue(peer))], peer)
    case 4, 5, 6:
      guard let record, let value = record.committed, value != Self.off else { break }
      let condition = Condition(field: field, epoch: record.epoch, version: record.version)
      try write([FieldOperation(.set, field, value)], if: chance.perMille(700) ? [condition] : [], peer)
    default: try write([FieldOperation(.set, field, uniqueValue(peer))], peer)
    }
  }

  /// A value tells its field: no two fields have the same.
  private func uniqueValue(_ peer: SimulatedPeer) -> FieldValue {
    context.writeCount += 1
    return context.uniqueValue(of: peer.index)
  }

  private func write(
    _ operations: [FieldOperation], if conditions: [Condition] = [], _ peer: SimulatedPeer
  ) throws(Violation) {
    do {
      let proposal = Proposal(operations: operations, conditions: conditions)
      let id = try peer.session.write(proposal, to: Self.model, now: peer.clock, into: &peer.effects)
      record("\(peer) writes \(id.rawValue) to drive: \(operations.map { "\($0.verb) \($0.field)" })")
    } catch {
      if case .outboxFull = error, profile.maxOutboxWrites < 100 { return }
      throw Violation(.oneOutcome, "\(peer) cannot write to drive: \(error)")
    }
    oracle?.made(operations, by: peer)
    try peer.settle()
  }

  /// Looks at what all peers show, while their processes run.
  func look() throws(Violation) {
    agenda.add(.lookAtExpiring, at: now + 150)
    for peer in network.peers where peer.outbox.successor == nil {
      if peer.process.isPaused { stoppedAt[peer.index] = now }
      guard !peer.process.isPaused, now >= (stoppedAt[peer.index] ?? 0) + 500 else { continue }
      try oracle?.checkShown(by: peer)
    }
  }
}
