package import BindingProtocol

/// Proposals of one writer for one model, on their way to the model's home.
package struct ForwardedProposals: Sendable, Hashable {
  package let head: ForwardHead
  package internal(set) var proposals: [PassedProposal]
}

/// Passing proposals on to the home of a model.
extension HubMachine {
  /// A batch of this hub was not the first.
  mutating func loseRace(_ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    guard !siblings.isEmpty, model.approval.recorded == nil,
      model.batch.shared.home.lose(at: time.monotonic, most: hub.configuration.lossesBeforeHome),
      let link = siblings.home(of: model.id, start: hub.start)
    else { return }
    hub.counters.homesChosen += 1
    model.batch.shared.home.move(to: link, at: time.monotonic)
  }

  /// Goes on in a model whose home is elsewhere: answers what is decided, and passes on what waits.
  mutating func goOnElsewhere(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    answerPassed(index, time)
    passOn(index, time, &output)
  }

  /// Passes on what waits in a model whose home is elsewhere, or decides it if that is over.
  private mutating func passOn(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let (model, now) = (hub.models[index], time.monotonic)
    guard let link = model.batch.shared.home.link else { return }
    // A hub to which others pass something on decides it, also where they disagree about the home.
    let isSilent = model.batch.shared.home.answerBy <= now
    if isSilent || !siblings.takesForwards(link) || model.batch.waiting.contains(where: \.isForwarded) {
      return takeBack(model.batch.shared.home.fail(at: now), index, time, &output)
    }
    guard model.batch.shared.home.isOver(at: now) else { return passWaiting(index, to: link, time, &output) }
    if model.batch.shared.home.passed.isEmpty {
      takeBack(model.batch.shared.home.end(at: now), index, time, &output)
    }
  }

  /// Leaves the homes that were chosen before this hub had reached one more sibling, as when all have just started.
  func leaveFormerHomes(_ time: HubTime) {
    for index in hub.models.indices {
      let model = hub.models[index]
      guard let link = model.batch.shared.home.link, !model.batch.shared.home.isOwners,
        siblings.home(of: model.id, start: hub.start) != link
      else { continue }
      model.batch.shared.home.endTerm(at: time.monotonic)
    }
  }

  /// Whether something of a model is to be decided elsewhere, or to be said in the log about its owner.
  func isPassing(_ model: ModelLog) -> Bool {
    let isWaiting = !model.batch.shared.home.passed.isEmpty || !model.batch.waiting.isEmpty
    return model.batch.shared.home.link != nil && isWaiting || model.approval.isUnsettled(at: hub.start)
  }

  /// When something is due for that, on the monotonic clock. While the log is being written nothing can be done.
  func elsewhereDeadline(of model: ModelLog) -> UInt64 {
    guard shared != nil, !model.batch.isAppending else { return .max }
    return min(model.batch.shared.home.answerBy, model.approval.deadline(lease: hub.lease))
  }

  /// Passes on what has arrived since, and takes back what a silent home has not decided.
  mutating func passOnDue(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let (model, now) = (hub.models[index], time.monotonic)
    guard model.batch.shared.home.link != nil, !model.batch.shared.home.isOwners, !model.batch.isAppending else {
      return
    }
    if !model.batch.waiting.isEmpty || model.batch.shared.home.answerBy <= now { passOn(index, time, &output) }
  }

  /// Decides here what the home was to decide.
  private mutating func takeBack(
    _ proposals: [WaitingProposal], _ index: Int, _ time: HubTime, _ output: inout HubOutput
  ) {
    let model = hub.models[index]
    hub.counters.takenBack += UInt64(proposals.count)
    model.batch.waiting.insert(contentsOf: proposals, at: 0)
    goOn(index, time, &output)
  }

  /// Takes back what was passed on over a link that is lost.
  mutating func endHomes(over link: Int, _ time: HubTime, _ output: inout HubOutput) {
    for index in hub.models.touched where hub.models[index].batch.shared.home.link == link {
      takeBack(hub.models[index].batch.shared.home.end(at: time.monotonic), index, time, &output)
    }
  }

  mutating func passWaiting(_ index: Int, to link: Int, _ time: HubTime, _ output: inout HubOutput) {
    let model = hub.models[index]
    let waiting = model.batch.waiting
    model.batch.waiting.removeAll()
    var passed: [ModelHome.PassedOn] = []
    var forwards: [ForwardedProposals] = []
    var last: SessionID?
    for proposal in waiting {
      guard let session = hub.sessions[proposal.session],
        let secret = hub.sessions.identities[session.identity.tag]?.secret
      else { continue }
      let writer = hub.writer(session.identity, in: index)
      if SharedWriters.refuse(proposal.session, writer, in: model, &hub, &output) { continue }
      guard let next = forward(proposal, of: session, index) else { continue }
      if last != proposal.session {
        let head = ForwardHead(
          model: model.id, record: model.position.record,
          identity: Identity(tag: session.identity.tag, secret: secret, name: session.identity.name),
          user: session.identity.user)
        forwards.append(ForwardedProposals(head: head, proposals: []))
        last = proposal.session
      }
      forwards[forwards.count - 1].proposals.append(next)
      passed.append(
        .init(proposal: proposal, tag: session.identity.tag, number: next.number, refusal: next.refusal))
    }
    guard !passed.isEmpty else { return }
    hub.counters.passedOn += UInt64(passed.count)
    model.batch.shared.home.pass(passed, at: time.monotonic)
    siblings.forward(forwards, over: link)
  }

  /// Makes a proposal independent of this hub's numbers of fields; nil: it is answered.
  private mutating func forward(
    _ proposal: WaitingProposal, of session: SessionRecord, _ index: Int
  ) -> PassedProposal? {
    let model = hub.models[index]
    let passed: PassedProposal?? = proposal.read { cursor in
      if proposals.answerRepeat(cursor, session.identity, session.id, model, &hub) { return nil }
      let refusal = refusal(of: cursor, session.id, session.connection, index)
      let fields = model.fields
      return try? PassedProposal(cursor, refusal: refusal) { Int($0) < fields.count ? fields[$0].name : nil }
    }
    if let passed = passed ?? nil { return passed }
    hub.sessions.endWait(session.id)
    return nil
  }

  /// Answers what the log says of proposals that were passed on.
  mutating func answerPassed(_ index: Int, _ time: HubTime) {
    let model = hub.models[index]
    let decided = model.batch.shared.home.takeDecided(at: time.monotonic) { model.writers.lastStored(of: $0) }
    guard !decided.isEmpty else { return }
    var answers: [DeferredAnswer] = []
    var others: [DeferredAnswer.Other] = []
    for passed in decided {
      let session = passed.proposal.session
      guard let outcome = outcome(of: passed, in: model) else {
        hub.sessions.endWait(session)
        continue
      }
      if case .committed(_, let version) = outcome {
        answers.append(.init(session: session, number: passed.number, version: version, index: nil))
      } else {
        answers.append(.init(session: session, number: passed.number, version: 0, index: others.count))
        others.append(.outcome(outcome))
      }
    }
    hub.sessions.enqueue(answers, others, of: model, wall: time.wall)
  }

  /// What became of a proposal that is decided; nil: its peer knows.
  private mutating func outcome(of passed: ModelHome.PassedOn, in model: ModelLog) -> WireOutcome.Rest? {
    guard let writer = model.writers.index(of: passed.tag) else { return nil }
    let (outcome, confirmed) = model.writers.with(writer) { ($0.outcome(of: passed.number), $0.confirmed) }
    if case .expired? = outcome, let refusal = passed.refusal { return .refused(refusal) }
    if let outcome { return outcome }
    guard passed.number > confirmed else { return nil }
    hub.counters.unknownOutcomes += 1
    return .unknown
  }
}
