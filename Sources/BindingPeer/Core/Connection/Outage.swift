/// A time without a hub, reported once it lasts longer than a restart of the hub.
struct Outage: Sendable {
  /// A hub that restarts is back by then.
  static let noticeableMilliseconds: UInt64 = 500

  private enum State: Sendable {
    case over
    case unnoticed(since: UInt64)
    case reported
  }
  private var state: State

  init(since now: UInt64) { state = .unnoticed(since: now) }

  /// When the outage should be reported.
  var deadline: UInt64 {
    if case .unnoticed(let since) = state { since + Outage.noticeableMilliseconds } else { .max }
  }

  /// Whether the outage should be reported now. Returns true once.
  mutating func shouldReport(at now: UInt64) -> Bool {
    guard now >= deadline else { return false }
    state = .reported
    return true
  }

  /// Ends the outage: a hub has answered. Returns whether the outage was reported.
  mutating func end() -> Bool {
    defer { state = .over }
    if case .reported = state { return true }
    return false
  }
}
