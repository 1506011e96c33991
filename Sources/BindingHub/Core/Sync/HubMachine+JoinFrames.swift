import BindingProtocol

extension HubMachine {
  /// Handles the joins of a well-formed frame. A join with an invalid name is refused on its own.
  mutating func handle(
    _ joins: [(join: Join, fault: WireError?)], _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    handleInTurn(joins.filter { $0.fault == nil }.map(\.join), session, time, &output)
    for case (let join, let fault?) in joins {
      guard let connection = hub.sessions[session]?.connection else { return }
      hub.counters.joins += 1
      hub.counters.modelsRefused += 1
      // The text begins with the join's name: the peer sees which join was refused.
      hub.error(
        fault.code, "\(PrintedText.escaped(join.name)): \(fault.problem)", session, connection, isFatal: false, &output)
    }
  }
}
