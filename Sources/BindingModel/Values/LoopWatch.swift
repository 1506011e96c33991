extension Turn {
  /// How often one value may be written in answer to itself within a turn. The write after that is not made.
  ///
  /// A write counts when its own value is among its causes. A chain in which each value writes the next may be of any
  /// length, and an observer may write any number of values. Links (``Binding/bind(to:onProblem:)``) may answer a
  /// hundred times as often, because a row of links may correct one another for long. Counting begins in the 256th
  /// round of a turn, so that shorter turns pay nothing.
  public static let loopLimit = 100

  /// Values whose observers answer each other endlessly, such as two that each write one more than the other.
  ///
  /// The turn is cut when one of them is to be written once more than ``loopLimit`` allows: this write, and those
  /// like it in the rest of the turn, change nothing. Every observer has then received the current value.
  public struct Loop: Sendable, CustomStringConvertible {
    /// The values that answer each other, in order: for each its type and its last value. For a derived value that
    /// reads itself: its type and the former result.
    public let values: [String]
    /// A derived value was computed from itself.
    let isComputed: Bool

    init(values: [String], isComputed: Bool = false) {
      self.values = values
      self.isComputed = isComputed
    }

    public var description: String {
      if isComputed {
        return "this derived value reads itself, so it was given its former result: \(values.joined(separator: ", "))"
      }
      let circle = values.count == 1 ? "this value answers itself" : "these values answer each other"
      return "\(circle) without end, so the turn was cut: \(values.joined(separator: " -> "))"
    }
  }

  /// Called once for each turn that was cut, at its end, on the thread of that turn; and each time a derived value
  /// reads itself, on the thread that computes it. The default handler prints the description to standard error.
  public static var onLoop: @Sendable (Loop) -> Void {
    get { loopHandler.withLock { $0 } }
    set { loopHandler.withLock { $0 = newValue } }
  }

  private static let loopHandler = Protected<@Sendable (Loop) -> Void> { loop in
    Platform.printError("BindingModel: \(loop)")
  }
}

/// Detects that a value is written in answer to itself again and again in a long turn.
///
/// It records which round wrote what: each round that writes gets an entry with the round that caused it. A value is
/// looked up among its own causes only after very many rounds, and then half as often each time, so that a long turn
/// without a loop costs little more than its entries.
final class LoopWatch {
  /// Rounds of a turn before it is watched; most turns have one or two.
  static let start = 256
  /// Entries fit into the lower 24 bits of a cause.
  private static let capacity = 1 << 24 - 2

  private struct Round {
    let cell: AnyCell
    /// The entry of the round that wrote the value delivered here; -1 if it is not known.
    let cause: Int
  }

  private struct Suspicion {
    var rounds = 0
    var nextLook = Turn.loopLimit
    var limit = Turn.loopLimit
  }

  /// Distinguishes the causes of this turn from those of any other.
  private var number: UInt64
  private var rounds: [Round] = []
  private var suspicions: [ObjectIdentifier: Suspicion] = [:]
  private var current: (cell: AnyCell, cause: Int, entry: Int?)?
  /// The cause of what derived values publish outside of rounds.
  private var passedOn: UInt64 = 0
  /// The cells of the first loop that was found.
  private var loop: [AnyCell] = []

  private static let count = Protected<UInt64>(0)

  init() { number = Self.nextNumber() }

  private static func nextNumber() -> UInt64 {
    count.withLock { count in
      count += 1
      return count
    }
  }

  /// From here on, writes are made by the observers of this cell.
  func begin(_ cell: AnyCell, cause: UInt64) {
    current = (cell, cause >> 24 == number ? Int(cause & 0xFF_FFFF) - 1 : -1, nil)
  }

  /// From here on, writes have the given cause.
  func passOn(_ cause: UInt64) { (current, passedOn) = (nil, cause) }

  /// Names the current round as the cause of a write.
  var cause: UInt64 {
    guard let entry = recordRound() else { return passedOn }
    return number << 24 | UInt64(entry + 1)
  }

  /// Whether one more write of the cell in answer to itself would exceed the limit. Called with the cell's lock held.
  ///
  /// - Parameters:
  ///   - isFull: whether the cell's backlog is full. Where each answer has two answers, that happens long before the
  ///     limit, so a few rounds are enough then.
  ///   - isLink: whether a link writes. It reads both its sides in a round of one, so that a row of links that
  ///     correct one another looks like a circle. A ring of links alone is a loop, and ends later.
  func isEndless(_ cell: AnyCell, isFull: Bool, isLink: Bool) -> Bool {
    guard let suspicion = suspicions[ObjectIdentifier(cell)], isFull || suspicion.rounds >= suspicion.nextLook,
      let last = recordRound() ?? passedOnEntry
    else { return false }
    let most = isFull ? min(suspicion.limit, Turn.loopLimit / 10) : suspicion.limit
    let limit = isLink ? Turn.loopLimit * 100 : most
    var (laps, entry) = (0, last)
    while entry >= 0, laps < limit {
      if rounds[entry].cell === cell { laps += 1 }
      entry = rounds[entry].cause
    }
    if laps == limit {
      if loop.isEmpty { loop = lap(of: cell, endingAt: last) }
      // For the rest of the turn, and checked at each write.
      suspicions[ObjectIdentifier(cell)] = Suspicion(rounds: suspicion.rounds, nextLook: 0, limit: most)
      return true
    }
    if suspicion.nextLook > 0 { suspicions[ObjectIdentifier(cell)]?.nextLook = suspicion.rounds * 2 }
    return false
  }

  /// To be called when nothing is left to deliver.
  func report() {
    guard !loop.isEmpty else { return }
    // A value that only repeats another has no helpful name.
    Turn.onLoop(Turn.Loop(values: loop.filter { !$0.isFollower }.map(\.outline)))
  }

  /// The round that caused the current computation of a derived value, which is also the cause of its writes.
  private var passedOnEntry: Int? { passedOn >> 24 == number ? Int(passedOn & 0xFF_FFFF) - 1 : nil }

  private func recordRound() -> Int? {
    guard let round = current else { return nil }
    if let entry = round.entry { return entry }
    if rounds.count == Self.capacity {
      (rounds, suspicions, number) = ([], [:], Self.nextNumber())
    }
    rounds.append(Round(cell: round.cell, cause: round.cause < rounds.count ? round.cause : -1))
    suspicions[ObjectIdentifier(round.cell), default: Suspicion()].rounds += 1
    current?.entry = rounds.count - 1
    return rounds.count - 1
  }

  /// One lap of the loop, from the cell to the one that writes it.
  private func lap(of cell: AnyCell, endingAt last: Int) -> [AnyCell] {
    var lap: [AnyCell] = []
    var entry = last
    while entry >= 0, rounds[entry].cell !== cell {
      lap.append(rounds[entry].cell)
      entry = rounds[entry].cause
    }
    return [cell] + lap.reversed()
  }
}

/// A value's type and the value, shortened for display.
func outline<Value>(of value: Value) -> String {
  let text = String(describing: value)
  return "\(Value.self) \(text.count > 40 ? text.prefix(40) + "…" : text)"
}
