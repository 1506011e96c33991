import BindingHub
import BindingPeer
import BindingProtocol

/// The end of a history, when everything has healed: one last change, of which one peer receives nothing.
struct Probe {
  let peer: Int
  let topic: Topic
  /// The messages still to be withheld from that peer, by kind.
  var heads: Int
  var heartbeats: Int
  var hasDropped = false

  mutating func drops(_ frame: [UInt8], to peer: Int) -> Bool {
    guard peer == self.peer, frame.count > 4, let kind = HubMessageKind(rawValue: frame[4]) else { return false }
    let isOfModel = frame.starts(with: Topics.bytes(topic))
    switch kind {
    case .commits where isOfModel:
      hasDropped = true
      return true
    case .head where isOfModel && hasDropped && heads > 0:
      heads -= 1
      return true
    case .heartbeat where hasDropped && heartbeats > 0:
      heartbeats -= 1
      return true
    default: return false
    }
  }
}

extension World {
  /// R7: the last change arrives even if two of the three heads are lost too, or all three and a heartbeat.
  func probeTail() throws(Violation) {
    let model = context.chance.below(context.modelNames.count)
    guard let topic = topic(of: model) else { return }
    // Not the carriers, which only send an earlier run's writes.
    let owners = peers.indices.filter { peers[$0].outbox.successor == nil }
    let index = context.chance.below(owners.count)
    let (victim, writer) = (owners[index], owners[(index + 1) % owners.count])
    let losesHeartbeat = context.chance.perMille(500)
    probe = Probe(
      peer: victim, topic: topic, heads: losesHeartbeat ? 3 : context.chance.below(3),
      heartbeats: losesHeartbeat ? 1 : 0)
    context.record("p\(victim) will not hear of the last change of \(context.modelNames[model])")
    try write(Proposal(operations: [FieldOperation(.set, "a", context.uniqueValue(of: writer))]), to: model, by: writer)
    if context.profile.barriers > 0, model == 0 {
      // Until all peers have that change, which takes as long as the deprived peer needs.
      let version = (hub?.head(of: context.modelNames[model])?.version ?? 0) + 1
      try awaitApplied(version, 0, timeout: 10_000, by: writer)
    }
    // The owner may have to approve first.
    try run(until: context.now + (context.profile.hasOwner ? 6_000 : 5_000))
    guard probe?.hasDropped == true else { return }
    let (mine, head) = (
      peers[victim].session.version(of: context.modelNames[model]).version,
      hub?.head(of: context.modelNames[model])?.version ?? 0
    )
    guard mine == head else {
      throw Violation(
        .tail,
        "p\(victim) still has version \(mine) of \(context.modelNames[model]) five heartbeats after version \(head)")
    }
    context.counts[losesHeartbeat ? .tailAsked : .tailHealed] += 1
    probe = nil
    guard let barrier = peers[writer].barriers.values.first else { return }
    try run(until: context.now + 1_500)
    guard peers[writer].barriers.isEmpty else {
      throw Violation(.barrier, "p\(writer) still waits for version \(barrier.version), which all have")
    }
  }
}
