import Simulation

/// A kind of hostile traffic.
protocol Attack: AnyObject {
  var name: String { get }
  /// Its part of all frames, connections and requests, relative to those of the others.
  var share: Int { get }
  /// Sends some of it.
  /// - Returns: how many frames, connections or requests that were.
  func strike(_ chance: inout Chance) throws -> Int
}

/// Attacks that one thread carries out, each at a steady rate until it has done its part.
struct AttackPlan {
  private struct Row {
    var attack: any Attack
    var target: Int
    var done = 0
    var failures = 0
    var lastFailure = ""
  }
  private var rows: [Row]
  private var chance: Chance

  /// - Parameter targets: how many frames, connections and requests of each.
  init(_ attacks: [(attack: any Attack, target: Int)], seed: UInt64) {
    rows = attacks.map { Row(attack: $0.attack, target: $0.target) }
    chance = Chance(seed: seed)
  }

  var isOver: Bool { rows.allSatisfy { $0.done >= $0.target } }

  /// What was done of each kind, and why the last attempt failed that did.
  var results: [(name: String, done: Int, failures: Int, lastFailure: String)] {
    rows.map { ($0.attack.name, $0.done, $0.failures, $0.lastFailure) }
  }

  /// Carries out what lags most behind its rate.
  /// - Parameter elapsed: the part of the time that is over, from 0.
  /// - Returns: whether something was due.
  mutating func strike(elapsed: Double) -> Bool {
    func lag(_ row: Row) -> Double { min(elapsed, 1) - Double(row.done) / Double(max(row.target, 1)) }
    guard let index = rows.indices.max(by: { lag(rows[$0]) < lag(rows[$1]) }), lag(rows[index]) > 0 else {
      return false
    }
    do {
      rows[index].done += try rows[index].attack.strike(&chance)
    } catch {
      // A hub that closes a connection in the middle is what an attack must expect: it counts as one.
      rows[index].done += 1
      rows[index].failures += 1
      rows[index].lastFailure = "\(error)"
    }
    return true
  }
}
