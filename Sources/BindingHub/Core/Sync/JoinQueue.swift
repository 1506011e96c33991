import BindingProtocol

/// Joins are handled in shares, between other peers' turns, so that thousands in one message delay no other peer.
struct JoinQueue {
  /// Joins of one session.
  struct Share {
    let session: SessionID
    var joins: ArraySlice<Join>
  }
  private var waiting: [Share] = []
  private var count = 0
  /// How many joins this turn has handled.
  private var handled = 0

  /// The most joins that a turn handles, and that it handles of one session in a row.
  static let turnShare = 128
  private static let sessionShare = 32
  /// The most joins that may wait in all; past it they are handled immediately.
  private static let most = 262_144

  var isEmpty: Bool { waiting.isEmpty }

  /// Whether more wait than may.
  var isOverfull: Bool { count > JoinQueue.most }

  /// Lets joins wait for their turn, but for those that the present turn has room for.
  /// - Returns: those, to be handled now.
  mutating func add(_ joins: [Join], of session: SessionID) -> ArraySlice<Join> {
    let index = waiting.firstIndex { $0.session == session }
    // In order: an earlier join of the session may be waiting.
    let now = joins.prefix(index == nil ? max(JoinQueue.turnShare - handled, 0) : 0)
    handled += now.count
    let rest = joins[now.endIndex...]
    guard !rest.isEmpty else { return now }
    count += rest.count
    if let index {
      waiting[index].joins += rest
    } else {
      waiting.append(Share(session: session, joins: rest))
    }
    return now
  }

  /// The next joins of this turn; nil: it has handled its share.
  mutating func nextOfTurn() -> Share? { handled < JoinQueue.turnShare ? next() : nil }

  mutating func endTurn() { handled = 0 }

  /// The next joins of the session that has waited longest; nil: none wait.
  mutating func next() -> Share? {
    guard !waiting.isEmpty else { return nil }
    var first = waiting.removeFirst()
    let joins = first.joins.prefix(JoinQueue.sessionShare)
    first.joins = first.joins.dropFirst(joins.count)
    if !first.joins.isEmpty { waiting.append(first) }
    count -= joins.count
    handled += joins.count
    return Share(session: first.session, joins: joins)
  }

  /// Drops the joins of a session that has ended.
  mutating func forget(_ session: SessionID) {
    guard let index = waiting.firstIndex(where: { $0.session == session }) else { return }
    count -= waiting.remove(at: index).joins.count
  }
}
