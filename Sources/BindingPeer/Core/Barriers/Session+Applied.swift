package import BindingProtocol

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
  package mutating func awaitApplied(
    _ version: Version, of model: String, count: UInt32, timeoutMilliseconds: UInt64, now: UInt64
  ) -> BarrierID {
    barriers.add(
      .init(
        model: model, epoch: models[model]?.replica.epoch ?? 0, version: version, count: count,
        deadline: now + min(timeoutMilliseconds, UInt64(UInt32.max))))
  }

  /// Stops waiting; no `PeerAction.awaited` follows.
  package mutating func stopWaiting(_ id: BarrierID) { barriers.remove(id) }

  /// Sends the barriers that were not sent on this connection.
  mutating func askBarriers(now: UInt64, _ output: inout PeerOutput) {
    for (id, barrier) in barriers.unsent {
      switch nextStep(of: barrier) {
      case .wait: break
      case .end(let end):
        barriers.remove(id)
        output.add(.awaited(id, end))
      case .ask(let topic, let epoch):
        lastRequest += 1
        if let wanted = barriers.ask(id, as: lastRequest, of: topic, in: epoch, now: now) {
          send(.awaitApplied(wanted), now: now, &output)
        }
      }
    }
  }

  private enum BarrierStep {
    /// There is no hub, or the model's catch-up is under way.
    case wait
    case ask(Topic, Epoch)
    /// The present hub can give no answer.
    case end(BarrierEnd)
  }

  private func nextStep(of barrier: BarrierClient.Barrier) -> BarrierStep {
    if case .stopped(let reason) = phase { return .end(.stopped(reason)) }
    guard phase == .live else { return .wait }
    guard hubAsks else { return .end(.hubTooOld) }
    guard let model = models[barrier.model] else { return .end(.notJoined) }
    guard model.isCurrent, let topic = model.topic else { return .wait }
    let epoch = model.replica.epoch
    return barrier.epoch == 0 || barrier.epoch == epoch ? .ask(topic, epoch) : .end(.otherEpoch)
  }

  mutating func handle(_ awaited: Awaited, _ output: inout PeerOutput) {
    guard awaited.session == sessionID, let id = barriers.answered(awaited.request) else { return }
    output.add(.awaited(id, BarrierEnd(awaited)))
  }

  // MARK: Reporting applied versions

  /// Records that a diverged replica was replaced.
  mutating func recordHealed(at index: Int) {
    guard models[at: index].isHealing else { return }
    models[at: index].isHealing = false
    models[at: index].healed += 1
    if hubAsks { reports.ask(for: 0, of: models.keys[index]) }
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
