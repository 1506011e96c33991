import BindingProtocol

/// Models of a log that several hubs share, which no session has joined here, in the order of being left. The log has
/// all of them, so a hub keeps only those that are used.
struct UnusedModels {
  private var waiting: [(model: ModelLog, since: UInt64)] = []

  /// A model is not used, from now on.
  mutating func add(_ model: ModelLog, now: UInt64) {
    guard !model.batch.shared.isUnused else { return }
    model.batch.shared.isUnused = true
    waiting.append((model, now))
  }

  /// Takes the models that were left at this time or before.
  mutating func take(leftBy time: UInt64) -> [ModelLog] {
    let taken = waiting.prefix { $0.since <= time }.map(\.model)
    waiting.removeFirst(taken.count)
    for model in taken { model.batch.shared.isUnused = false }
    return taken
  }
}

extension HubMachine {
  /// Lets models go that no session has joined for long.
  mutating func letUnusedGo(now: UInt64) {
    let kept = hub.configuration.unusedMilliseconds
    if now >= kept { letUnusedGo(leftBy: now - kept) }
  }

  /// Lets models go that no session has joined since then, nor a prefix of them.
  mutating func letUnusedGo(leftBy time: UInt64) {
    for model in shared?.unused.take(leftBy: time) ?? [] {
      guard let index = hub.models.index(named: model.id), hub.models[index] === model,
        model.members.sessions.isEmpty
      else { continue }
      if isWatched(model.id) {
        shared?.unused.add(model, now: hub.lastTick)
      } else if !hub.models.isTouched(index), isUnused(model, index) {
        hub.counters.modelsLetGo += 1
        remove(index)
      }
    }
  }

  /// Whether nothing here needs a model. What needs it now touches it in the end, and it is looked at again.
  private func isUnused(_ model: ModelLog, _ index: Int) -> Bool {
    model.members.sessions.isEmpty && model.members.waitingJoins.isEmpty && model.batch.waiting.isEmpty
      && model.isSettled && !model.isBusy && model.removal == nil && model.ephemeral == nil
      && model.counterpart == nil && model.position.tail != nil && !expiries.hasTerms(of: index)
      && !presence.isAwaited(in: index)
  }

  /// A model that a join has named is in the log: its peer has not made it.
  mutating func unmake(_ model: ModelLog) {
    if let maker = model.members.maker { hub.sessions.identities[maker]?.made -= 1 }
    model.members.makerUsage?.models -= 1
    (model.members.maker, model.members.makerUsage) = (nil, nil)
  }
}
