import BindingProtocol

/// The removal of a model from the log.
struct Removal {
  /// Whether the store has its batch. Until then the model may be needed again, and stays.
  var isUnderWay = false
  /// Joins that arrived meanwhile. They are for the model that is made after the removal.
  var joins: [(session: SessionID, join: Join)] = []
}

/// Models without use, on their way out of the store and of memory.
///
/// A model that is deleted entirely gives back its name, its topic's room and its memory. It is removed when no field
/// has a value, no session has joined it, and every identity with a last decided number in it has confirmed all its
/// outcomes. Then no proposal can be repeated, and a join names the identity's number (R8). A replica of it that a
/// peer still has is below the floor at which later models begin.
struct ModelRemovals {
  /// Models to remove, and how many removals the store has now.
  private var waiting: [Int] = []
  private var underWay = 0
  private static let most = 256

  /// Removes a model without use: immediately if the store has nothing of it, else once the store has the batch
  /// that removes it.
  /// - Returns: whether to remove it immediately.
  mutating func removeIfGone(_ index: Int, _ presence: PresenceTable, _ hub: inout HubContext) -> Bool {
    let model = hub.models[index]
    guard !hub.models.isRemoved(index), model.removal == nil,
      ModelRemovals.isGone(index, presence, &hub)
    else { return false }
    if model.ephemeral != nil || !model.position.hasRecords { return true }
    // Peers of other hubs may have joined it. Only a hub whose own peers have left removes it from a shared log: else
    // one without peers would end their sessions again and again.
    if hub.configuration.isShared, !model.members.wasJoined { return true }
    model.removal = Removal()
    waiting.append(index)
    return false
  }

  private static func isGone(_ index: Int, _ presence: PresenceTable, _ hub: inout HubContext) -> Bool {
    let model = hub.models[index]
    // What is in a part is in the ephemeral model too.
    if model.ephemeral?.whole != nil { return model.members.sessions.isEmpty && model.isSettled }
    guard model.members.sessions.isEmpty, model.ephemeral?.part == nil, model.fields.valueCount == 0, model.isSettled,
      !model.isBusy,
      model.batch.waiting.isEmpty,
      !model.writers.hasForgottenUnconfirmed, model.counterpart == nil || model.ephemeral != nil,
      !presence.isAwaited(in: index), !hub.configuration.isShared || model.approval.recorded == nil
    else { return false }
    // Proposals that replicas saw decided and this log did not must end as unknown: the model stays to remember
    // them.
    guard model.writers.seenNumbers.allSatisfy({ model.writers.lastStored(of: $0.key) >= $0.value }) else {
      return false
    }
    return model.writers.records.allSatisfy { $0.origin.tag == .none || $0.isConfirmed }
  }

  /// Sends waiting removals to the store, at most `most` at a time.
  mutating func send(_ presence: PresenceTable, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    while underWay < ModelRemovals.most, !waiting.isEmpty, time.monotonic >= hub.storeFullUntil {
      let index = waiting.removeLast()
      let model = hub.models[index]
      // Meanwhile another hub may have removed it.
      guard model.removal != nil, ModelRemovals.isGone(index, presence, &hub) else {
        model.removal = nil
        continue
      }
      model.removal?.isUnderWay = true
      model.batch.isAppending = true
      underWay += 1
      output.batches.append(
        .removal(of: model.id, record: model.position.record + 1, epoch: hub.epoch, version: model.version))
    }
  }

  /// Keeps a join of a model, or of the ephemeral model of one, that the store is removing.
  /// - Returns: whether it is kept, for the model that is made after the removal.
  func keep(_ join: Join, of session: SessionID, _ hub: inout HubContext) -> Bool {
    guard underWay > 0 else { return false }
    let name = Names.storedModel(of: join.name)
    guard let index = hub.models.index(named: name), hub.models[index].removal?.isUnderWay == true else {
      return false
    }
    hub.models[index].removal?.joins.append((session, join))
    return true
  }

  /// The store has removed the model, or kept it.
  /// - Returns: the joins that arrived meanwhile; nil: no removal was under way.
  mutating func end(_ model: ModelLog) -> [(session: SessionID, join: Join)]? {
    guard let removal = model.removal, removal.isUnderWay else { return nil }
    underWay -= 1
    model.removal = nil
    return removal.joins
  }
}
