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
  func probeTail() throws(Broken) {
    let model = chance.below(modelNames.count)
    guard let topic = topic(of: model) else { return }
    // Not the carriers, which only send an earlier run's writes.
    let owners = peers.indices.filter { peers[$0].successor == nil }
    let index = chance.below(owners.count)
    let (victim, writer) = (owners[index], owners[(index + 1) % owners.count])
    let losesHeartbeat = chance.perMille(500)
    probe = Probe(
      peer: victim, topic: topic, heads: losesHeartbeat ? 3 : chance.below(3),
      heartbeats: losesHeartbeat ? 1 : 0)
    record("p\(victim) will not hear of the last change of \(modelNames[model])")
    try write(Proposal(operations: [FieldOperation(.set, "a", uniqueValue(of: writer))]), to: model, by: writer)
    if profile.barriers > 0, model == 0 {
      // Until all peers have that change, which takes as long as the deprived peer needs.
      let version = (hub?.head(of: modelNames[model])?.version ?? 0) + 1
      try awaitApplied(version, 0, timeout: 10_000, by: writer)
    }
    // The owner may have to approve first.
    try run(until: now + (profile.hasOwner ? 6_000 : 5_000))
    guard probe?.hasDropped == true else { return }
    let (mine, head) = (
      peers[victim].session.version(of: modelNames[model]).version, hub?.head(of: modelNames[model])?.version ?? 0
    )
    guard mine == head else {
      throw broken(
        .tail, "p\(victim) still has version \(mine) of \(modelNames[model]) five heartbeats after version \(head)")
    }
    counts[losesHeartbeat ? .tailAsked : .tailHealed] += 1
    probe = nil
    guard let barrier = peers[writer].barriers.values.first else { return }
    try run(until: now + 1_500)
    guard peers[writer].barriers.isEmpty else {
      throw broken(.barrier, "p\(writer) still waits for version \(barrier.version), which all have")
    }
  }
}
