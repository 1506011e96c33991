import BindingProtocol

/// The versions of an ephemeral model at an edge and upstream.
///
/// The epoch of an ephemeral model is its hub's process, and an edge outlives that of its upstream hub. So its peers
/// see an epoch of the edge, and versions that go on where those of one upstream process end.
struct EphemeralVersions {
  /// The epoch upstream.
  let epoch: Epoch
  /// The epoch here: this process.
  private let epochHere: Epoch
  /// What a version here is beyond the one upstream.
  private let distance: Int64

  /// - Parameter told: what is told first of the epoch upstream.
  init(of told: FollowedFields, in model: ModelLog) {
    epoch = told.epoch
    epochHere = model.epoch(ifStored: told.epoch)
    distance = Int64(clamping: model.version) + 1 - Int64(clamping: told.version)
  }

  /// A version upstream as it is here; of fields that were written before the first one, at least 1.
  func here(_ upstream: Version) -> Version { Version(max(Int64(clamping: upstream) + distance, 1)) }

  /// A version here as it is upstream; 0: it is of another epoch there.
  func upstream(_ here: Version) -> Version { Version(max(Int64(clamping: here) - distance, 0)) }

  /// The place in a condition as it is upstream. Version 0 is that of what was never written.
  func upstream(_ epoch: Epoch, _ version: Version) -> (epoch: Epoch, version: Version) {
    guard epoch == epochHere else { return (epoch, version) }
    guard version > 0 else { return (self.epoch, 0) }
    let place = upstream(version)
    return place > 0 ? (self.epoch, place) : (0, version)
  }

  /// Commits upstream as they are here.
  func here(_ commits: [RecordedCommit]) -> [RecordedCommit] {
    commits.map { commit in
      var commit = commit
      commit.epoch = epochHere
      commit.version = here(commit.version)
      return commit
    }
  }

  /// Fields upstream as they are here.
  func here(_ told: FollowedFields) -> FollowedFields {
    var told = told
    told.epoch = epochHere
    told.version = here(told.version)
    for index in told.fields.indices { told.fields[index].version = here(told.fields[index].version) }
    return told
  }

  /// An outcome upstream as it is here.
  func here(_ outcome: WireOutcome.Rest) -> WireOutcome.Rest {
    switch outcome {
    case .committed(let count, let version): return .committed(count: count, version: here(version))
    case .conflict(var conflict):
      if conflict.version > 0 { conflict.version = here(conflict.version) }
      return .conflict(conflict)
    default: return outcome
    }
  }
}

/// Ephemeral models at an edge: the upstream hub has them, and says who is present. What differs from stored models is
/// that its peers are present upstream in sessions of their own.
extension HubMachine {
  /// Refuses what the upstream hub does not have.
  func refusesEphemeral(
    _ join: Join, _ session: SessionID, _ connection: ConnectionID, _ output: inout HubOutput
  ) -> Bool {
    guard let edge, Names.isEphemeral(join.name),
      edge.upstream?.capabilities.contains(Capability.ephemeral) != true
    else { return false }
    let text = "\(join.name): the upstream hub of this edge at \(edge.address) has no ephemeral models"
    hub.error(.overLimit, text, session, connection, isFatal: false, &output)
    return true
  }

  /// Whether a session joins an ephemeral model for a peer, which is present upstream from then on. An edge below has
  /// sessions of its own for its peers.
  func isPresence(_ index: Int, _ session: SessionID) -> Bool {
    hub.models[index].ephemeral != nil && hub.sessions[session]?.capabilities.isEdge == false
  }

  /// A peer has joined an ephemeral model: it joins the stored one upstream too, if it has here.
  mutating func attend(_ index: Int, _ session: SessionID) {
    guard let stored = hub.models[index].counterpart,
      hub.sessions.join(of: session, in: hub.models[stored].topic) != nil
    else { return }
    edge?.requests.append(.attend(session, model: hub.models[stored].id))
  }

  /// Ends the sessions with ephemeral models: another process has these upstream from now on, where their numbers begin
  /// anew. Their peers come back with what they have in them.
  mutating func endPresent(_ time: HubTime, _ output: inout HubOutput) {
    let models = (edge?.models ?? [:]).keys.filter { hub.models[$0].ephemeral != nil }
    for index in models.sorted() {
      edge?.models[index]?.isComplete = false
      for session in hub.models[index].members.sessions.sorted() {
        guard let connection = hub.sessions[session]?.connection else { continue }
        hub.error(.closing, "the upstream hub has started anew; say hello again", session, connection, &output)
        end(session, time, forgetting: false, &output)
      }
    }
  }

  // MARK: Owners

  /// The upstream hub asks a peer of this edge about a proposal.
  mutating func passOn(_ request: ApprovalRequest, to session: SessionID, _ model: String, _ output: inout HubOutput) {
    guard let index = hub.models.index(named: model), let record = hub.sessions[session] else { return }
    if !record.capabilities.knowsLists, request.fields.contains(where: { ListElements.parts(of: $0.name) != nil }) {
      let answer = Approval(
        topic: Topics.firstModel, token: request.token, isAccepted: false,
        text: "this version does not know lists; update it")
      edge?.requests.append(.approval(session, model: model, answer))
      return
    }
    var request = request
    (request.session, request.topic) = (session, hub.models[index].topic)
    hub.send(.approve(request), to: session, &output)
  }

  /// A peer has answered for the model that it owns.
  mutating func receive(_ approval: Approval, of session: SessionID, _ time: HubTime, _ output: inout HubOutput) {
    guard edge == nil else {
      guard let index = hub.models.index(of: approval.topic) else { return }
      edge?.requests.append(.approval(session, model: hub.models[index].id, approval))
      return
    }
    if let index = proposals.receive(approval, session, &hub) { goOn(index, time, &output) }
  }
}
