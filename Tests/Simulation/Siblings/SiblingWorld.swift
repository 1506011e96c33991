import BindingHub
import BindingPeer
import BindingProtocol

/// Hubs of one log and peers that share an ephemeral model over them, in simulated time, driven by one seed: peers
/// come, go and change their hub, hubs are stopped, killed and cut from each other.
///
/// Each peer alone sets a field of its own, and claims seats that one peer at a time can have. While nothing is broken
/// for long, all see the same at rest: what living peers have, and nothing else.
package final class SiblingWorld {
  private struct Member {
    var own: String?
    var says: String?
    var hub: Int
  }
  private static let model = "lamp"
  private static let ephemeral = Names.ephemeral("lamp")
  private static let seats = 3

  private let stage: SiblingStage
  private var chance: Chance
  private var members: [String: Member] = [:]
  private var made = 0
  private var cuts: Set<Int> = []
  private var stopped: Int?
  /// Creates the world of one seed.
  package init(seed: UInt64) {
    chance = Chance(seed: seed ^ 0x51B_1146)
    stage = SiblingStage(hubs: 2 + Chance.firstBelow(2, seed))
    for _ in 0..<(3 + chance.below(3)) { come() }
  }

  /// Runs the whole history.
  /// - Throws: `Violation`, which names the violated rule and the moment.
  package func run() throws(Violation) {
    do throws(Violation) {
      for _ in 0..<(30 + chance.below(40)) {
        act()
        for _ in 0..<chance.below(8) { stage.advance(50) }
        if let problem = stage.problems.first { throw Violation(.living, problem) }
      }
      heal()
      try check()
    } catch {
      throw error.at(stage.now)
    }
  }

  // MARK: Steps

  private func act() {
    let names = members.keys.sorted()
    guard let name = names.isEmpty ? nil : names[chance.below(names.count)], let peer = stage.peers[name] else {
      return come()
    }
    switch chance.below(100) {
    case 0..<30:
      made += 1
      members[name]?.own = "\(made)"
      write(peer, .set("own-\(name)", "\(made)"))
    case 30..<36:
      members[name]?.own = nil
      write(peer, FieldOperation(.delete, "own-\(name)"))
    case 36..<46: write(peer, .set("seat-\(chance.below(SiblingWorld.seats))", "\(chance.below(100))"))
    case 46..<52: write(peer, FieldOperation(.delete, "seat-\(chance.below(SiblingWorld.seats))"))
    case 52..<60:
      made += 1
      members[name]?.says = "\(made)"
      write(peer, .set(Names.me, "\(made)"))
    case 60..<70: move(name, peer)
    case 70..<73: stage.lose(peer)
    case 73..<78: come()
    case 78..<82: if members.count > 2 { go(name, peer) }
    case 82..<88: cutOrHeal()
    case 88..<93: stopOrGoOn()
    case 93..<95: if stopped == nil { restart() }
    case 95..<97: stage.advance(4_000)
    default: stage.advance(12_000)
    }
  }

  private func write(_ peer: StagePeer, _ operation: FieldOperation) {
    stage.write(peer, [operation], SiblingWorld.ephemeral)
  }

  /// A hub that answers.
  private func someHub() -> Int {
    let answering = stage.hubs.indices.filter { $0 != stopped }
    return answering[chance.below(answering.count)]
  }

  private func come() {
    made += 1
    let (name, hub) = ("peer-\(made)", someHub())
    members[name] = Member(hub: hub)
    stage.join(name, at: stage.hubs[hub], models: [SiblingWorld.model, SiblingWorld.ephemeral])
  }

  private func go(_ name: String, _ peer: StagePeer) {
    members[name] = nil
    peer.session.bye(now: stage.now, into: &peer.effects)
    stage.settle()
  }

  private func move(_ name: String, _ peer: StagePeer) {
    let hub = someHub()
    members[name]?.hub = hub
    stage.move(peer, to: stage.hubs[hub])
  }

  private func cutOrHeal() {
    let (from, to) = (chance.below(stage.hubs.count), chance.below(stage.hubs.count))
    guard from != to else { return }
    let way = from * 10 + to
    let isCut = cuts.insert(way).inserted
    if !isCut { cuts.remove(way) }
    stage.cut(from, to, isCut)
  }

  private func stopOrGoOn() {
    if let hub = stopped {
      stopped = nil
      return stage.goOn(hub)
    }
    let hub = chance.below(stage.hubs.count)
    stopped = hub
    let other = someHub()
    for name in members.keys where members[name]?.hub == hub { members[name]?.hub = other }
    stage.stop(hub, peersTo: other)
  }

  private func restart() { stage.restart(chance.below(stage.hubs.count)) }

  private func heal() {
    for way in cuts.sorted() { stage.cut(way / 10, way % 10, false) }
    // Some hubs never come back; their peers are elsewhere.
    if stopped != nil, chance.perMille(500) { stopOrGoOn() }
    // Links open again, and leases of sessions that went elsewhere end.
    stage.advance(25_000)
  }

  // MARK: At rest

  private func check() throws(Violation) {
    if let problem = stage.problems.first { throw Violation(.living, problem) }
    var before: (name: String, shown: [String: String])?
    for name in members.keys.sorted() {
      guard let peer = stage.peers[name] else { continue }
      let shown = stage.shown(peer)
      if let before, before.shown != shown {
        throw Violation(.convergence, "\(before.name) shows \(before.shown), and \(name) \(shown)")
      }
      before = (name, shown)
      let present = members.mapValues { $0.says ?? "nothing" }
      guard stage.present(peer) == present else {
        throw Violation(.living, "\(name) sees \(stage.present(peer)), and there are \(present)")
      }
    }
    try check(before?.shown ?? [:])
  }

  private func check(_ shown: [String: String]) throws(Violation) {
    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
      guard shown["own-\(name)"] == member.own.map({ "\($0) of \(name)" }) else {
        throw Violation(.living, "\(name) has set its field to \(member.own ?? "none"), and \(shown) is shown")
      }
    }
    for (field, value) in shown.sorted(by: { $0.key < $1.key }) {
      guard let holder = value.split(separator: " ").last, members[String(holder)] != nil else {
        throw Violation(.living, "\(field) is \(value), which is not there")
      }
      guard let peer = stage.peers[String(holder)], !field.hasPrefix("own-") else { continue }
      let own = stage.value(peer, field, SiblingWorld.ephemeral)
      guard value == "\(own ?? "none") of \(holder)" else {
        throw Violation(.living, "\(field) is \(value), and its holder shows \(own ?? "none")")
      }
    }
  }
}

extension Chance {
  /// A number from 0 to `bound` - 1 that depends on a seed alone.
  fileprivate static func firstBelow(_ bound: Int, _ seed: UInt64) -> Int {
    var chance = Chance(seed: seed ^ 0x51B)
    return chance.below(bound)
  }
}
