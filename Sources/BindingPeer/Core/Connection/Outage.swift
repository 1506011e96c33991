/// A time without a hub, which is worth a line once it is not just a moment.
struct Outage: Sendable {
  /// A hub that starts anew is back by then.
  static let noticeableMilliseconds: UInt64 = 500

  private enum Standing: Sendable {
    case over
    case unnoticed(since: UInt64)
    case said
  }
  private var standing: Standing

  init(since now: UInt64) { standing = .unnoticed(since: now) }

  /// When it has to be said.
  var deadline: UInt64 {
    if case .unnoticed(let since) = standing { since + Outage.noticeableMilliseconds } else { .max }
  }

  /// Whether it is to be said now; true once.
  mutating func isNews(at now: UInt64) -> Bool {
    guard now >= deadline else { return false }
    standing = .said
    return true
  }

  /// A hub has spoken. Whether it was said that none does.
  mutating func end() -> Bool {
    defer { standing = .over }
    if case .said = standing { return true }
    return false
  }
}
