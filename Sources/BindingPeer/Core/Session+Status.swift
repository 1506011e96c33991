import BindingProtocol

/// How a field stands, as numbers. Times are milliseconds on the session's clock.
struct FieldStanding: Sendable {
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
struct ModelStanding: Sendable {
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
  func standing(of field: String, in id: String) -> FieldStanding {
    var standing = FieldStanding(version: fieldRecord(id, field)?.version ?? 0, staleSince: staleSince(id))
    for write in models[id]?.outbox.writes(over: field) ?? [] where !write.isHidden {
      standing.pendingSince = min(standing.pendingSince ?? .max, write.writtenAt)
      if write.number != nil { standing.isInFlight = true }
      if write.needsSending, write.isUnacknowledged { standing.waiting.append(write.id) }
    }
    return standing
  }

  func standing(of id: String) -> ModelStanding {
    guard let model = models[id] else { return ModelStanding(staleSince: staleSince(id)) }
    var standing = ModelStanding(version: model.replica.version, staleSince: staleSince(id))
    standing.unconfirmed = model.outbox.unacknowledged
    standing.inFlight = model.outbox.inFlight
    standing.refusal = model.refusal
    guard let oldest = model.outbox.oldestUnacknowledged else { return standing }
    standing.pendingSince = oldest.writtenAt
    // Writes leave in their order: if the oldest is not put off, none is.
    if oldest.needsSending { standing.waiting = [oldest.id] }
    return standing
  }

  private func staleSince(_ id: String) -> UInt64? {
    isCurrent(id) ? nil : models[id]?.staleSince ?? silentSince
  }
}
