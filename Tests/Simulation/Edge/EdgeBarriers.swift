import BindingHub
import BindingPeer
import BindingProtocol

/// The barriers of an edge's world: each ends, and what is said to be applied is.
final class EdgeBarriers {
  private struct Barrier {
    let peer: String
    let id: BarrierID
    let version: Version
    /// How many must have the version; 0: all sessions of the request.
    let count: Int
    /// The sessions that had joined the model at the request, by their peers.
    let sessions: [String: SessionID]
  }
  private static let timeout: UInt64 = 4_000

  let model: String
  private var chance: Chance
  private var open: [Barrier] = []
  /// The first barrier that was said to be complete and was not.
  private var wrong: String?

  init(of model: String, _ chance: Chance) {
    self.model = model
    self.chance = chance
  }

  /// Perhaps one of the peers asks for what the upstream hub has, or for what comes next.
  func ask(of names: [String], _ stage: EdgeStage) {
    let name = names[chance.below(names.count)]
    guard chance.perMille(200), let peer = stage.peers[name] else { return }
    let head = stage.home.machine.head(of: model)?.version ?? 0
    let (version, count) = (head + Version(chance.below(3)), chance.perMille(300) ? 2 : 0)
    // The upstream hub asks the edges that it has, and that it lost within the last lease.
    let knows = stage.uplinkLink.isOpen && stage.home.answers
    let joined = stage.peers.filter { $0.value.session.phase == .live && $0.value.session.isCurrent(model) }
    let sessions = knows ? joined.compactMapValues { $0.session.welcome?.session } : [:]
    let id = stage.wait(peer, version, count: UInt32(count), timeout: EdgeBarriers.timeout, model)
    open.append(Barrier(peer: name, id: id, version: version, count: count, sessions: sessions))
  }

  /// The upstream hub is killed, or nobody can reach it: it awaits only who has come back when it is asked again.
  func loseHome() {
    open = open.map { Barrier(peer: $0.peer, id: $0.id, version: $0.version, count: $0.count, sessions: [:]) }
  }

  /// Looks at a peer that has just been told something.
  func look(at name: String, _ peer: StagePeer, _ stage: EdgeStage) {
    for barrier in open where barrier.peer == name {
      if case .applied? = peer.barriers[barrier.id] { wrong = wrong ?? problem(of: barrier, stage) }
    }
    open.removeAll { $0.peer == name && peer.barriers[$0.id] != nil }
  }

  private func problem(of barrier: Barrier, _ stage: EdgeStage) -> String? {
    let have = stage.peers.filter { $0.value.session.version(of: model).version >= barrier.version }
    if have.count < barrier.count { return "\(have.count) of \(barrier.count) have version \(barrier.version)" }
    guard barrier.count == 0 else { return nil }
    let stay = barrier.sessions.filter { name, session in
      stage.peers[name].map { $0.session.phase == .live && $0.session.welcome?.session == session } ?? false
    }
    return stay.keys.sorted().first { have[$0] == nil }.map { late in
      "\(barrier.peer) is told that all have version \(barrier.version), which \(late) has not applied"
    }
  }

  /// - Parameter isOver: whether each must have ended.
  func check(isOver: Bool = false) throws(Violation) {
    if let wrong { throw Violation(.barrier, wrong) }
    guard isOver, let barrier = open.first else { return }
    throw Violation(.barrier, "\(barrier.peer): the barrier of version \(barrier.version) does not end")
  }
}
