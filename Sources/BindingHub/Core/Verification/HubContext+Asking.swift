import BindingProtocol

extension HubContext {
  /// Asks all joined sessions to report when they have a version. The question is published if all of them know it,
  /// else sent to each that does (a session is never sent a kind that it did not name).
  func ask(_ index: Int, version: Version, _ output: inout HubOutput) {
    let model = models[index]
    let question = HubMessage.ask(AskApplied(epoch: model.epoch(ifStored: epoch), version: version))
    let joined = model.members.sessions.sorted().compactMap { sessions[$0] }.filter { !$0.capabilities.onlyWrites }
    let routed = model.routed
    let permit = joined.allSatisfy(\.capabilities.reports) && joined.count > routed.count ? model.permit : nil
    if let permit { output.send(question, to: .subscribers(permit), topic: model.topic, start: start) }
    for session in joined where session.capabilities.reports && (permit == nil || routed.contains(session.id)) {
      send(question, to: session.id, &output, topic: model.topic)
    }
  }
}

extension PeerMessageKind {
  /// The error for a message of this kind from a session that did not name its capability.
  func unnamed(_ capability: String) -> WireError {
    WireError(
      message: name.description, place: "kind",
      problem: "belongs to the capability \(capability), which the hello did not name", code: .unknownKind)
  }
}
