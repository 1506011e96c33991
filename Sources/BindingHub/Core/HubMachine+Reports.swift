import BindingProtocol

/// Status reports; asking needs no session. A report costs as much as hundreds of proposals, so a connection has at
/// most one question open, and the text is made at most once every `reportMilliseconds`. Later questions get the
/// next text.
extension HubMachine {
  struct Questions {
    /// In order of arrival; one per connection.
    var waiting: [(connection: ConnectionID, session: SessionID)] = []
    var sessions: [ConnectionID: SessionID] = [:]
    /// The report being sent; it goes to the first `receivers` of `waiting`.
    var text: FieldValue?
    var receivers = 0
    var nextAt: UInt64 = 0

    var deadline: UInt64 { text != nil ? 0 : waiting.isEmpty ? .max : nextAt }

    mutating func forget(_ connection: ConnectionID) {
      guard sessions.removeValue(forKey: connection) != nil,
        let index = waiting.firstIndex(where: { $0.connection == connection })
      else { return }
      waiting.remove(at: index)
      if index < receivers { receivers -= 1 }
    }
  }

  mutating func askReport(_ session: SessionID, _ connection: ConnectionID, _ output: inout HubOutput) {
    guard let earlier = questions.sessions[connection] else {
      questions.sessions[connection] = session
      questions.waiting.append((connection, session))
      return
    }
    // A repeated question of the same session counts once.
    guard earlier != session else { return }
    hub.error(
      .overLimit, "this connection has asked already; a report is for one session at a time", session, connection,
      isFatal: false, &output)
  }

  /// Sends the report to waiting connections, as many as fit into one turn's bytes.
  mutating func sendReports(_ time: HubTime, _ output: inout HubOutput) {
    guard questions.deadline <= time.monotonic else { return }
    let text = questions.text ?? FieldValue(json: statusJSON(time: time))
    if questions.text == nil {
      questions.receivers = questions.waiting.count
      questions.nextAt = time.monotonic + hub.configuration.reportMilliseconds
    }
    let enough = output.byteCount + hub.configuration.limits.chunkBytes
    var served = 0
    while served < questions.receivers, output.byteCount < enough {
      let (connection, session) = questions.waiting[served]
      output.send(
        .statusReport(StatusReport(session: session, json: text)), to: .connection(connection), start: hub.start)
      questions.sessions[connection] = nil
      served += 1
    }
    questions.waiting.removeFirst(served)
    questions.receivers -= served
    questions.text = questions.receivers > 0 ? text : nil
  }

  /// Refuses a message of several frames, of which the transport kept the first.
  mutating func refuseFrames(
    beginningWith first: UnsafeRawBufferPointer, on connection: ConnectionID, time: HubTime,
    into output: inout HubOutput
  ) {
    hub.counters.framesReceived += 1
    let problem = WireError(
      message: "message", place: "frames", problem: "there are several; a message has one frame")
    refuse(problem, session: PeerHeader.session(ofFrame: first), connection, time, &output)
  }
}
