import BindingProtocol

/// Identifies a barrier: a wait of this process until sessions have applied a version.
package struct BarrierID: Hashable, Sendable {
  let rawValue: UInt64
}

/// How a barrier has ended.
package enum BarrierEnd: Sendable, Hashable {
  /// This many sessions, all that were waited for, have applied the version.
  case applied(Int)
  /// The timeout passed first. Names the sessions that have not applied the version, as far as the hub lists them.
  case missing([String], applied: Int, of: Int)
  /// The hub, or this session, has as many barriers as it may.
  case tooMany
  /// The hub's log has begun another epoch: what the version stood for may be lost.
  case otherEpoch
  /// The model was left, or never joined.
  case notJoined
  /// The hub does not support barriers.
  case hubTooOld
  /// The timeout passed without an answer from a hub.
  case noAnswer
  case stopped(StopReason)

  init(_ answer: Awaited) {
    self =
      switch answer.end {
      case .complete: .applied(Int(answer.applied))
      case .incomplete: .missing(answer.missing, applied: Int(answer.applied), of: Int(answer.of))
      case .tooMany: .tooMany
      case .otherEpoch: .otherEpoch
      case .notJoined: .notJoined
      }
  }
}

/// The barriers of a session, each from its beginning to its one end. Without a hub a barrier waits to be sent, and
/// after a reconnect it is sent again, for the time that is left.
struct BarrierClient: Sendable {
  /// How long after the timeout the hub's list of missing sessions is waited for, in milliseconds.
  static let graceMilliseconds: UInt64 = 1_000

  struct Barrier: Sendable {
    let model: String
    /// 0: no hub had been seen.
    let epoch: Epoch
    let version: Version
    /// 0: all.
    let count: UInt32
    let deadline: UInt64
    /// The request that asked the hub on this connection; nil: not asked yet.
    fileprivate(set) var request: UInt32?

    fileprivate var endsAt: UInt64 { request == nil ? deadline : deadline + BarrierClient.graceMilliseconds }
  }

  private var barriers: [BarrierID: Barrier] = [:]
  private var lastID: UInt64 = 0

  var isEmpty: Bool { barriers.isEmpty }

  /// When `expired` has something to return; `UInt64.max` without a barrier.
  var nextDeadline: UInt64 { barriers.values.reduce(.max) { min($0, $1.endsAt) } }

  mutating func add(_ barrier: Barrier) -> BarrierID {
    lastID += 1
    let id = BarrierID(rawValue: lastID)
    barriers[id] = barrier
    return id
  }

  mutating func remove(_ id: BarrierID) { barriers[id] = nil }

  /// What is possible for a barrier at present.
  enum Step {
    /// There is no hub, or the model's catch-up is under way.
    case wait
    case ask(Topic, Epoch)
    /// The present hub can give no answer.
    case end(BarrierEnd)
  }

  /// The barriers that were not sent on this connection, oldest first.
  var unsent: [(id: BarrierID, barrier: Barrier)] {
    barriers.filter { $0.value.request == nil }.map { ($0.key, $0.value) }.sorted { $0.id.rawValue < $1.id.rawValue }
  }

  /// What is possible for a barrier once there is a hub.
  /// - Parameters:
  ///   - model: the barrier's model; nil: not joined.
  ///   - hubAsks: whether the hub supports barriers.
  func step(of barrier: Barrier, _ model: ModelSync?, hubAsks: Bool) -> Step {
    guard hubAsks else { return .end(.hubTooOld) }
    guard let model else { return .end(.notJoined) }
    guard model.join.isCurrent, let topic = model.join.topic else { return .wait }
    let epoch = model.replica.epoch
    return barrier.epoch == 0 || barrier.epoch == epoch ? .ask(topic, epoch) : .end(.otherEpoch)
  }

  /// The message that asks the hub, for the time that is left.
  mutating func ask(
    _ id: BarrierID, as request: UInt32, of topic: Topic, in epoch: Epoch, now: UInt64
  ) -> AwaitApplied? {
    guard let barrier = barriers[id] else { return nil }
    barriers[id]?.request = request
    return AwaitApplied(
      request: request, topic: topic, epoch: epoch, version: barrier.version, count: barrier.count,
      timeoutMilliseconds: UInt32(clamping: barrier.deadline - min(now, barrier.deadline)))
  }

  /// The connection is gone, and with it all requests.
  mutating func disconnect() {
    for id in barriers.keys { barriers[id]?.request = nil }
  }

  /// Removes and returns the barrier that the hub has answered; nil for an unknown request.
  mutating func answered(_ request: UInt32) -> BarrierID? {
    guard let id = barriers.first(where: { $0.value.request == request })?.key else { return nil }
    barriers[id] = nil
    return id
  }

  /// Removes and returns the barriers whose time is over.
  mutating func expired(now: UInt64) -> [BarrierID] { removeAll { $0.endsAt <= now } }

  /// Removes and returns the barriers of a model; of all models if none is named.
  mutating func removeAll(of model: String? = nil) -> [BarrierID] { removeAll { model == nil || $0.model == model } }

  private mutating func removeAll(where isMeant: (Barrier) -> Bool) -> [BarrierID] {
    let ids = barriers.filter { isMeant($0.value) }.keys.sorted { $0.rawValue < $1.rawValue }
    for id in ids { barriers[id] = nil }
    return ids
  }
}
