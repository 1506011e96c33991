import BindingProtocol

/// Identifies a request for a page of history.
package struct HistoryID: Hashable, Sendable {
  let rawValue: UInt64
}

/// How a request for a page of history has ended.
package enum HistoryEnd: Sendable, Hashable {
  case page(PastPage)
  /// The timeout passed first.
  case noAnswer
  /// The model was left, or never joined.
  case notJoined
  /// The hub does not know the request.
  case hubTooOld
  case stopped(StopReason)
}

/// The requests of a session for pages of history, sent one after the other, because a hub answers one a session.
/// Without a hub a request waits, and after a reconnect it is sent again, for the time that is left.
struct HistoryClient: Sendable {
  /// How long an answer is waited for before the request is sent again, in milliseconds.
  static let repeatMilliseconds: UInt64 = 3_000

  struct Asked: Sendable {
    let model: String
    /// Its request number and topic are filled in when it is sent.
    var message: HistoryRequest
    let deadline: UInt64
    /// When it was sent on this connection; nil: not yet.
    fileprivate(set) var sentAt: UInt64?
  }

  /// In the order in which they were made. The first one is under way.
  private var asked: [(id: HistoryID, asked: Asked)] = []
  private var lastID: UInt64 = 0

  var isEmpty: Bool { asked.isEmpty }

  /// The request to send or to wait for.
  var first: (id: HistoryID, asked: Asked)? { asked.first }

  var nextDeadline: UInt64 {
    var deadline = asked.reduce(UInt64.max) { min($0, $1.asked.deadline) }
    if let sentAt = asked.first?.asked.sentAt { deadline = min(deadline, sentAt + HistoryClient.repeatMilliseconds) }
    return deadline
  }

  mutating func add(_ new: Asked) -> HistoryID {
    lastID += 1
    asked.append((HistoryID(rawValue: lastID), new))
    return HistoryID(rawValue: lastID)
  }

  mutating func remove(_ id: HistoryID) { asked.removeAll { $0.id == id } }

  /// What is possible for a request at present.
  enum Step {
    /// There is no hub, or the model's catch-up or an answer is under way.
    case wait
    case ask(Topic)
    /// The present hub can give no answer.
    case end(HistoryEnd)
  }

  /// What is possible for a request once there is a hub.
  func step(of asked: Asked, _ model: ModelSync?, hubAnswers: Bool, now: UInt64) -> Step {
    guard hubAnswers else { return .end(.hubTooOld) }
    guard let model, !model.join.isLeft else { return .end(.notJoined) }
    guard model.join.isCurrent, let topic = model.join.topic else { return .wait }
    if let sentAt = asked.sentAt, now < sentAt + HistoryClient.repeatMilliseconds { return .wait }
    return .ask(topic)
  }

  /// The message of the first request. Sent again on the same connection, it keeps its number.
  mutating func message(as request: UInt32, about topic: Topic, now: UInt64) -> HistoryRequest? {
    guard !asked.isEmpty else { return nil }
    if asked[0].asked.sentAt == nil || asked[0].asked.message.topic != topic {
      (asked[0].asked.message.request, asked[0].asked.message.topic) = (request, topic)
    }
    asked[0].asked.sentAt = now
    return asked[0].asked.message
  }

  /// The connection is gone, and with it the request that was sent.
  mutating func disconnect() { if !asked.isEmpty { asked[0].asked.sentAt = nil } }

  /// Removes and returns the request that a page answers; nil for an unknown or repeated one.
  mutating func answered(_ page: PastPage) -> HistoryID? {
    guard let first = asked.first, first.asked.sentAt != nil, first.asked.message.request == page.request else {
      return nil
    }
    asked.removeFirst()
    return first.id
  }

  /// Removes and returns the requests whose time is over.
  mutating func expired(now: UInt64) -> [HistoryID] { removeAll { $0.deadline <= now } }

  /// Removes and returns the requests about a model; about all models if none is named.
  mutating func removeAll(of model: String? = nil) -> [HistoryID] { removeAll { model == nil || $0.model == model } }

  private mutating func removeAll(where isMeant: (Asked) -> Bool) -> [HistoryID] {
    let ids = asked.filter { isMeant($0.asked) }.map(\.id)
    if !ids.isEmpty { asked.removeAll { isMeant($0.asked) } }
    return ids
  }
}

extension Session {
  /// Asks the hub for a page of a model's history. Ends once, with `SessionEvent.past`. Without a hub the request waits
  /// for one.
  /// - Parameter message: its request number and topic do not matter.
  package mutating func askHistory(
    _ message: HistoryRequest, of model: String, timeoutMilliseconds: UInt64, now: UInt64
  ) -> HistoryID {
    history.add(
      .init(model: model, message: message, deadline: now + min(timeoutMilliseconds, UInt64(UInt32.max))))
  }

  /// Asks no longer; no `SessionEvent.past` follows.
  package mutating func stopAsking(_ id: HistoryID) { history.remove(id) }

  /// Sends the request whose turn it is, and ends those that cannot be answered.
  mutating func askHistory(now: UInt64, _ effects: inout PeerEffects) {
    while let (id, asked) = history.first {
      switch step(of: asked, now: now) {
      case .wait: return
      case .end(let end):
        history.remove(id)
        effects.events.append(.past(id, end))
      case .ask(let topic):
        if let message = history.message(as: nextRequest(), about: topic, now: now) {
          send(.history(message), now: now, &effects)
        }
        return
      }
    }
  }

  private func step(of asked: HistoryClient.Asked, now: UInt64) -> HistoryClient.Step {
    if case .stopped(let reason) = phase { return .end(.stopped(reason)) }
    guard phase == .live else { return .wait }
    return history.step(of: asked, models[asked.model], hubAnswers: connection.hubCan(Capability.history), now: now)
  }

  mutating func handle(_ page: PastPage, _ effects: inout PeerEffects) {
    guard page.session == connection.sessionID, let id = history.answered(page) else { return }
    effects.events.append(.past(id, .page(page)))
  }
}
