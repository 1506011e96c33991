import BindingHub
import BindingPeer
import BindingProtocol

/// The end of a history, when everything has healed: one last change, of which one peer receives nothing.
struct TailLoss {
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
  func loseTail() throws(Violation) {
    let index = chance.below(modelNames.count)
    let model = modelNames[index]
    guard let topic = hub.topic(of: index) else { return }
    // Not the carriers, which only send an earlier run's writes.
    let candidates = network.peers.filter {
      $0.outbox.successor == nil && context.rights?.isWritable(0, of: index, by: $0.user) != false
    }
    guard candidates.count > 1 else { return }
    let chosen = chance.below(candidates.count)
    let (victim, writer) = (candidates[chosen], candidates[(chosen + 1) % candidates.count])
    let losesHeartbeat = chance.perMille(500)
    network.tailLoss = TailLoss(
      peer: victim.index, topic: topic, heads: losesHeartbeat ? 3 : chance.below(3),
      heartbeats: losesHeartbeat ? 1 : 0)
    record("\(victim) will not receive the last change of \(model)")
    try writer.write([FieldOperation(.set, "a", context.uniqueValue(of: writer.index))], to: index)
    if profile.barriers > 0, index == 0 {
      // Until all peers have that change, which takes as long as the deprived peer needs.
      let version = (hub.head(of: model)?.version ?? 0) + 1
      try writer.awaitApplied(version, 0, timeout: 10_000)
    }
    // The owner may have to approve first.
    try run(for: profile.hasOwner ? 6_000 : 5_000)
    guard network.tailLoss?.hasDropped == true else { return }
    let (mine, head) = (victim.session.version(of: model).version, hub.head(of: model)?.version ?? 0)
    guard mine == head else {
      throw Violation(.tail, "\(victim) still has version \(mine) of \(model) five heartbeats after version \(head)")
    }
    counts[losesHeartbeat ? .tailAsked : .tailHealed] += 1
    network.tailLoss = nil
    guard let barrier = writer.barriers.values.first else { return }
    try run(for: 1_500)
    guard writer.barriers.isEmpty else {
      throw Violation(.barrier, "\(writer) still waits for version \(barrier.version), which all have")
    }
  }
}
