import BindingProtocol

/// The synchronization state of a field. Times are milliseconds on the session's clock.
struct FieldSyncState: Sendable {
  /// The version at which the committed value was set; for a field without one, the version up to which that is
  /// known.
  var version: Version = 0
  /// When the committed values became possibly stale; nil while they are complete and the link is up.
  var staleSince: UInt64?
  /// When the oldest write that overlays the field was made; nil if none does.
  var pendingSince: UInt64?
  var isInFlight = false
  /// The overlaying writes that wait to be sent or resent.
  var waiting: [WriteID] = []
}

/// The synchronization state of a model. Times are milliseconds on the session's clock.
struct ModelSyncState: Sendable {
  var version: Version = 0
  var staleSince: UInt64?
  var pendingSince: UInt64?
  var unconfirmed = 0
  var inFlight = 0
  /// The oldest unacknowledged write, if it waits to be sent or resent.
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
    // Writes leave in their order: if the oldest does not wait, none does.
    if oldest.needsSending { syncState.waiting = [oldest.id] }
    return syncState
  }

  private func staleSince(_ id: String) -> UInt64? {
    isCurrent(id) ? nil : models[id]?.staleSince ?? silentSince
  }
}
