import BindingPeer
import BindingProtocol

extension Gateway {
  /// Receives one frame from the hub: a frame for a page's session goes to that page, any other to the reading
  /// session.
  package mutating func receive(_ frame: UnsafeRawBufferPointer, now: UInt64, into output: inout GatewayOutput) {
    guard let page = page(ofFrame: frame) else {
      notice(frame, now: now, &output)
      models.session.receive(frame, now: now, into: &models.effects)
      return
    }
    guard let (header, message) = try? HubMessage.decode(frame) else {
      output.add(.log("the hub sent a page an unreadable message"))
      return
    }
    switch message {
    case .welcome(let welcome): handle(welcome, start: header.start, page, now: now, &output)
    case .topic(let assigned):
      pages[page]?.joins[assigned.model]?.topic = assigned.topic
      pages[page]?.topics[assigned.topic] = assigned.model
      prepare(assigned.model, page, now: now, &output)
    case .joined(let joined): handle(joined, page, now: now, &output)
    case .announce(let announce): handle(announce, page, &output)
    case .rights(let rights):
      guard let model = pages[page]?.topics[rights.topic] else { return }
      sendText(to: page, PageText.rights(model, rights), &output)
    case .outcomes(let outcomes): handle(outcomes, page, &output)
    case .past(let answer): handle(answer, header.topic, page, &output)
    case .pong(let pong): sendText(to: page, PageText.pong(pong.token), &output)
    case .error(let error): handle(error, page, now: now, &output)
    // The reading session has, or gets, the catch-ups that a page's session would receive.
    default: break
    }
  }

  /// The page to whose session a frame is addressed; nil if it is not a page's session, or the frame concerns a
  /// model.
  private func page(ofFrame frame: UnsafeRawBufferPointer) -> PageID? {
    guard frame.count >= HubHeader.byteCount + 8, let kind = HubMessageKind(rawValue: frame[4]),
      kind == .catchup || kind == .past || kind.fixedTopic == Topics.none
    else { return nil }
    return bySession[frame.loadUnaligned(fromByteOffset: HubHeader.byteCount, as: UInt64.self).littleEndian]
  }

  /// Handles hub messages that pages receive besides those of their models.
  private mutating func notice(_ frame: UnsafeRawBufferPointer, now: UInt64, _ output: inout GatewayOutput) {
    guard frame.count > 4, let kind = HubMessageKind(rawValue: frame[4]), kind == .heartbeat || kind == .statusReport,
      let (_, message) = try? HubMessage.decode(frame)
    else { return }
    switch message {
    case .heartbeat(let heartbeat):
      let text = PageText.heartbeat(heartbeat)
      for (page, record) in pages.sorted(by: { $0.key < $1.key }) where record.isLive && !record.isBusy {
        sendText(to: page, text, &output)
      }
      if models.rooms[OwnModel.id]?.pages.isEmpty == false || !feed.pages.isEmpty {
        askStatus(&output)
      }
    case .statusReport(let report): handle(report, now: now, &output)
    default: break
    }
  }

  private mutating func handle(_ report: StatusReport, now: UInt64, _ output: inout GatewayOutput) {
    guard let json = try? report.json.json, let members = json.members else { return }
    feed.look(at: json, &models, now: now)
    guard models.rooms[OwnModel.id]?.pages.isEmpty == false else { return }
    let web = counters.list.map { JSON.Member($0.name, .integer(Int64(clamping: $0.value))) }
    let more = [
      JSON.Member("pages", .integer(Int64(pages.count))), JSON.Member("browsers", browserList),
      JSON.Member("web", .object(web)),
    ]
    let time = members.last { $0.name == "now" }?.value.int64.flatMap { UInt64(exactly: $0) } ?? 0
    let origin = Origin(tag: .none, name: models.session.welcome?.hub ?? "hub")
    guard let commit = own.apply(members + more, from: origin, time: time) else { return }
    touched.insert(OwnModel.id)
    pass([commit], of: OwnModel.id, own.epoch, &output)
  }

  private mutating func handle(
    _ welcome: Welcome, start: StartNumber, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) {
    guard case .greeting? = pages[page]?.phase else { return }
    counters.pagesWelcomed += 1
    pages[page]?.phase = .live
    pages[page]?.start = start
    pages[page]?.lastSentAt = now
    if let member = pages[page]?.view?.member {
      guard welcome.capabilities.contains(Capability.representing) else {
        return end(page, 4006, "this hub cannot serve \(member.name): update it", now: now, &output, leaving: true)
      }
      pages[page]?.view?.isAdmin = welcome.capabilities.contains(Capability.administering)
    }
    let tag = models.session.identity.tag
    sendText(to: page, PageText.welcome(welcome, gateway: tag, to: pages[page]?.view), &output)
  }

  private mutating func handle(
    _ joined: Joined, _ page: PageID, now: UInt64, _ output: inout GatewayOutput
  ) {
    guard let membership = pages[page]?.joins[joined.model], case .asked(let request, _) = membership.progress,
      request == joined.request
    else { return }
    pages[page]?.joins[joined.model]?.progress = .answered(epoch: joined.epoch, version: joined.version)
    pages[page]?.joins[joined.model]?.lastDecided = joined.lastDecided
    if isUngranted(membership, of: page) { grant(joined.model, page, now: now, &output) }
    touched.insert(joined.model)
  }

  private mutating func handle(_ outcomes: Outcomes, _ page: PageID, _ output: inout GatewayOutput) {
    let epoch = outcomes.epoch
    var byModel: [(model: String, outcomes: [WireOutcome])] = []
    for outcome in outcomes.outcomes {
      guard let model = pages[page]?.topics[outcome.topic] else { continue }
      record(outcome, page, model)
      if let index = byModel.firstIndex(where: { $0.model == model }) {
        byModel[index].outcomes.append(outcome)
      } else {
        byModel.append((model, [outcome]))
      }
    }
    for (model, outcomes) in byModel {
      sendText(to: page, PageText.outcomes(model, epoch, outcomes), &output)
    }
  }

  /// Every decision raises the last decided number.
  private mutating func record(_ outcome: WireOutcome, _ page: PageID, _ model: String) {
    let decided: ProposalNumber
    switch outcome.rest {
    case .retryLater, .expected: return
    case .committed(let count, _): decided = outcome.number + ProposalNumber(count) - 1
    default: decided = outcome.number
    }
    raiseLastDecided(of: page, in: model, to: decided)
  }

  mutating func raiseLastDecided(of page: PageID, in model: String, to number: ProposalNumber) {
    guard let lastDecided = pages[page]?.joins[model]?.lastDecided, lastDecided < number else { return }
    pages[page]?.joins[model]?.lastDecided = number
  }

  private mutating func handle(_ error: ErrorMessage, _ page: PageID, now: UInt64, _ output: inout GatewayOutput) {
    if refuse(error, page, now: now, &output) { return }
    sendText(to: page, PageText.error(error.code, error.text, isFatal: error.isFatal), &output)
    switch error.code {
    case .fenced: end(page, 4001, "fenced", now: now, &output)
    case .otherProtocol: end(page, 4002, "otherProtocol", now: now, &output)
    case .notYours: end(page, 4003, "notYours", now: now, &output)
    case .tooManySessions: end(page, 4005, "tooManySessions", now: now, &output)
    default: if error.isFatal { end(page, 1012, "\(error.code)", now: now, &output) }
    }
  }
}
