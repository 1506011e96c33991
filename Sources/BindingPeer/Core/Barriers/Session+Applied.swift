public import BindingProtocol

/// Identifies a barrier: a wait of this process until sessions have applied a version.
public struct BarrierID: Hashable, Sendable {
  let rawValue: UInt64
}

/// How a barrier has ended.
public enum BarrierEnd: Sendable, Hashable {
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
}

/// A barrier, from `awaitApplied` to its end.
struct PeerBarrier: Sendable {
  /// How long after the timeout the hub's list of missing sessions is waited for, in milliseconds.
  static let graceMilliseconds: UInt64 = 1_000

  let model: String
  /// 0: no hub had been seen.
  let epoch: Epoch
  let version: Version
  /// 0: all.
  let count: UInt32
  let deadline: UInt64
  /// The request that asked the hub on this connection; nil: not asked yet.
  var request: UInt32?

  var endsAt: UInt64 { request == nil ? deadline : deadline + PeerBarrier.graceMilliseconds }
}

extension Session {
  /// Whether the hub supports barriers and reports.
  var hubAsks: Bool { welcome?.capabilities.contains(Capability.applied) ?? false }

  // MARK: Waiting for others

  /// Waits until sessions have applied a version. Ends once, with `PeerAction.awaited`. Without a hub the request is
  /// sent when there is one, and again after a reconnect, for the time that is left.
  /// - Parameters:
  ///   - count: how many sessions, this one included; 0: all that have joined when the hub is asked, and stay alive.
  ///   - timeoutMilliseconds: the longest wait.
  public mutating func awaitApplied(
    _ version: Version, of model: String, count: UInt32, timeoutMilliseconds: UInt64, now: UInt64
  ) -> BarrierID {
    lastBarrier += 1
    let id = BarrierID(rawValue: lastBarrier)
    barriers[id] = PeerBarrier(
      model: model, epoch: models[model]?.replica.epoch ?? 0, version: version, count: count,
      deadline: now + min(timeoutMilliseconds, UInt64(UInt32.max)))
    return id
  }

  /// Stops waiting; no `PeerAction.awaited` follows.
  public mutating func stopWaiting(_ id: BarrierID) { barriers[id] = nil }

  /// Sends the barriers that were not sent on this connection.
  mutating func askBarriers(now: UInt64, _ output: inout PeerOutput) {
    for id in barriers.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard var barrier = barriers[id], barrier.request == nil else { continue }
      if case .stopped(let reason) = phase {
        end(id, as: .stopped(reason), &output)
        continue
      }
      guard phase == .live else { continue }
      guard hubAsks else {
        end(id, as: .hubTooOld, &output)
        continue
      }
      guard let model = models[barrier.model] else {
        end(id, as: .notJoined, &output)
        continue
      }
      guard model.isCurrent, let topic = model.topic else { continue }
      guard barrier.epoch == 0 || barrier.epoch == model.replica.epoch else {
        end(id, as: .otherEpoch, &output)
        continue
      }
      lastRequest += 1
      barrier.request = lastRequest
      barriers[id] = barrier
      let left = UInt32(clamping: barrier.deadline - min(now, barrier.deadline))
      let wanted = AwaitApplied(
        request: lastRequest, topic: topic, epoch: model.replica.epoch, version: barrier.version, count: barrier.count,
        timeoutMilliseconds: left)
      send(.awaitApplied(wanted), now: now, &output)
    }
  }

  mutating func handle(_ awaited: Awaited, _ output: inout PeerOutput) {
    guard awaited.session == sessionID, let id = barriers.first(where: { $0.value.request == awaited.request })?.key
    else { return }
    switch awaited.end {
    case .complete: end(id, as: .applied(Int(awaited.applied)), &output)
    case .incomplete:
      end(id, as: .missing(awaited.missing, applied: Int(awaited.applied), of: Int(awaited.of)), &output)
    case .tooMany: end(id, as: .tooMany, &output)
    case .otherEpoch: end(id, as: .otherEpoch, &output)
    case .notJoined: end(id, as: .notJoined, &output)
    }
  }

  /// Ends the barriers whose time is over.
  mutating func endBarriers(now: UInt64, _ output: inout PeerOutput) {
    for (id, barrier) in barriers where barrier.endsAt <= now { end(id, as: .noAnswer, &output) }
  }

  /// Ends the barriers of a model that was left.
  mutating func endBarriers(of model: String, _ output: inout PeerOutput) {
    for (id, barrier) in barriers where barrier.model == model { end(id, as: .notJoined, &output) }
  }

  mutating func endAllBarriers(as end: BarrierEnd, _ output: inout PeerOutput) {
    for id in barriers.keys.sorted(by: { $0.rawValue < $1.rawValue }) { self.end(id, as: end, &output) }
  }

  private mutating func end(_ id: BarrierID, as end: BarrierEnd, _ output: inout PeerOutput) {
    barriers[id] = nil
    output.add(.awaited(id, end))
  }

  // MARK: Reporting applied versions

  /// Records that the hub wants a report once a model has this version.
  mutating func asked(_ id: String, for version: Version) {
    guard let index = models.index(of: id), !models[at: index].asked.contains(version) else { return }
    // Above the limit the hub's next heartbeat asks again.
    if models[at: index].asked.count == PeerModel.maxAsked { models[at: index].asked.removeLast() }
    models[at: index].asked.append(version)
    owingReports.insert(id)
  }

  /// Records that a diverged replica was replaced.
  mutating func recordHealed(at index: Int) {
    guard models[at: index].isHealing else { return }
    models[at: index].isHealing = false
    models[at: index].healed += 1
    if hubAsks { asked(models.keys[index], for: 0) }
  }

  /// Reports the applied versions of the models that the hub asked for, once they have reached what it asked.
  mutating func report(now: UInt64, _ output: inout PeerOutput) {
    var entries: [AppliedEntry] = []
    for id in owingReports.sorted() {
      guard let index = models.index(of: id) else {
        owingReports.remove(id)
        continue
      }
      let version = models[at: index].replica.version
      guard models[at: index].isCurrent, let topic = models[at: index].topic,
        models[at: index].asked.contains(where: { $0 <= version })
      else { continue }
      models[at: index].asked.removeAll { $0 <= version }
      if models[at: index].asked.isEmpty { owingReports.remove(id) }
      entries.append(
        AppliedEntry(
          topic: topic, epoch: models[at: index].replica.epoch, version: version,
          digest: models[at: index].replica.digest(), healed: models[at: index].healed))
      if entries.count == 1_000 {
        send(.report(entries), now: now, &output)
        entries.removeAll()
      }
    }
    if !entries.isEmpty { send(.report(entries), now: now, &output) }
  }
}
