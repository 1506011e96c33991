/// Bounds a rate: it earns a number of tokens a second, holds what a burst of some seconds may take, and says when the
/// next one is there. Counts in thousandths of a token, so that a millisecond of any rate counts exactly.
package struct TokenBucket: Hashable, Sendable {
  /// The tokens of a second.
  package private(set) var perSecond: Int
  private let burstMilliseconds: Int
  /// Thousandths of tokens. Below 0 after something larger than what there was.
  private var level: Int
  private var at: UInt64

  /// The highest rate: its arithmetic stays far from the largest integer.
  package static let highestRate = 1_000_000_000
  /// Earns nothing for longer than this, in milliseconds: eleven days.
  private static let longest: UInt64 = 1_000_000_000

  /// A full bucket.
  package init(perSecond: Int, burstMilliseconds: Int, at now: UInt64) {
    self.perSecond = min(max(perSecond, 1), TokenBucket.highestRate)
    self.burstMilliseconds = burstMilliseconds
    level = self.perSecond * burstMilliseconds
    at = now
  }

  private var capacity: Int { perSecond * burstMilliseconds }

  /// The whole tokens that there are.
  package var whole: Int { max(level, 0) / 1_000 }
  /// Whether nothing is owed.
  package var isPositive: Bool { level > 0 }
  package var isFull: Bool { level >= capacity }

  /// Earns what is due by now.
  package mutating func refill(to now: UInt64) {
    guard now > at else { return }
    let earned = perSecond * Int(min(now - at, TokenBucket.longest))
    level = min(level + earned, capacity)
    at = now
  }

  /// Takes tokens, also some that are not there yet.
  /// - Parameter floor: the most tokens that may be owed.
  package mutating func charge(_ tokens: Int, owing floor: Int = .max / 1_000) {
    level = max(level - tokens * 1_000, -floor * 1_000)
  }

  /// The milliseconds until so many tokens are there; 0: they are. A bucket never holds more than its burst.
  package func milliseconds(until tokens: Int) -> UInt64 {
    let missing = min(tokens * 1_000, capacity) - level
    return missing > 0 ? UInt64((missing + perSecond - 1) / perSecond) : 0
  }

  /// The milliseconds in which so many tokens are earned.
  package func milliseconds(toEarn tokens: Int) -> UInt64 { UInt64((tokens * 1_000 + perSecond - 1) / perSecond) }

  /// Earns at another rate from now on. What there is keeps its share of the burst.
  package mutating func change(to rate: Int, at now: UInt64) {
    refill(to: now)
    let share = Double(level) / Double(capacity)
    perSecond = min(max(rate, 1), TokenBucket.highestRate)
    if level > 0 { level = min(Int(share * Double(capacity)), capacity) }
  }
}
