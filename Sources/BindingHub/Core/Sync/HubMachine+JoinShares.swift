import BindingProtocol

/// Joins are handled in shares, between other peers' turns, so that thousands in one message delay no other peer.
extension HubMachine {
  /// The most joins that a turn handles, and that it handles of one session in a row.
  static let joinShare = 128
  private static let sessionShare = 32
  /// The most joins that may wait in all; past it they are handled immediately.
  private static let maxWaitingJoins = 262_144

  struct WaitingJoins {
    let session: SessionID
    var joins: ArraySlice<Join>
  }

  mutating func handleInTurn(_ joins: [Join], _ session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    var rest = joins[...]
    let index = waitingJoins.firstIndex { $0.session == session }
    // In order: an earlier join of the session may be waiting.
    while index == nil, joinsHandled < HubMachine.joinShare, let next = rest.popFirst() {
      joinsHandled += 1
      join(next, session, time, &output)
    }
    guard !rest.isEmpty else { return }
    waitingJoinCount += rest.count
    if let index {
      waitingJoins[index].joins += rest
    } else {
      waitingJoins.append(WaitingJoins(session: session, joins: rest))
    }
    while waitingJoinCount > HubMachine.maxWaitingJoins { handleNextJoins(time, &output) }
  }

  /// Handles one turn's share of the waiting joins.
  mutating func handleWaitingJoins(_ time: HubTime, _ output: inout HubOutput) {
    while joinsHandled < HubMachine.joinShare, !waitingJoins.isEmpty { handleNextJoins(time, &output) }
    joinsHandled = 0
  }

  private mutating func handleNextJoins(_ time: HubTime, _ output: inout HubOutput) {
    guard !waitingJoins.isEmpty else { return }
    var first = waitingJoins.removeFirst()
    let share = first.joins.prefix(HubMachine.sessionShare)
    first.joins = first.joins.dropFirst(share.count)
    if !first.joins.isEmpty { waitingJoins.append(first) }
    waitingJoinCount -= share.count
    joinsHandled += share.count
    for next in share { join(next, first.session, time, &output) }
  }

  /// Drops the waiting joins and announcements of a session that has ended.
  mutating func forgetWaiting(_ session: SessionID) {
    announcing.removeAll { $0.session == session }
    guard let index = waitingJoins.firstIndex(where: { $0.session == session }) else { return }
    waitingJoinCount -= waitingJoins.remove(at: index).joins.count
  }
}
