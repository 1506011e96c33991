import BindingModel

/// A manual clock: it moves only when `pass` is called.
final class HandClock: Sendable {
  private struct Hand: Sendable {
    var now: UInt64 = 0
    var alarms: [(at: UInt64, work: @Sendable () -> Void)] = []
  }
  private let hand = Protected(Hand())

  var clock: PaceClock {
    PaceClock(
      now: { self.hand.withLock { $0.now } },
      after: { nanoseconds, work in self.hand.withLock { $0.alarms.append(($0.now + nanoseconds, work)) } })
  }

  var alarms: Int { hand.withLock { $0.alarms.count } }

  func pass(_ milliseconds: UInt64) {
    let due = hand.withLock { hand in
      hand.now += milliseconds * 1_000_000
      let due = hand.alarms.filter { $0.at <= hand.now }
      hand.alarms.removeAll { $0.at <= hand.now }
      return due.map(\.work)
    }
    for work in due { work() }
  }
}
