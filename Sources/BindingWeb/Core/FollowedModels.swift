import BindingPeer
import BindingProtocol

/// The models that the gateway follows, for pages that have joined them and for the feed, through one session.
struct FollowedModels: Sendable {
  /// The session that reads for all pages.
  var session: Session
  /// The session's pending effects.
  var effects = PeerEffects()
  var rooms: [String: Room] = [:]
  /// The most models.
  private let limit: Int

  init(_ session: Session, limit: Int) {
    self.session = session
    self.limit = limit
  }

  /// The number of models without pages.
  var emptyCount: Int { rooms.reduce(0) { $0 + ($1.value.pages.isEmpty ? 1 : 0) } }

  mutating func join(_ id: String, now: UInt64) { session.join(id, now: now, into: &effects) }

  /// Makes room for one more model if there is none. Models without pages are removed first, then models followed
  /// for the feed alone.
  /// - Parameter feed: the models that the feed follows; one that is removed here is removed there.
  mutating func makeRoom(_ feed: inout [String: UInt64], now: UInt64) -> Bool {
    guard rooms.count >= limit else { return true }
    let empty = rooms.filter { $0.value.pages.isEmpty && $0.key != OwnModel.id }
    guard
      let id = empty.min(by: { ($0.value.emptySince ?? .max, $0.key) < ($1.value.emptySince ?? .max, $1.key) })?.key
    else { return false }
    feed[id] = nil
    leave(id, now: now)
    return true
  }

  /// Leaves the models whose last page left so many milliseconds ago.
  mutating func leaveEmpty(after milliseconds: UInt64, now: UInt64) {
    for (id, room) in rooms {
      if let since = room.emptySince, now >= since + milliseconds { leave(id, now: now) }
    }
  }

  private mutating func leave(_ id: String, now: UInt64) {
    rooms[id] = nil
    if id != OwnModel.id { session.leave(id, now: now, into: &effects) }
  }
}
