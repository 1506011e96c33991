import BindingModel

/// Cases that belong together.
protocol Group {
  static var title: String { get }
  static var races: [Race] { get }
}

extension Group {
  /// Writes another value each time.
  @inline(never)
  static func set(_ observable: Observable<Double>, _ count: Int) {
    var value = 0.0
    for _ in 0..<count {
      value += 1
      observable.value = value
    }
  }
}

/// Two ways to do one thing, measured in turn.
struct Race {
  /// The direction of the ratio, and its aim; nil where nothing was promised.
  enum Aim {
    /// Our time by theirs.
    case atMost(Double?)
    /// Their time by ours.
    case atLeast(Double?)
  }

  /// Does the measured thing `count` times. It holds everything that it needs.
  typealias Side = (_ count: Int) -> Void

  /// Nanoseconds of one execution, of each side, in one round.
  struct Round {
    var ours: Double
    var theirs: Double
  }

  let name: String
  let aim: Aim
  /// Builds both sides, each with a tally of what arrived.
  let make: (_ ours: Tally, _ theirs: Tally) -> (ours: Side, theirs: Side)

  init(
    _ name: String, _ aim: Aim, make: @escaping (_ ours: Tally, _ theirs: Tally) -> (ours: Side, theirs: Side)
  ) {
    self.name = name
    self.aim = aim
    self.make = make
  }

  func run(rounds: Int, seconds: Double) -> [Round] {
    let tallies = (ours: Tally(), theirs: Tally())
    let (ours, theirs) = make(tallies.ours, tallies.theirs)
    let counts = (ours: Self.count(for: seconds, ours), theirs: Self.count(for: seconds, theirs))
    let figures = (0..<rounds).map { round in
      // Both sides in turn, so that other load on the machine affects both.
      if round % 2 == 0 {
        let first = Self.time(counts.ours, ours)
        return Round(ours: first, theirs: Self.time(counts.theirs, theirs))
      }
      let first = Self.time(counts.theirs, theirs)
      return Round(ours: Self.time(counts.ours, ours), theirs: first)
    }
    precondition(tallies.ours.sum > 0 && tallies.theirs.sum > 0, "\(name): nothing arrived")
    return figures
  }

  func ratio(_ round: Round) -> Double {
    if case .atLeast = aim { return round.theirs / round.ours }
    return round.ours / round.theirs
  }

  /// Nil where nothing was promised.
  func isMet(_ ratio: Double) -> Bool? {
    switch aim {
    case .atMost(let limit): limit.map { ratio <= $0 }
    case .atLeast(let limit): limit.map { ratio >= $0 }
    }
  }

  /// How often the side can run in about this time; finding out warms it up.
  private static func count(for seconds: Double, _ side: Side) -> Int {
    var count = 16
    while true {
      let spent = time(count, side) * Double(count) * 1e-9
      if spent > seconds / 2 { return max(16, Int(Double(count) * seconds / spent)) }
      count *= 2
    }
  }

  private static func time(_ count: Int, _ side: Side) -> Double {
    let clock = ContinuousClock()
    let spent = clock.measure { side(count) }.components
    return (Double(spent.seconds) * 1e9 + Double(spent.attoseconds) * 1e-9) / Double(count)
  }
}

/// Where observers store what they received, so that no call can be optimised away.
// SAFETY: one thread runs everything here.
final class Tally: @unchecked Sendable {
  private static let size = 1024
  /// One slot for each observer: adding to a shared one would make them wait for each other.
  private let slots: UnsafeMutablePointer<Double>

  init() {
    slots = .allocate(capacity: Self.size)
    slots.initialize(repeating: 0, count: Self.size)
  }

  /// The work of one observer: the least that is visible from outside.
  func body(_ number: Int = 0) -> @Sendable (Double) -> Void {
    let slot = Slot(pointer: slots + number)
    return { slot.pointer.pointee += $0 }
  }

  /// For values that are read instead of observed.
  func add(_ value: Double) { slots.pointee += value }

  var sum: Double { (0..<Self.size).reduce(0) { $0 + slots[$1] } }

  // SAFETY: one thread runs everything here.
  private struct Slot: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Double>
  }
}
