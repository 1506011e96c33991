package import BindingProtocol

/// What an uplink tells its edge. Everything about one model is in the order of its versions.
package enum UplinkEvent: Sendable, Hashable {
  /// The upstream hub has welcomed the uplink, or its log has begun another epoch.
  case reached(UpstreamHub)
  /// Every followed model is as new as the upstream hub's.
  case caughtUp
  /// The uplink is lost, or not let in: the reason, in words, if one is known.
  case cut(String?)
  /// Commits of one model, in order, the first directly after what was told before; never empty.
  case commits([RecordedCommit])
  /// A model as it is now: the fields that changed since what was told before, or all of them.
  case fields(FollowedFields)
  /// A followed model is complete.
  case complete(model: String)
  /// The upstream hub does not let the edge read a model.
  case unreadable(model: String, ErrorMessage)
  /// A peer's session is open upstream; whether the hub there knew its identity.
  case welcomed(SessionID, knewIdentity: Bool)
  /// A peer's join was answered.
  case joined(SessionID, UpstreamJoin)
  /// A peer's join was refused; the text names the model.
  case refused(SessionID, model: String, ErrorMessage)
  /// Outcomes of a session's proposals in one model; their topics mean nothing here.
  case outcomes(SessionID, model: String, Epoch, [WireOutcome])
  /// A peer's session has ended upstream, or must say hello again.
  case ended(SessionID, ErrorMessage)
  /// A model below a listed prefix.
  case announced(prefix: String, model: String, version: Version, fields: Int)
  /// The hub there asks a peer about a proposal for the model that it owns; the session and topic mean nothing here.
  case approve(SessionID, model: String, ApprovalRequest)
  /// The hub there asks how many peers here have applied a version.
  case counts(CountApplied)
  /// The barrier of this number has ended.
  case awaited(UInt32, Awaited)
  /// The page of history that the request of this number has got.
  case past(UInt32, PastPage)
  /// All models that there were below a prefix were announced.
  case listed(prefix: String)
}

/// What the upstream hub said of itself.
package struct UpstreamHub: Sendable, Hashable {
  package var name: String
  package var logID: LogID
  package var epoch: Epoch
  package var durability: Durability
  package var limits: Limits
  package var capabilities: [String]
  /// The number of its start.
  package var start: StartNumber

  package init(_ welcome: Welcome, epoch: Epoch, start: StartNumber) {
    self.start = start
    name = welcome.hub
    logID = welcome.logID
    self.epoch = epoch
    durability = welcome.durability
    limits = welcome.limits
    capabilities = welcome.capabilities
  }
}

/// What a catch-up upstream has brought.
package struct FollowedFields: Sendable, Hashable {
  package var model: String
  package var epoch: Epoch
  package var version: Version
  package var fields: [CommittedField]
  /// Whether fields that are not named do not exist.
  package var isWhole: Bool

  package init(model: String, epoch: Epoch, version: Version, fields: [CommittedField], isWhole: Bool) {
    self.model = model
    self.epoch = epoch
    self.version = version
    self.fields = fields
    self.isWhole = isWhole
  }
}

/// The upstream hub's answer to a peer's join.
package struct UpstreamJoin: Sendable, Hashable {
  package var model: String
  package var epoch: Epoch
  /// The version that contains everything that was decided up to `lastDecided`.
  package var version: Version
  package var lastDecided: ProposalNumber

  package init(model: String, epoch: Epoch, version: Version, lastDecided: ProposalNumber) {
    self.model = model
    self.epoch = epoch
    self.version = version
    self.lastDecided = lastDecided
  }
}

extension HubMachine {
  /// Handles what the uplink of an edge tells.
  package mutating func handle(_ event: UplinkEvent, time: HubTime, into output: inout HubOutput) {
    guard edge != nil else { return }
    switch event {
    case .reached(let upstream): reached(upstream, time, &output)
    case .caughtUp: tellSessions(isReached: true, time, &output)
    case .cut(let reason): cutOff(reason, time, &output)
    case .commits(let commits): follow(commits, time, &output)
    case .fields(let fields): replace(fields, time, &output)
    case .complete(let model):
      guard let index = hub.models.index(named: model), edge?.models[index] != nil else { return }
      edge?.models[index]?.isComplete = true
      hub.models.touch(index)
    case .unreadable(let model, let error): refuseJoins(of: model, error, time, &output)
    case .welcomed(let session, let knew):
      guard let waiting = edge?.hellos.removeValue(forKey: session) else { return }
      hello(waiting.hello, session, waiting.connection, time, upstreamKnew: knew, &output)
    case .joined(let session, let joined):
      guard let index = hub.models.index(named: joined.model) else { return }
      edge?.sessions[session]?.joins[index] = .answered(joined)
      hub.models.touch(index)
    case .refused(let session, let model, let error): refuseJoin(of: model, session, error, time, &output)
    case .outcomes(let session, let model, let epoch, let outcomes):
      guard let index = hub.models.index(named: model) else { return }
      let topic = hub.models[index].topic
      let versions = edge?.models[index]?.versions
      let answers = outcomes.map { outcome in
        let rest = known(outcome.rest, by: session)
        return WireOutcome(topic: topic, number: outcome.number, versions?.here(rest) ?? rest)
      }
      hub.send(.outcomes(Outcomes(session: session, epoch: epoch, outcomes: answers)), to: session, &output)
    case .ended(let session, let error): end(session, error.code, error.text, time, &output)
    case .announced(let prefix, let model, let version, let fields):
      announce(EdgeListing.Entry(model: model, version: version, fields: fields), below: prefix, &output)
    case .approve(let session, let model, let request): edge?.passOn(request, to: session, model, hub, &output)
    case .counts(let question): publisher.barriers.count(question, over: 0, &hub, time, &output)
    case .awaited(let number, let awaited): answer(number, awaited, &output)
    case .past(let number, let page): history.answered(number, page, &hub, &output)
    case .listed(let prefix):
      edge?.listings[prefix]?.isComplete = true
      list(prefix, &output)
    }
  }

  // MARK: The uplink

  private mutating func reached(_ upstream: UpstreamHub, _ time: HubTime, _ output: inout HubOutput) {
    let isFirst = edge?.upstream == nil
    let isOtherLog = hub.logID != upstream.logID
    let isOther = isOtherLog || hub.epoch != upstream.epoch
    let isOtherStart = edge?.upstream.map { $0.start != upstream.start } ?? false
    edge?.reach(upstream, time)
    (hub.logID, hub.epoch) = (upstream.logID, upstream.epoch)
    publisher.barriers.forget(link: 0)
    if isOtherStart { endPresent(time, &output) }
    guard isOther else { return }
    if !isFirst {
      hub.counters.otherUpstreams += 1
      let what = isOtherLog ? "has another log" : "has begun another epoch of its log"
      for session in hub.sessions.inOrder {
        end(session.id, .closing, "the upstream hub \(what); say hello again", time, &output)
      }
    }
    for index in hub.models.indices where !hub.models.isRemoved(index) {
      edge?.models[index]?.isComplete = false
      if isOtherLog { hub.models[index].forgetContent() }
    }
  }

  private mutating func cutOff(_ reason: String?, _ time: HubTime, _ output: inout HubOutput) {
    let wasReached = edge?.isReached == true
    edge?.cut(reason, time)
    for (session, waiting) in (edge?.hellos ?? [:]).sorted(by: { $0.key < $1.key }) {
      hub.error(.closing, edge?.words ?? "", session, waiting.connection, &output)
    }
    edge?.hellos.removeAll()
    if wasReached {
      hub.counters.upstreamLosses += 1
      tellSessions(isReached: false, time, &output)
    }
  }

  /// Tells every session that wants to know whether what it reads is as new as the upstream hub's.
  private mutating func tellSessions(isReached: Bool, _ time: HubTime, _ output: inout HubOutput) {
    edge?.isCaughtUp = isReached
    tellUpstream(&output)
  }

  /// Tells every session that wants to know whether what it reads may be old.
  func tellUpstream(_ output: inout HubOutput) {
    for session in hub.sessions.inOrder { tellUpstream(session.id, &output) }
  }

  /// Whether what is read here is as new as what this hub follows: its upstream hub, or a log that it shares.
  package var isUpToDate: Bool { edge?.isCaughtUp ?? shared?.isUpToDate ?? true }

  func tellUpstream(_ session: SessionID, _ output: inout HubOutput) {
    guard hub.sessions[session]?.capabilities.learnsUpstream == true else { return }
    hub.send(.upstream(UpstreamState(session: session, isReached: isUpToDate)), to: session, &output)
  }

  /// An outcome as a peer can read it: an older one does not know why an edge defers writes.
  private func known(_ outcome: WireOutcome.Rest, by session: SessionID) -> WireOutcome.Rest {
    guard case .retryLater(.upstream, let pause) = outcome,
      hub.sessions[session]?.capabilities.learnsUpstream != true
    else { return outcome }
    return .retryLater(.starting, pauseMilliseconds: pause)
  }

  /// Ends the sessions with ephemeral models: another process has these upstream from now on, where their numbers begin
  /// anew. Their peers come back with what they have in them.
  private mutating func endPresent(_ time: HubTime, _ output: inout HubOutput) {
    let models = (edge?.models ?? [:]).keys.filter { hub.models[$0].ephemeral != nil }
    for index in models.sorted() {
      edge?.models[index]?.isComplete = false
      for session in hub.models[index].members.sessions.sorted() {
        end(session, .closing, "the upstream hub has started anew; say hello again", time, &output)
      }
    }
  }

  /// Ends a session, or one whose hello waits for the upstream hub, and tells its peer why.
  private mutating func end(
    _ session: SessionID, _ code: ErrorCode, _ text: String, _ time: HubTime, _ output: inout HubOutput
  ) {
    let waiting = edge?.hellos.removeValue(forKey: session)
    guard let connection = waiting?.connection ?? hub.sessions[session]?.connection else { return }
    hub.error(code, text, session, connection, &output)
    end(session, time, forgetting: false, &output)
  }
}
