import BindingProtocol

/// Peers that do not know lists are not served models that have some: the names of elements are malformed for them,
/// and they would drop whole messages (protocol.md 6.5-10).
enum ListReaders {
  /// What a session is told that is not served a model.
  static func refusal(of model: String) -> String {
    "\(model): it has lists, whose elements have names that this program does not know; update it "
      + "(capability \(Capability.lists))"
  }
}

extension HubMachine {
  /// Whether a session can read a model that it is about to join; refuses the join if not.
  func serves(
    _ session: SessionID, _ connection: ConnectionID, _ model: ModelLog, _ output: inout HubOutput
  ) -> Bool {
    guard model.ephemeral == nil, hub.sessions[session]?.capabilities.knowsLists == false else { return true }
    guard model.hasLists else {
      model.members.unable.insert(session)
      return true
    }
    refuse(session, connection, model, &output)
    return false
  }

  /// Ends the place of such sessions in a model that has lists now. Their peers show the reason, and ask again.
  mutating func endUnable(in index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    guard !model.members.unable.isEmpty, model.hasLists else { return }
    for session in model.members.unable.sorted() {
      if let connection = hub.sessions[session]?.connection { refuse(session, connection, model, &output) }
      leave(model.topic, session, time)
    }
  }

  private func refuse(
    _ session: SessionID, _ connection: ConnectionID, _ model: ModelLog, _ output: inout HubOutput
  ) {
    hub.error(.badName, ListReaders.refusal(of: model.id), session, connection, isFatal: false, &output)
  }
}
