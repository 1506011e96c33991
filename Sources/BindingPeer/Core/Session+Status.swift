import BindingProtocol

/// How a field stands, as numbers. Times are milliseconds on the session's clock.
struct FieldSyncState: Sendable {
  /// At which the committed value was set; of a field without one, up to which that is known.
  var version: Version = 0
  /// Since when the committed values may be old; nil while they are complete and the link is up.
  var staleSince: UInt64?
  /// Since when the oldest write of ours lies over it.
  var pendingSince: UInt64?
  var isInFlight = false
  /// Writes of ours over it that wait to be sent, or to be sent again.
  var waiting: [WriteID] = []
}

/// How a model stands.
struct ModelSyncState: Sendable {
  var version: Version = 0
  var staleSince: UInt64?
  var pendingSince: UInt64?
  var unconfirmed = 0
  var inFlight = 0
  /// The first writes that wait to be sent, or to be sent again; few of them.
  var waiting: [WriteID] = []
  var refusal: JoinRefusal?
}

extension Session {
  func syncState(of field: String, in id: String) -> FieldSyncState {
    var syncState = FieldSyncState(version: fieldRecord(id, field)?.version ?? 0, staleSince: staleSince(id))
    for write in models[id]?.outbox.writes(over: field) ?? [] where !write.isHidden {
      syncState.pendingSince = min(syncState.pendingSince ?? .max, write.writtenAt)
      if write.number != nil { syncState.isInFlight = true }
      if write.needsSending, write.isUnacknowledged { syncState.waiting.append(write.id) }
    }
    return syncState
  }

  func syncState(of id: String) -> ModelSyncState {
    guard let model = models[id] else { return ModelSyncState(staleSince: staleSince(id)) }
    var syncState = ModelSyncState(version: model.replica.version, staleSince: staleSince(id))
    syncState.unconfirmed = model.outbox.unacknowledged
    syncState.inFlight = model.outbox.inFlight
    syncState.refusal = model.refusal
    guard let oldest = model.outbox.oldestUnacknowledged else { return syncState }
    syncState.pendingSince = oldest.writtenAt
    // Writes leave in their order: if the oldest is not put off, none is.
    if oldest.needsSending { syncState.waiting = [oldest.id] }
    return syncState
  }

  private func staleSince(_ id: String) -> UInt64? {
    isCurrent(id) ? nil : models[id]?.staleSince ?? silentSince
  }
}
