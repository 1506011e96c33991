public import BindingProtocol

/// Barriers of this process, and reports to the hub of what this session has applied.
extension Session {
  /// Whether the hub supports barriers and reports.
  private var hubAsks: Bool { welcome?.capabilities.contains(Capability.applied) ?? false }

  // MARK: Waiting for others

  /// Waits until sessions have applied a version. Ends once, with `PeerAction.awaited`. Without a hub the request is
  /// sent when there is one, and again after a reconnect, for the time that is left.
  /// - Parameters:
  ///   - count: how many sessions, this one included; 0: all that have joined when the hub is asked, and stay alive.
  ///   - timeoutMilliseconds: the longest wait.
  public mutating func awaitApplied(
    _ version: Version, of model: String, count: UInt32, timeoutMilliseconds: UInt64, now: UInt64
  ) -> BarrierID {
    barriers.add(
      .init(
        model: model, epoch: models[model]?.replica.epoch ?? 0, version: version, count: count,
        deadline: now + min(timeoutMilliseconds, UInt64(UInt32.max))))
  }

  /// Stops waiting; no `PeerAction.awaited` follows.
  public mutating func stopWaiting(_ id: BarrierID) { barriers.remove(id) }

  /// Sends the barriers that were not sent on this connection.
  mutating func askBarriers(now: UInt64, _ output: inout PeerOutput) {
    for (id, barrier) in barriers.unsent {
      if let end = obstacle(to: barrier) {
        barriers.remove(id)
        output.add(.awaited(id, end))
        continue
      }
      guard phase == .live, let model = models[barrier.model], model.isCurrent, let topic = model.topic else {
        continue
      }
      lastRequest += 1
      let epoch = model.replica.epoch
      if let wanted = barriers.ask(id, as: lastRequest, of: topic, in: epoch, now: now) {
        send(.awaitApplied(wanted), now: now, &output)
      }
    }
  }

  /// Why a barrier can have no answer of the present hub; nil: it can, or there is no hub to tell.
  private func obstacle(to barrier: BarrierClient.Barrier) -> BarrierEnd? {
    if case .stopped(let reason) = phase { return .stopped(reason) }
    guard phase == .live else { return nil }
    guard hubAsks else { return .hubTooOld }
    guard let model = models[barrier.model] else { return .notJoined }
    let isOfThisEpoch = barrier.epoch == 0 || barrier.epoch == model.replica.epoch
    return model.isCurrent && model.topic != nil && !isOfThisEpoch ? .otherEpoch : nil
  }

  mutating func handle(_ awaited: Awaited, _ output: inout PeerOutput) {
    guard awaited.session == sessionID, let id = barriers.answered(awaited.request) else { return }
    output.add(.awaited(id, BarrierEnd(awaited)))
  }

  // MARK: Reporting applied versions

  /// Records that the hub wants a report once a model has this version.
  mutating func asked(_ id: String, for version: Version) {
    if models.index(of: id) != nil { reports.ask(for: version, of: id) }
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
    for id in reports.models {
      guard let index = models.index(of: id), models[at: index].isCurrent, let topic = models[at: index].topic else {
        continue
      }
      let version = models[at: index].replica.version
      guard reports.reach(version, of: id) else { continue }
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
