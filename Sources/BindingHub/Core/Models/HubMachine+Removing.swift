import BindingProtocol

/// The removal of a model from the log.
struct Removal {
  /// Whether the store has its batch. Until then the model may be needed again, and stays.
  var isUnderWay = false
  /// Joins that arrived meanwhile. They are for the model that is made after the removal.
  var joins: [(session: SessionID, join: Join)] = []
}

/// What the hub knows of removed models and of those being removed.
struct Removals {
  var floor = LogFloor.none
  /// The floor of ephemeral models, which have an epoch of their own.
  var ephemeralFloor: Version = 0
  /// Models to remove, and how many removals the store has now.
  var waiting: [Int] = []
  var underWay = 0
  static let most = 256
  /// For a model that is not here, a replica at or before this point is not asked for: the model was removed.
  var recoveredBefore = RecoveryPoint.beginning
  /// Models that were removed while peers may still be asked for what this hub lacks; no peer is asked for these.
  var names: Set<String> = []
  static let mostNames = 100_000
}

/// A model that is deleted entirely gives back its name, its topic's room and its memory.
///
/// A model is removed when no field has a value, no session has joined it, and every identity with a last decided
/// number in it has confirmed all its outcomes. Then no proposal can be repeated, and a join names the identity's
/// number (R8). A replica of it that a peer still has is below the floor at which later models begin.
extension HubMachine {
  // MARK: Making models

  /// Makes a model without commits, for the first join that names it.
  mutating func makeModel(_ id: String) -> Int {
    let index = hub.models.make(id, from: removals.floor)
    let floor = RecoveryPoint(epoch: hub.epoch, version: removals.floor.version)
    let point = removals.names.contains(id) ? floor : removals.recoveredBefore
    if point > .beginning { hub.models[index].storedFrom = point }
    return index
  }

  /// Makes the model that a join names.
  /// - Throws: `Refusal` when the hub has no room for one more.
  mutating func makeModelIfRoom(_ id: String, for maker: Tag) throws(Refusal) -> Int {
    // An ephemeral model may need its stored model made too.
    let count = Names.isEphemeral(id) && hub.models.index(named: Names.model(ofEphemeral: id)) == nil ? 2 : 1
    let (present, limit) = (hub.models.namedCount, hub.configuration.limits.maxModels)
    guard present + count <= limit else {
      throw Refusal(
        .modelFull,
        "there are \(present) models; maxModels is \(limit). Delete some that nobody needs, and leave them")
    }
    let share = hub.configuration.maxModelsPerPeer ?? max(1, limit / 2)
    let made = hub.sessions.identities[maker]?.made ?? 0
    guard made < share || limit < HubMachine.fewModels else {
      throw Refusal(
        .modelFull,
        "this peer has made \(made) models; maxModelsPerPeer is \(share). Delete some that nobody needs, and leave them"
      )
    }
    guard hub.models.hasTopics else { throw Refusal(.modelFull, "no topic is left. Start the hub again") }
    let index = Names.isEphemeral(id) ? makeEphemeralModel(id) : makeModel(id)
    hub.models[index].maker = maker
    hub.sessions.identities[maker]?.made += 1
    return index
  }

  /// A hub limited to fewer models than this lets one peer make all of them.
  private static let fewModels = 1_000

  // MARK: Removing models

  /// A session has left the model, or an identity was forgotten: the end of the drain checks whether the model is
  /// gone.
  mutating func touchIfLeft(_ index: Int) {
    if hub.models[index].sessions.isEmpty, !hub.models.isRemoved(index) { hub.models.touch(index) }
  }

  /// Removes a model without use: immediately if the store has nothing of it, else once the store has the batch
  /// that removes it.
  mutating func removeIfGone(_ index: Int) {
    let model = hub.models[index]
    guard !hub.models.isRemoved(index), model.removal == nil, isGone(index) else { return }
    if model.ephemeral != nil || !model.hasRecords {
      remove(index)
    } else {
      model.removal = Removal()
      removals.waiting.append(index)
    }
  }

  private func isGone(_ index: Int) -> Bool {
    let model = hub.models[index]
    guard model.sessions.isEmpty, model.fields.valueCount == 0, model.isSettled, !model.isBusy, model.waiting.isEmpty,
      !model.hasForgottenWriter,
      model.counterpart == nil || model.ephemeral != nil, !returning.contains(where: { $0.model == index })
    else { return false }
    // Proposals that replicas saw decided and this log did not must end as unknown: the model stays to remember
    // them.
    guard model.seenNumbers.allSatisfy({ model.lastStored(of: $0.key) >= $0.value }) else { return false }
    return model.writers.allSatisfy { $0.origin.tag == .none || $0.isConfirmed }
  }

  /// Sends waiting removals to the store, at most `Removals.most` at a time.
  mutating func removeWaiting(_ time: HubTime, _ output: inout HubOutput) {
    while removals.underWay < Removals.most, !removals.waiting.isEmpty, time.monotonic >= hub.storeFullUntil {
      let index = removals.waiting.removeLast()
      let model = hub.models[index]
      guard isGone(index) else {
        model.removal = nil
        continue
      }
      model.removal?.isUnderWay = true
      model.isAppending = true
      removals.underWay += 1
      output.batches.append(
        .removal(of: model.id, record: model.records + 1, epoch: hub.epoch, version: model.version))
    }
  }

  /// The index of a model, or of an ephemeral model's stored model, that the store is removing.
  func indexOfRemoval(_ name: String) -> Int? {
    guard removals.underWay > 0 else { return nil }
    let index = hub.models.index(named: Names.isEphemeral(name) ? Names.model(ofEphemeral: name) : name)
    return index.flatMap { hub.models[$0].removal?.isUnderWay == true ? $0 : nil }
  }

  /// The store has removed a model. Joins that arrived meanwhile make a new one.
  mutating func removed(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let joins = hub.models[index].removal?.joins ?? []
    removals.underWay -= 1
    removals.floor.raise(over: batch)
    hub.counters.removedModels += 1
    if hub.configuration.recovery, !tailProven { recordRemoved(batch.model) }
    remove(index)
    for (session, join) in joins { joinModel(join, session, time, &output) }
  }

  /// Remembers a removed model while peers may be asked for what this hub lacks, so that it is not recovered. Past
  /// `Removals.mostNames` no missing model is asked for.
  private mutating func recordRemoved(_ name: String) {
    removals.names.insert(name)
    if removals.names.count > Removals.mostNames { recoverNoRemoved() }
  }

  /// From now on no peer is asked for a missing model, unless its replica is beyond the floor.
  mutating func recoverNoRemoved() {
    removals.recoveredBefore = RecoveryPoint(epoch: hub.epoch, version: removals.floor.version)
    removals.names.removeAll()
  }

  /// Keeps a model whose removal was not stored.
  mutating func keepRemoved(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard let removal = hub.models[index].removal, removal.isUnderWay else { return }
    removals.underWay -= 1
    hub.models[index].removal = nil
    hub.models.touch(index)
    for (session, join) in removal.joins { joinModel(join, session, time, &output) }
  }

  /// Removes a model from memory. Its topic is never reused; its index is.
  private mutating func remove(_ index: Int) {
    let model = hub.models[index]
    hub.models.remove(index)
    for writer in model.writers { hub.sessions.identities[writer.origin.tag]?.models.remove(index) }
    if let maker = model.maker { hub.sessions.identities[maker]?.made -= 1 }
    recentlyChanged.remove(index)
    for position in verifications.indices { verifications[position].models.removeAll { $0.model == index } }
    guard model.ephemeral != nil, let stored = model.counterpart else { return }
    ephemeralModels.removeAll { $0 == index }
    removals.ephemeralFloor = max(removals.ephemeralFloor, model.version)
    (hub.models[stored].counterpart, hub.models[stored].owner) = (nil, nil)
    hub.models.touch(stored)
  }
}
