import BindingProtocol

/// A model that the uplink follows.
struct FollowedModel {
  /// Whether it has been complete since it is followed, in the present epoch. Then it is served, also while the uplink
  /// is lost.
  var isComplete = false
  /// Since when no session has joined it, on the monotonic clock.
  var unusedSince: UInt64?
  /// Of an ephemeral model: its versions upstream; nil: nothing was told of it, or it is a stored one.
  var versions: EphemeralVersions?
}

/// What the uplink tells of models.
extension HubMachine {
  /// Commits that the upstream hub has decided: applied, and published under this edge's numbers.
  mutating func follow(_ commits: [RecordedCommit], _ time: HubTime, _ output: inout HubOutput) {
    guard let first = commits.first, let index = hub.models.index(named: first.model),
      let known = edge?.models[index]
    else { return }
    let model = hub.models[index]
    let commits = known.versions?.here(commits) ?? commits
    guard first.epoch == known.versions?.epoch ?? hub.epoch else { return }
    hub.counters.commits += UInt64(commits.count)
    if commits.contains(where: { $0.origin.user != nil }) { nameUsers(time, &output) }
    for batch in FollowedBatches(commits, hub.configuration).next(in: model) {
      publisher.publish(batch, index, &hub, &output)
    }
    if let last = commits.last, model.version != last.version {
      // What does not follow is not guessed: the uplink begins with the model anew.
      edge?.unfollow(index, model.id)
      edge?.models[index] = FollowedModel()
      edge?.requests.append(.follow(model.id))
    }
    for commit in commits where commit.number > 0 { raiseMark(of: commit.origin.tag, in: index, to: commit.number) }
    followed(index, time, &output)
  }

  /// A model has changed by more than can be published: its peers get the head at once, and catch up.
  mutating func replace(_ fields: FollowedFields, _ time: HubTime, _ output: inout HubOutput) {
    guard let index = hub.models.index(named: fields.model), edge?.models[index] != nil else { return }
    let model = hub.models[index]
    if model.ephemeral != nil, edge?.models[index]?.versions?.epoch != fields.epoch {
      edge?.models[index]?.versions = EphemeralVersions(of: fields, in: model)
    }
    let fields = edge?.models[index]?.versions?.here(fields) ?? fields
    hub.counters.upstreamCatchups += 1
    if fields.fields.contains(where: { $0.origin.user != nil }) { nameUsers(time, &output) }
    // The marks of what has been folded are known upstream alone.
    for (id, session) in edge?.sessions ?? [:] where session.isWriter { publisher.catchups.end(in: model, of: id) }
    model.replace(fields)
    publisher.heads.publishNow(index, &hub, &output)
    publisher.announcer.announceFirstCommit(of: model, &hub, &output)
    followed(index, time, &output)
  }

  /// The upstream hub has keys: peers that cannot read its messages are told so.
  private mutating func nameUsers(_ time: HubTime, _ output: inout HubOutput) {
    guard edge?.namesUsers == false else { return }
    edge?.namesUsers = true
    for session in hub.sessions.inOrder {
      guard edge?.sessions[session.id]?.hello.capabilities.contains(Capability.users) == false else { continue }
      hub.error(.otherProtocol, HubMachine.usersNeeded, session.id, session.connection, &output)
      end(session.id, time, forgetting: false, &output)
    }
  }

  private mutating func followed(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    model.adoptStoredRules()
    endUnable(in: index, time, &output)
    publisher.catchups.finish(model, publisher.congested, &hub, &output)
    hub.models.touch(index)
  }

  /// A commit of a peer that writes through this edge is its outcome too.
  private mutating func raiseMark(of tag: Tag, in index: Int, to number: ProposalNumber) {
    guard let session = hub.sessions.identities[tag]?.session, edge?.sessions[session]?.isWriter == true,
      let origin = hub.sessions[session]?.identity
    else { return }
    // Forgotten with the session.
    hub.models[index].writers.with(hub.writer(origin, in: index)) { $0.raise(to: number) }
  }

  // MARK: Refused joins

  mutating func refuseJoins(
    of model: String, _ error: ErrorMessage, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard let index = hub.models.index(named: model) else { return }
    for session in hub.models[index].members.sessions.sorted() {
      refuseJoin(of: model, session, error, time, &output)
    }
    if error.code == .notPermitted { hub.models[index].forgetContent() }
    edge?.unfollow(index, model)
  }

  mutating func refuseJoin(
    of model: String, _ session: SessionID, _ error: ErrorMessage, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard let index = hub.models.index(named: model), let connection = hub.sessions[session]?.connection else { return }
    hub.counters.modelsRefused += 1
    hub.error(error.code, error.text, session, connection, isFatal: false, &output)
    leave(hub.models[index].topic, session, time)
  }
}
