import BindingProtocol

/// The synchronization state of a field. Times are milliseconds on the session's clock, negative before it began.
struct FieldSyncState: Sendable {
  /// The version at which the committed value was set; for a field without one, the version up to which that is
  /// known.
  var version: Version = 0
  /// When the committed values became possibly stale; nil while they are complete and the link is up.
  var staleSince: Int64?
  /// Since when the default shows because nothing was heard of the hub; nil: it does not.
  var expiredSince: UInt64?
  /// When the oldest write that overlays the field was made; nil if none does.
  var pendingSince: UInt64?
  var isInFlight = false
  /// The overlaying writes that wait to be sent or resent.
  var waiting: [WriteID] = []

  init() {}

  init(of field: String, in model: ModelSync?, staleSince: Int64?) {
    self.staleSince = staleSince
    guard let model else { return }
    version = model.record(of: field)?.version ?? 0
    if !model.expiring.isEmpty { expiredSince = model.expiring.stale[field] }
    for write in model.writes.writes(over: field) { add(write) }
    guard let listed = model.listVersion(field) else { return }
    version = max(version, listed)
    for write in model.writes.writes(toElementsOf: field) { add(write) }
  }

  private mutating func add(_ write: Pending) {
    guard !write.isHidden else { return }
    pendingSince = min(pendingSince ?? .max, write.writtenAt)
    if write.number != nil { isInFlight = true }
    if write.sending.isDue, write.isUnacknowledged { waiting.append(write.id) }
  }
}

/// The synchronization state of a model. Times are milliseconds on the session's clock, negative before it began.
struct ModelSyncState: Sendable {
  var version: Version = 0
  var staleSince: Int64?
  var pendingSince: UInt64?
  var unconfirmed = 0
  var inFlight = 0
  /// The oldest unacknowledged write, if it waits to be sent or resent.
  var waiting: [WriteID] = []
  var refusal: JoinRefusal?
  var isReadOnly = false

  init() {}

  init(of model: ModelSync?, staleSince: Int64?) {
    self.staleSince = staleSince
    guard let model else { return }
    version = model.replica.version
    unconfirmed = model.writes.unacknowledged
    inFlight = model.writes.inFlight
    refusal = model.join.refusal
    isReadOnly = model.join.rights?.isReadOnly ?? false
    guard let oldest = model.writes.oldestUnacknowledged else { return }
    pendingSince = oldest.writtenAt
    // Writes leave in their order: if the oldest does not wait, none does.
    if oldest.sending.isDue { waiting = [oldest.id] }
  }
}
