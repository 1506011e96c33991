import BindingHub
import BindingPeer
import BindingProtocol

/// An upstream hub, an edge and peers of both in simulated time, driven by one seed: cut and lost uplinks, killed and
/// stopped hubs, killed edges, peers that lose their links and change their hub.
///
/// Invariants are checked after every step. Each peer alone adds to a field of its own, so what that field shows to it
/// is known at every moment.
package final class EdgeWorld {
  private struct Asked {
    var peer: String
    /// The version that the upstream hub had when the peer began to ask.
    var least: Version
  }
  private static let model = "lamp"

  private let stage = EdgeStage()
  private var chance: Chance
  private var writers: [String] = []
  /// The additions that each writer has made to its own field and to the common one.
  private var made: [String: (own: Int, common: Int)] = [:]
  private var writes: [String: [WriteID]] = [:]
  /// When each writer wrote to the field that all write to.
  private var levelsAt: [String: [WriteID: UInt64]] = [:]
  private var asked: [Asked] = []
  private let barriers: EdgeBarriers
  private let ephemerals: EdgeEphemerals
  private var readers = 0
  private var isHomeStopped = false
  /// How many writes were committed.
  package private(set) var committed = 0

  /// Creates the world of one seed.
  package init(seed: UInt64) {
    chance = Chance(seed: seed ^ 0x0ED6_E5EED)
    barriers = EdgeBarriers(of: EdgeWorld.model, Chance(seed: seed ^ 0x0BA2_21E2))
    ephemerals = EdgeEphemerals(of: EdgeWorld.model, Chance(seed: seed ^ 0x0E9E_3E2A))
    for number in 0..<(2 + chance.below(3)) {
      let name = "writer-\(number)"
      writers.append(name)
      made[name] = (0, 0)
      stage.join(name, at: chance.perMille(250) ? stage.home : stage.edge, models: ephemerals.models)
    }
    stage.join("reader", models: [EdgeWorld.model])
    stage.look = { [unowned self] in
      barriers.look(at: $0, $1, stage)
      return problem(of: $0, $1) ?? ephemerals.problem(of: $0, $1, stage)
    }
  }

  /// A writer alone adds to its own field, so that shows all that it has added, at every moment.
  private func problem(of name: String, _ peer: StagePeer) -> String? {
    guard let own = made[name]?.own, own > 0 else { return nil }
    let shown = stage.value(peer, "own-\(name)") ?? "none"
    return shown == "\(own)" ? nil : "\(name) has added \(own) to its field, which shows \(shown)"
  }

  /// Runs the whole history.
  /// - Throws: `Violation`, which names the violated rule and the moment.
  package func run() throws(Violation) {
    do {
      for _ in 0..<(30 + chance.below(50)) {
        act()
        ephemerals.act(writers, stage)
        barriers.ask(of: stage.peers.keys.sorted(), stage)
        try check()
        for _ in 0..<chance.below(6) {
          stage.advance(50)
          try check()
        }
      }
      try heal()
    } catch {
      throw error.at(stage.now)
    }
  }

  // MARK: Steps

  private func act() {
    let writer = writers[chance.below(writers.count)]
    guard let peer = stage.peers[writer] else { return }
    switch chance.below(100) {
    case 0..<35: add(writer, peer, "own-\(writer)")
    case 35..<55: add(writer, peer, "common")
    case 55..<62: writeLevel(writer, peer, .set("level", "\(chance.below(9))"))
    case 62..<66: writeLevel(writer, peer, FieldOperation(.delete, "level"))
    case 66..<69: add(writer, peer, "own-\(writer)", losing: true)
    case 69..<72: stage.lose(peer)
    case 72..<77: stage.loseUplink()
    case 77..<81: if isHomeStopped { restoreHome() } else { stopHome() }
    case 81..<84: if !isHomeStopped { restartHome() }
    case 84..<88: if !isHomeStopped { stage.restartEdge() }
    case 88..<91: if !isHomeStopped { move(peer) }
    case 91..<94: dropPublished()
    case 94..<97: stage.join(reader(), models: [EdgeWorld.model])
    default:
      let name = reader()
      asked.append(Asked(peer: name, least: stage.home.machine.head(of: EdgeWorld.model)?.version ?? 0))
      stage.join(name, models: [EdgeWorld.model], latest: true)
    }
  }

  private func add(_ writer: String, _ peer: StagePeer, _ field: String, losing: Bool = false) {
    if field == "common" { made[writer]?.common += 1 } else { made[writer]?.own += 1 }
    let operations: [FieldOperation] = [.add(field, "1")]
    note(losing ? stage.writeAndLose(peer, operations) : stage.write(peer, operations), writer)
  }

  private func writeLevel(_ writer: String, _ peer: StagePeer, _ operation: FieldOperation) {
    let write = stage.write(peer, [operation])
    note(write, writer)
    if let write { levelsAt[writer, default: [:]][write] = stage.now }
  }

  /// A peer changes its hub; an edge may not notice, if it cannot be reached.
  private func move(_ peer: StagePeer) {
    let isAtHome = peer.link.hub === stage.home
    if !isAtHome, chance.perMille(500) { stage.loseUplink() }
    stage.move(peer, to: isAtHome ? stage.edge : stage.home)
  }

  private func note(_ write: WriteID?, _ writer: String) { if let write { writes[writer, default: []].append(write) } }

  private func reader() -> String {
    readers += 1
    return "reader-\(readers)"
  }

  private func restartHome() {
    barriers.loseHome()
    stage.restartHome()
  }

  private func stopHome() {
    isHomeStopped = true
    barriers.loseHome()
    stage.stopHome()
  }

  private func restoreHome() {
    isHomeStopped = false
    stage.restoreHome()
  }

  /// Published frames may be lost on their way to the edge, the next few of them.
  private func dropPublished() {
    var left = 1 + chance.below(4)
    stage.forge = { frame in
      let kinds = [HubMessageKind.commits, .head, .heartbeat].map(\.rawValue)
      guard left > 0, kinds.contains(frame[4]) else { return frame }
      left -= 1
      return nil
    }
  }

  private func heal() throws(Violation) {
    if isHomeStopped { restoreHome() }
    stage.forge = { $0 }
    // A peer that an edge had when it was killed is gone for the upstream hub once its lease is over.
    for _ in 0..<(ephemerals.isOn ? 400 : 200) {
      stage.advance(50)
      try check()
    }
    try ephemerals.check(writers, stage)
    try barriers.check(isOver: true)
    for (writer, ids) in writes.sorted(by: { $0.key < $1.key }) {
      guard let peer = stage.peers[writer] else { continue }
      for id in ids where peer.outcomes[id] == nil {
        throw Violation(.convergence, "\(writer): write \(id.rawValue) has no outcome")
      }
    }
    guard stage.isEqual(EdgeWorld.model) else { throw Violation(.convergence, "the replicas differ at rest") }
    let common = made.values.reduce(0) { $0 + $1.common }
    guard let reader = stage.peers["reader"], stage.value(reader, "common") ?? "0" == "\(common)" else {
      throw Violation(.exactlyOnce, "the common field is not \(common), the number of additions")
    }
  }

  // MARK: Invariants

  private func check() throws(Violation) {
    if let problem = stage.problems.first { throw Violation(.readYourWrites, problem) }
    try checkReplicas()
    try checkOutcomes()
    try barriers.check()
    for asked in asked {
      guard let peer = stage.peers[asked.peer], peer.session.isCurrent(EdgeWorld.model) else { continue }
      let version = peer.session.version(of: EdgeWorld.model).version
      guard version >= asked.least else {
        throw Violation(.latest, "\(asked.peer) reads version \(version), and there was \(asked.least) when it asked")
      }
    }
  }

  private func checkReplicas() throws(Violation) {
    let log = stage.home.log(of: EdgeWorld.model)
    if let head = stage.edge.machine.head(of: EdgeWorld.model), head.version > 0 {
      guard log.digests[head.version] == head.digest else {
        throw Violation(.trueReplica, "the edge at version \(head.version) is not the upstream hub at that version")
      }
    }
    for (name, peer) in stage.peers.sorted(by: { $0.key < $1.key }) {
      let version = peer.session.version(of: EdgeWorld.model).version
      guard version > 0 else { continue }
      guard log.digests[version] == peer.session.digest(of: EdgeWorld.model) else {
        throw Violation(.trueReplica, "\(name) at version \(version) is not the upstream hub at that version")
      }
    }
  }

  private func hasWaited(_ id: WriteID, of writer: String) -> Bool {
    guard let since = levelsAt[writer]?[id] else { return false }
    return stage.now >= since + SessionOptions().offlineMilliseconds
  }

  private func checkOutcomes() throws(Violation) {
    let log = stage.home.log(of: EdgeWorld.model)
    if let twice = log.repeated { throw Violation(.exactlyOnce, twice) }
    committed = 0
    for writer in writers {
      guard let peer = stage.peers[writer] else { continue }
      for id in writes[writer] ?? [] {
        guard let outcome = peer.outcomes[id] else { continue }
        switch outcome {
        case .committed(_, let version):
          committed += 1
          guard log.writers[version]?.tag == peer.session.identity.tag else {
            throw Violation(.oneOutcome, "\(writer): write \(id.rawValue) is not version \(version)")
          }
        case .superseded, .unchanged: break
        // What waited for long yields to what others wrote meanwhile.
        case .conflict where hasWaited(id, of: writer): break
        default: throw Violation(.oneOutcome, "\(writer): write \(id.rawValue) ended as \(outcome)")
        }
      }
    }
  }
}
