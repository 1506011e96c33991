import BindingProtocol

extension HubMachine {
  /// Carries out the joins of a frame that is right as a whole; one with a wrong name is refused alone.
  mutating func handle(
    _ joins: [(join: Join, fault: WireError?)], _ session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    handleInTurn(joins.filter { $0.fault == nil }.map(\.join), session, time, &output)
    for case (let join, let fault?) in joins {
      guard let connection = sessions[session]?.connection else { return }
      sequencer.counters.joins += 1
      sequencer.counters.modelsRefused += 1
      // What was named stands in front: that says which join has no other answer.
      error(
        fault.code, "\(PrintedText.escaped(join.name)): \(fault.problem)", session, connection, isFatal: false, &output)
    }
  }
}
