import BindingHub
import BindingPeer
import BindingProtocol

/// What the upstream hub sends to the sessions of peers that write.
extension Uplink {
  /// Receives a frame for the session of a writer.
  mutating func receive(_ frame: UnsafeRawBufferPointer, for id: SessionID, now: UInt64) {
    guard let (header, message) = try? HubMessage.decode(frame) else {
      counters.badFrames += 1
      return
    }
    switch message {
    case .welcome(let welcome): handle(welcome, start: header.start, id, now: now)
    case .topic(let assigned):
      writers.with(id) { writer in
        guard writer.models[assigned.model] != nil else { return }
        if let old = writer.models[assigned.model]?.topic { writer.topics[old] = nil }
        writer.models[assigned.model]?.topic = assigned.topic
        writer.topics[assigned.topic] = assigned.model
      }
    case .joined(let joined): handle(joined, id, now: now)
    case .outcomes(let outcomes): handle(outcomes, id)
    case .approve(let request):
      if let model = writers[id]?.topics[request.topic] { events.append(.approve(id, model: model, request)) }
    case .error(let error): handle(error, id, now: now)
    // The reading session has what such a session would be sent besides.
    default: break
    }
  }

  private mutating func handle(_ welcome: Welcome, start: StartNumber, _ id: SessionID, now: UInt64) {
    guard let writer = writers[id], writer.phase == .greeting else { return }
    writers.with(id) {
      $0.phase = .open
      $0.wasWelcomed = true
      $0.isAwaited = false
    }
    if writer.isAwaited {
      events.append(.welcomed(id, knewIdentity: welcome.knewIdentity))
    } else if writer.isEstablished, !welcome.knewIdentity {
      let words = "the upstream hub does not know this identity any more; say hello again"
      events.append(.ended(id, ErrorMessage(session: id, code: .unknownSession, isFatal: true, text: words)))
      return
    }
    advance(id, now: now)
  }

  private mutating func handle(_ joined: Joined, _ id: SessionID, now: UInt64) {
    guard let place = writers[id]?.models[joined.model], case .asked(let request, _) = place.progress,
      request == joined.request, place.topic == joined.topic
    else { return }
    writers.with(id) {
      $0.isEstablished = true
      $0.models[joined.model]?.progress = .joined
      $0.models[joined.model]?.wanted = nil
      $0.models[joined.model]?.queue = []
    }
    if place.wanted != nil {
      events.append(
        .joined(
          id,
          UpstreamJoin(
            model: joined.model, epoch: joined.epoch, version: joined.version, lastDecided: joined.lastDecided)))
    }
    if !place.queue.isEmpty { send(place.queue, of: id, in: joined.model, now: now) }
  }

  private mutating func handle(_ outcomes: Outcomes, _ id: SessionID) {
    var byModel: [(model: String, outcomes: [WireOutcome])] = []
    for outcome in outcomes.outcomes {
      let model = writers[id]?.topics[outcome.topic]
      let told = model.flatMap { model in writers.with(id) { $0.models[model]?.settle(outcome) ?? [] } } ?? []
      guard let model, !told.isEmpty else {
        counters.unaskedOutcomes += 1
        continue
      }
      if let index = byModel.firstIndex(where: { $0.model == model }) {
        byModel[index].outcomes += told
      } else {
        byModel.append((model, told))
      }
    }
    for (model, told) in byModel { events.append(.outcomes(id, model: model, outcomes.epoch, told)) }
  }

  private mutating func handle(_ error: ErrorMessage, _ id: SessionID, now: UInt64) {
    if let model = error.refusedJoin, let place = writers[id]?.models[model] {
      writers.with(id) { $0.models[model] = nil }
      putOff(place.queue.map(\.number), of: id, in: model)
      events.append(.refused(id, model: model, error))
      return
    }
    switch error.code {
    case .fenced, .otherProtocol, .notYours, .badName, .notPermitted:
      if error.isFatal { end(id, error) }
    // Its peer alone knows its numbers in ephemeral models, if these begin anew.
    case .closing where writers[id]?.isPresent == true: end(id, error)
    case .notJoined: loseWriter(id, now: now)
    default:
      guard error.isFatal else { break }
      if error.code == .tooManySessions { notices.append("a peer's session was refused upstream: \(error.text)") }
      writers.with(id) { $0.greetsFrom = now + 1_000 }
      loseWriter(id, now: now)
    }
  }

  private mutating func end(_ id: SessionID, _ error: ErrorMessage) {
    _ = writers.remove(id)
    events.append(.ended(id, error))
  }

  /// The error that refuses the reading session a model.
  func refusedModel(in frame: UnsafeRawBufferPointer) -> (model: String, error: ErrorMessage)? {
    guard frame.count > 4, frame[4] == HubMessageKind.error.rawValue,
      case .error(let error)? = (try? HubMessage.decode(frame))?.message, let model = error.refusedJoin,
      models[model] != nil
    else { return nil }
    return (model, error)
  }
}
