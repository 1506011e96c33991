import BindingProtocol

/// Ephemeral models at an edge: the upstream hub has them, and says who is present and who owns what. What differs from
/// stored models is that the edge's peers are present upstream in sessions of their own.
extension EdgeState {
  /// Refuses a join of what the upstream hub does not have.
  func refuses(
    _ join: Join, _ session: SessionID, _ connection: ConnectionID, _ hub: HubContext, _ output: inout HubOutput
  ) -> Bool {
    guard Names.isEphemeral(join.name), upstream?.capabilities.contains(Capability.ephemeral) != true else {
      return false
    }
    let text = "\(join.name): the upstream hub of this edge at \(address) has no ephemeral models"
    hub.error(.overLimit, text, session, connection, isFatal: false, &output)
    return true
  }

  /// Whether a session joins an ephemeral model for a peer, which is present upstream from then on. An edge below has
  /// sessions of its own for its peers.
  func isPresence(_ index: Int, _ session: SessionID, _ hub: HubContext) -> Bool {
    hub.models[index].ephemeral != nil && hub.sessions[session]?.capabilities.isEdge == false
  }

  /// A peer has joined an ephemeral model: it joins the stored one upstream too, if it has here.
  mutating func attend(_ index: Int, _ session: SessionID, _ hub: HubContext) {
    guard let stored = hub.models[index].counterpart,
      hub.sessions.join(of: session, in: hub.models[stored].topic) != nil
    else { return }
    requests.append(.attend(session, model: hub.models[stored].id))
  }

  /// The upstream hub asks a peer of this edge about a proposal.
  mutating func passOn(
    _ request: ApprovalRequest, to session: SessionID, _ model: String, _ hub: HubContext, _ output: inout HubOutput
  ) {
    guard let index = hub.models.index(named: model), let record = hub.sessions[session] else { return }
    if !record.capabilities.knowsLists, request.fields.contains(where: \.isElement) {
      let answer = Approval(
        topic: Topics.firstModel, token: request.token, isAccepted: false,
        text: "this version does not know lists; update it")
      requests.append(.approval(session, model: model, answer))
      return
    }
    var request = request
    (request.session, request.topic) = (session, hub.models[index].topic)
    hub.send(.approve(request), to: session, &output)
  }

  /// A peer has answered for a model that it owns.
  mutating func passOn(_ approval: Approval, of session: SessionID, _ hub: HubContext) {
    guard let index = hub.models.index(of: approval.topic) else { return }
    requests.append(.approval(session, model: hub.models[index].id, approval))
  }
}
