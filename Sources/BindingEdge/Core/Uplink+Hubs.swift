import BindingHub
import BindingPeer
import BindingProtocol

/// What hubs of one log tell each other beside the parts of ephemeral models, and barriers over several hubs.
extension Uplink {
  /// Passes proposals on to the home of a model. Nothing is answered: the log shows what becomes of them.
  mutating func forward(_ forwarded: ForwardedProposals) {
    guard isOpen, let start = welcomeStart else { return }
    for part in Uplink.parts(of: forwarded.proposals) {
      var writer = WireWriter()
      PeerHeader(kind: .forward, session: session.number, start: start).write(to: &writer)
      forwarded.head.write(to: &writer)
      writer.proposals(part, topic: Topics.firstModel)
      counters.forwarded += UInt64(part.count)
      actions.append(.send(writer.bytes))
    }
  }

  /// Tells the hub there how many peers here have applied a version.
  mutating func tell(_ count: AppliedCount) {
    guard isOpen, let start = welcomeStart else { return }
    actions.append(.send(PeerMessage.counted(count).encode(session: session.number, start: start)))
  }

  /// The question of the hub there in a frame: how many peers here have applied a version.
  func question(in frame: UnsafeRawBufferPointer) -> CountApplied? {
    guard frame.count > 4, frame[4] == HubMessageKind.count.rawValue,
      case (let header, .count(let question))? = try? HubMessage.decode(frame), header.start == welcomeStart,
      question.session == session.number
    else { return nil }
    return question
  }

  /// Asks the upstream hub what a peer of the edge has asked.
  mutating func ask(_ request: UplinkRequest, now: UInt64) {
    switch request {
    case .await(let wanted, let model):
      let id = session.awaitApplied(
        wanted.version, of: model, count: wanted.count, timeoutMilliseconds: UInt64(wanted.timeoutMilliseconds),
        now: now)
      awaits[id] = wanted.request
    case .stopWaiting(let number):
      guard let id = awaits.first(where: { $0.value == number })?.key else { return }
      session.stopWaiting(id)
      awaits[id] = nil
    case .history(let request, let model):
      // The peer says when it asks no longer.
      let id = session.askHistory(request, of: model, timeoutMilliseconds: .max, now: now)
      asks[id] = request.request
    case .stopAsking(let number):
      guard let id = asks.first(where: { $0.value == number })?.key else { return }
      session.stopAsking(id)
      asks[id] = nil
    default: break
    }
  }

  /// A request for history has ended.
  mutating func answer(_ id: HistoryID, _ end: HistoryEnd) {
    guard let number = asks.removeValue(forKey: id) else { return }
    switch end {
    case .page(let page): events.append(.past(number, page))
    case .notJoined: events.append(.past(number, PastPage(session: 0, request: number, end: .notJoined)))
    case .noAnswer, .hubTooOld, .stopped:
      events.append(.past(number, PastPage(session: 0, request: number, end: .unreadable)))
    }
  }

  /// A barrier has ended.
  mutating func answer(_ id: BarrierID, _ end: BarrierEnd) {
    guard let number = awaits.removeValue(forKey: id) else { return }
    var awaited = Awaited(session: 0, request: number, end: .incomplete)
    switch end {
    case .applied(let count):
      (awaited.end, awaited.applied, awaited.of) = (.complete, UInt32(clamping: count), UInt32(clamping: count))
    case .missing(let names, let applied, let all):
      (awaited.missing, awaited.applied, awaited.of) = (names, UInt32(clamping: applied), UInt32(clamping: all))
    case .tooMany: awaited.end = .tooMany
    case .otherEpoch: awaited.end = .otherEpoch
    case .notJoined: awaited.end = .notJoined
    case .hubTooOld, .noAnswer, .stopped: (awaited.missing, awaited.of) = (["the upstream hub"], 1)
    }
    events.append(.awaited(number, awaited))
  }
}
