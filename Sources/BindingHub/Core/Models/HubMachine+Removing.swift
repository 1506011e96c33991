import BindingProtocol

/// A model on its way out of the log.
struct Removal {
  /// Whether the store has its batch; until then it may be needed again, and stays.
  var isUnderWay = false
  /// Joins that came meanwhile: they are for the model that is made after it.
  var joins: [(session: SessionID, join: Join)] = []
}

/// What the hub knows of models that are gone, and which are going.
struct Removals {
  var floor = LogFloor.none
  /// That of ephemeral lines, which have a life of their own.
  var ephemeralFloor: Version = 0
  /// Models to be removed, and how many of them the store has now.
  var waiting: [Int] = []
  var underWay = 0
  static let most = 256
  /// Places without a model: those that may be taken, and those that something may still point at until the next
  /// heartbeat.
  var free: [Int] = []
  var freed: [Int] = []
  /// Of a model that is not there, who comes with no more than this is not asked for it: it was removed.
  var recoveredBefore = RecoveryPoint.beginning
  /// Models that were removed while peers may still be asked for what this hub lacks: nobody is asked for them.
  var names: Set<String> = []
  static let mostNames = 100_000
}

/// Models that are deleted wholly go, and give back their name, their room and their memory.
///
/// A model goes when nothing in it has a value, no session has joined it, and every identity that has a mark in it has
/// confirmed all that was decided of it: then no repeat of a proposal can come, and a join tells where that identity
/// stands (R8). What a peer may still have of it lies below the floor at which later models begin.
extension HubMachine {
  // MARK: Making

  /// - Parameter beginning: where its log begins; that of a model that is restored says so itself.
  mutating func makeModel(_ id: String, ephemeral: EphemeralState? = nil, from beginning: LogFloor) -> Int {
    let index = removals.free.popLast() ?? models.count
    let model = ModelLog(
      id: id, topic: topics.assign(index), ephemeral: ephemeral, beginning: beginning, pool: batchPool)
    if index < models.count {
      models[index] = model
    } else {
      models.append(model)
      isTouched.append(false)
    }
    modelIndex[id] = index
    return index
  }

  /// A model that nobody has written, for who joins it.
  mutating func makeModel(_ id: String) -> Int {
    let index = makeModel(id, from: removals.floor)
    let floor = RecoveryPoint(epoch: epoch, version: removals.floor.version)
    let point = removals.names.contains(id) ? floor : removals.recoveredBefore
    if point > .beginning { models[index].storedFrom = point }
    return index
  }

  /// The model of that id for who joins it, where there is room for one more.
  mutating func makeModelIfRoom(_ id: String, for maker: Tag) throws(Refusal) -> Int {
    // An ephemeral line may come with its model.
    let count = Names.isEphemeral(id) && modelIndex[Names.model(ofEphemeral: id)] == nil ? 2 : 1
    let limit = configuration.limits.maxModels
    guard modelIndex.count + count <= limit else {
      throw Refusal(
        .modelFull,
        "there are \(modelIndex.count) models; maxModels is \(limit). Delete some that nobody needs, and leave them")
    }
    let share = configuration.maxModelsPerPeer ?? max(1, limit / 2)
    let made = sessions.identities[maker]?.made ?? 0
    guard made < share || limit < HubMachine.fewModels else {
      throw Refusal(
        .modelFull,
        "this peer has made \(made) models; maxModelsPerPeer is \(share). Delete some that nobody needs, and leave them"
      )
    }
    guard topics.hasRoom else { throw Refusal(.modelFull, "no topic is left. Start the hub again") }
    let index = Names.isEphemeral(id) ? makeEphemeralModel(id) : makeModel(id)
    models[index].maker = maker
    sessions.identities[maker]?.made += 1
    return index
  }

  /// A hub that is to hold fewer models than this may have one peer make all of them.
  private static let fewModels = 1_000

  // MARK: Going

  /// A session has left a model, or nobody is to ask about its numbers any more: it is looked at when the drain ends.
  mutating func touchIfLeft(_ index: Int) {
    if models[index].sessions.isEmpty, models[index] !== retired { touch(index) }
  }

  /// Takes a model out that nobody needs: at once if the store has nothing of it, else when it has the batch that says
  /// so.
  mutating func removeIfGone(_ index: Int) {
    let model = models[index]
    guard model !== retired, model.removal == nil, isGone(index) else { return }
    if model.ephemeral != nil || !model.hasRecords {
      remove(index)
    } else {
      model.removal = Removal()
      removals.waiting.append(index)
    }
  }

  private func isGone(_ index: Int) -> Bool {
    let model = models[index]
    guard model.sessions.isEmpty, model.fields.valueCount == 0, model.isSettled, !model.isBusy, model.waiting.isEmpty,
      !model.hasForgottenWriter,
      model.counterpart == nil || model.ephemeral != nil, !returning.contains(where: { $0.model == index })
    else { return false }
    // Numbers that replicas have seen and this log has not decided are not to be carried out.
    guard model.seenNumbers.allSatisfy({ model.lastStored(of: $0.key) >= $0.value }) else { return false }
    return model.writers.allSatisfy { $0.origin.tag == .none || $0.isConfirmed }
  }

  /// Has the store remove some of those that wait for it.
  mutating func removeWaiting(_ time: HubTime, _ output: inout HubOutput) {
    while removals.underWay < Removals.most, !removals.waiting.isEmpty, time.monotonic >= sequencer.storeFullUntil {
      let index = removals.waiting.removeLast()
      let model = models[index]
      guard isGone(index) else {
        model.removal = nil
        continue
      }
      model.removal?.isUnderWay = true
      model.isAppending = true
      removals.underWay += 1
      output.batches.append(
        .removal(of: model.id, record: model.records + 1, epoch: epoch, version: model.version))
    }
  }

  /// The place of a model, or of that of an ephemeral line, which the store is removing.
  func indexOfRemoval(_ name: String) -> Int? {
    guard removals.underWay > 0 else { return nil }
    let index = modelIndex[Names.isEphemeral(name) ? Names.model(ofEphemeral: name) : name]
    return index.flatMap { models[$0].removal?.isUnderWay == true ? $0 : nil }
  }

  /// The store has removed a model. Who has joined it meanwhile has joined the one that is made now.
  mutating func removed(_ batch: Batch, _ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    let joins = models[index].removal?.joins ?? []
    removals.underWay -= 1
    removals.floor.raise(over: batch)
    sequencer.counters.removedModels += 1
    if configuration.recovery, !tailProven { recordRemoved(batch.model) }
    remove(index)
    for (session, join) in joins { joinModel(join, session, time, &output) }
  }

  /// While peers are asked for what this hub lacks, it remembers what was removed, so that it is not brought back. Of
  /// more than so many models it asks nobody for what it does not have.
  private mutating func recordRemoved(_ name: String) {
    removals.names.insert(name)
    if removals.names.count > Removals.mostNames { recoverNoRemoved() }
  }

  /// From here on nobody is asked for a model that is not there, unless it has more than the floor.
  mutating func recoverNoRemoved() {
    removals.recoveredBefore = RecoveryPoint(epoch: epoch, version: removals.floor.version)
    removals.names.removeAll()
  }

  /// A model whose removal was not stored is as it was.
  mutating func keepRemoved(_ index: Int, _ time: HubTime, _ output: inout HubOutput) {
    guard let removal = models[index].removal, removal.isUnderWay else { return }
    removals.underWay -= 1
    models[index].removal = nil
    touch(index)
    for (session, join) in removal.joins { joinModel(join, session, time, &output) }
  }

  /// Takes a model out of memory. Its topic is never used again, its place is.
  private mutating func remove(_ index: Int) {
    let model = models[index]
    modelIndex[model.id] = nil
    topics.release(model.topic)
    models[index] = retired
    for writer in model.writers { sessions.identities[writer.origin.tag]?.models.remove(index) }
    if let maker = model.maker { sessions.identities[maker]?.made -= 1 }
    recentlyChanged.remove(index)
    for position in verifications.indices { verifications[position].models.removeAll { $0.model == index } }
    removals.freed.append(index)
    guard model.ephemeral != nil, let stored = model.counterpart else { return }
    ephemeralModels.removeAll { $0 == index }
    removals.ephemeralFloor = max(removals.ephemeralFloor, model.version)
    (models[stored].counterpart, models[stored].owner) = (nil, nil)
    touch(stored)
  }
}
