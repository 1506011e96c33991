/// A time without a hub, which is worth a line once it is not just a moment.
struct Outage: Sendable {
  /// A hub that starts anew is back by then.
  static let noticeableMilliseconds: UInt64 = 500

  private enum State: Sendable {
    case over
    case unnoticed(since: UInt64)
    case reported
  }
  private var state: State

  init(since now: UInt64) { state = .unnoticed(since: now) }

  /// When it has to be said.
  var deadline: UInt64 {
    if case .unnoticed(let since) = state { since + Outage.noticeableMilliseconds } else { .max }
  }

  /// Whether it is to be said now; true once.
  mutating func shouldReport(at now: UInt64) -> Bool {
    guard now >= deadline else { return false }
    state = .reported
    return true
  }

  /// A hub has spoken. Whether it was said that none does.
  mutating func end() -> Bool {
    defer { state = .over }
    if case .reported = state { return true }
    return false
  }
}
