import BindingHub
import BindingPeer
import BindingProtocol

/// A model that programs visit for a while: a visitor writes to it, deletes everything and leaves; it returns
/// later, as others do.
extension World {
  /// A step of a visit: join and write, then write again or delete everything, then leave.
  func visit(_ peer: Int, step: Int) throws(Violation) {
    guard context.isChaos, !context.isQuiet, !peers[peer].process.isPaused, let visited = context.visited else {
      return
    }
    let model = context.modelNames.count - 1
    switch step {
    case 0:
      try joinVisited(peer)
      try write(
        Proposal(operations: [FieldOperation(.set, "a", context.uniqueValue(of: peer))]), to: model, by: peer)
    case 1 where peers[peer].session.joinedModels.contains(visited):
      let condition = peers[peer].session.fieldRecord(visited, "a").map {
        Condition(field: "a", epoch: $0.epoch, version: $0.version)
      }
      let set = FieldOperation(.set, "a", context.uniqueValue(of: peer))
      if context.chance.perMille(300), let condition {
        try write(Proposal(operations: [set], conditions: [condition]), to: model, by: peer)
      }
      try write(Proposal(operations: [FieldOperation(.clear, "a")]), to: model, by: peer)
    case 2:
      context.record("p\(peer) leaves \(visited)")
      peers[peer].session.leave(visited, now: peerNow(peer), into: &peers[peer].output)
      return try settle(peer)
    default: return
    }
    context.agenda.add(
      .visit(peer: peer, run: peers[peer].process.run, step: step + 1),
      at: context.now + context.chance.within(1...(context.profile.pace + 2 * context.profile.requestDelay)))
  }

  func joinVisited(_ peer: Int) throws(Violation) {
    guard let visited = context.visited, !peers[peer].session.joinedModels.contains(visited) else { return }
    context.record("p\(peer) joins \(visited)")
    // New observers have not been notified yet.
    if !peers[peer].session.knows(visited) {
      for field in SimulatedField.names.indices {
        peers[peer].observed.notified[context.modelNames.count - 1][field] = nil
      }
    }
    peers[peer].session.join(visited, now: peerNow(peer), into: &peers[peer].output)
    if peers[peer].session.version(of: visited).version == 0 {
      peers[peer].observed.seen[context.modelNames.count - 1] = (0, 0)
      peers[peer].numbers.seen[context.modelNames.count - 1].removeAll()
    }
    try settle(peer)
  }
}
