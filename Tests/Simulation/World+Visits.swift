import BindingHub
import BindingPeer
import BindingProtocol

/// A model that programs visit for a while: a visitor writes to it, deletes everything and leaves; it returns
/// later, as others do.
extension World {
  /// The model's name; nil in histories without visits.
  var visited: String? { profile.visits > 0 ? modelNames.last : nil }

  /// A step of a visit: join and write, then write again or delete everything, then leave.
  func visit(_ peer: Int, step: Int) throws(Broken) {
    guard isChaos, !isQuiet, !peers[peer].isPaused, let visited else { return }
    let model = modelNames.count - 1
    switch step {
    case 0:
      try joinVisited(peer)
      try write(
        Proposal(operations: [FieldOperation(.set, "a", uniqueValue(of: peer))]), to: model, by: peer)
    case 1 where peers[peer].session.joinedModels.contains(visited):
      let condition = peers[peer].session.fieldRecord(visited, "a").map {
        Condition(field: "a", epoch: $0.epoch, version: $0.version)
      }
      let set = FieldOperation(.set, "a", uniqueValue(of: peer))
      if chance.perMille(300), let condition {
        try write(Proposal(operations: [set], conditions: [condition]), to: model, by: peer)
      }
      try write(Proposal(operations: [FieldOperation(.clear, "a")]), to: model, by: peer)
    case 2:
      record("p\(peer) leaves \(visited)")
      peers[peer].session.leave(visited, now: peerNow(peer), into: &peers[peer].output)
      return try settle(peer)
    default: return
    }
    agenda.add(
      .visit(peer: peer, run: peers[peer].run, step: step + 1),
      at: now + chance.within(1...(profile.pace + 2 * profile.requestDelay)))
  }

  func joinVisited(_ peer: Int) throws(Broken) {
    guard let visited, !peers[peer].session.joinedModels.contains(visited) else { return }
    record("p\(peer) joins \(visited)")
    // New observers have not been notified yet.
    if !peers[peer].session.knows(visited) {
      for field in SimulatedField.names.indices { peers[peer].notified[modelNames.count - 1][field] = nil }
    }
    peers[peer].session.join(visited, now: peerNow(peer), into: &peers[peer].output)
    if peers[peer].session.version(of: visited).version == 0 {
      peers[peer].seen[modelNames.count - 1] = (0, 0)
      peers[peer].saw[modelNames.count - 1].removeAll()
    }
    try settle(peer)
  }
}
