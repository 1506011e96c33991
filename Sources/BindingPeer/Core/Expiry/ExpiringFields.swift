import BindingProtocol

/// The fields of a model that expire (protocol.md §8.1), those that show their default because nothing was heard of the
/// hub, and when unanswered writes of them become too old. Times are milliseconds on the session's clock.
struct ExpiringFields: Sendable {
  /// As the program declares them, and as the model's description does.
  private var declared: [String: FieldExpiry] = [:]
  private var described: [String: FieldExpiry] = [:]
  /// The limits of both. Where both have one the shorter counts, and the described default.
  private(set) var limits: [String: FieldExpiry] = [:]
  /// The fields that show their default instead of the committed value, and since when.
  private(set) var stale: [String: UInt64] = [:]
  var lapses = WriteLapses()

  var isEmpty: Bool { limits.isEmpty }

  /// - Returns: whether any limit has changed.
  mutating func declare(_ declared: [String: FieldExpiry]) -> Bool {
    self.declared.merge(declared) { _, later in later }
    return join()
  }

  /// - Returns: whether any limit has changed.
  mutating func describe(_ described: [String: FieldExpiry]) -> Bool {
    self.described = described
    return join()
  }

  private mutating func join() -> Bool {
    let before = limits
    limits = declared.merging(described) { declared, described in
      FieldExpiry(
        milliseconds: min(declared.milliseconds, described.milliseconds), fallback: described.fallback)
    }
    return before.count != limits.count || limits.contains { name, limit in before[name]?.isSame(as: limit) != true }
  }

  /// How long a write of these fields may wait: the shortest limit of one; nil: for ever.
  func limit(of operations: [FieldOperation]) -> UInt64? {
    var least: UInt64?
    for operation in operations {
      guard let limit = limits[operation.field] else { continue }
      // A default that is proposed at first does no harm later, and the description comes with it.
      if operation.verb == .setIfAbsent, limit.isFallback(operation.value) { continue }
      least = min(least ?? .max, limit.milliseconds)
    }
    return least
  }

  /// For how long after the hub was last heard a committed value shows. A hub is heard with each heartbeat: of a limit
  /// that is hardly longer, one late heartbeat would be the end.
  static func patience(_ limit: FieldExpiry, heartbeat: UInt64) -> UInt64 { max(limit.milliseconds, heartbeat * 5 / 2) }

  /// Shows a field's default from now on, or again the committed value.
  /// - Returns: whether that is new.
  fileprivate mutating func show(_ isStale: Bool, _ field: String, now: UInt64) -> Bool {
    guard isStale != (stale[field] != nil) else { return false }
    stale[field] = isStale ? now : nil
    return true
  }
}

/// When writes become too old.
struct WriteLapses: Sendable {
  private var entries: [(at: UInt64, write: WriteID)] = []
  /// When the next one does; an entry may outlive its write.
  private(set) var next = UInt64.max
  var count: Int { entries.count }

  /// - Parameter writes: the pending writes: entries of others are dropped once they are most of all.
  mutating func add(_ write: WriteID, at time: UInt64, among writes: WriteQueue) {
    entries.append((time, write))
    next = min(next, time)
    if entries.count > 2 * writes.count + 64 { entries.removeAll { writes[$0.write] == nil && $0.write != write } }
  }

  /// Removes the writes whose time has come.
  mutating func take(at now: UInt64) -> [WriteID] {
    let due = entries.filter { $0.at <= now }.map(\.write)
    entries.removeAll { $0.at <= now }
    next = entries.lazy.map(\.at).min() ?? .max
    return due
  }
}

extension ModelSync {
  /// What shows of the replica's field at an index where no pending write overlays it.
  func base(at index: Int) -> FieldValue? {
    guard !expiring.stale.isEmpty, expiring.stale[replica.fields[index].name] != nil else {
      return replica.fields[index].value
    }
    return expiring.limits[replica.fields[index].name]?.fallback
  }

  /// Reads the limits of the description that the replica holds.
  /// - Returns: whether any limit has changed.
  fileprivate mutating func learnLimits() -> Bool {
    let value = replica.descriptionIndex.flatMap { replica.fields[$0].value }
    let rules = value.flatMap { value in value.bytes.withUnsafeBytes { try? ModelRules(describedBy: $0) } }
    return expiring.describe(rules?.expiring ?? [:])
  }

  /// Applies changed limits to the pending writes. How old a write of an earlier run is, nobody knows: it is too old.
  fileprivate mutating func limitWrites(_ context: SessionContext) {
    for id in writes.order {
      guard let write = writes[id], write.isUnacknowledged else { continue }
      let limit = expiring.limit(of: write.overlay)
      writes.update(id) { $0.sending.limit = limit }
      guard let limit else { continue }
      let isEarlier = context.isResumed || write.carried != nil
      expiring.lapses.add(id, at: isEarlier ? 0 : write.writtenAt + limit, among: writes)
    }
  }

  /// Ends the writes that are too old, and shows the default of each field whose term has passed since the hub was
  /// heard, or again the committed value.
  /// - Parameter heardAt: when the hub was last heard of this model; nil: never.
  fileprivate mutating func expire(
    now: UInt64, heardAt: UInt64?, heartbeat: UInt64, _ context: inout SessionContext, _ effects: inout PeerEffects
  ) {
    if expiring.lapses.next <= now { lapse(now: now, &context, &effects) }
    for (field, limit) in expiring.limits {
      guard let index = replica.index(of: field) else { continue }
      let isStale =
        !limit.isFallback(replica.fields[index].value) && replica.fields[index].value != nil
        && heardAt.map { now >= $0 + ExpiringFields.patience(limit, heartbeat: heartbeat) } ?? true
      guard expiring.show(isStale, field, now: now) else { continue }
      replica.touch(index)
      update.record(.expired)
    }
    for field in expiring.stale.keys where expiring.limits[field] == nil {
      _ = expiring.show(false, field, now: now)
      touch(field)
      update.record(.expired)
    }
  }

  /// When `expire` is due.
  fileprivate func nextExpiry(heardAt: UInt64?, heartbeat: UInt64) -> UInt64 {
    var deadline = expiring.lapses.next
    guard let heardAt else { return deadline }
    for (field, limit) in expiring.limits where expiring.stale[field] == nil {
      guard let value = replica.field(field)?.value, !limit.isFallback(value) else { continue }
      deadline = min(deadline, heardAt + ExpiringFields.patience(limit, heartbeat: heartbeat))
    }
    return deadline
  }

  /// Ends writes that waited longer than their limit. The hub may have one that was sent: it is asked not to apply it,
  /// and the write shows no longer.
  private mutating func lapse(now: UInt64, _ context: inout SessionContext, _ effects: inout PeerEffects) {
    let late = expiring.lapses.take(at: now)
    for id in late {
      guard let write = writes[id], write.isUnacknowledged, let limit = write.sending.limit else { continue }
      // The limit may have become longer.
      let isEarlier = context.isResumed || write.carried != nil
      guard isEarlier || now >= write.writtenAt + limit else {
        expiring.lapses.add(id, at: write.writtenAt + limit, among: writes)
        continue
      }
      if write.carried == nil, write.number == nil {
        end(id, as: .expired, &context)
        continue
      }
      touch(write.overlay)
      update.record(.outcome)
      writes.update(id) {
        $0.sending.hasLapsed = true
        $0.isHidden = true
      }
      if write.carried == nil { _ = withdraw(id, &context, &effects) }
    }
  }
}

extension Session {
  /// The program declares fields of a model that expire; their limits hold before a hub has described the model.
  package mutating func declare(
    _ limits: [String: FieldExpiry], in id: String, now: UInt64, into effects: inout PeerEffects
  ) {
    guard !limits.isEmpty, let index = models.index(of: id), models[at: index].expiring.declare(limits) else { return }
    limitsChanged(at: index, now: now, &effects)
  }

  /// Whether the hub carries out time limits; nil: there is none.
  package var hubExpires: Bool? { connection.welcome.map { $0.capabilities.contains(Capability.expires) } }

  /// Adopts the limits of a description that has changed.
  mutating func learnLimits(at index: Int, now: UInt64, _ effects: inout PeerEffects) {
    if !models[at: index].isEphemeral, models[at: index].learnLimits() { limitsChanged(at: index, now: now, &effects) }
  }

  private mutating func limitsChanged(at index: Int, now: UInt64, _ effects: inout PeerEffects) {
    let id = models.keys[index]
    if models[at: index].expiring.isEmpty { expiringModels.remove(id) } else { expiringModels.insert(id) }
    models[at: index].limitWrites(context)
    expire(at: index, now: now, &effects)
  }

  /// Ends what has become too old in all models with fields that expire. Must precede every update and every sending.
  mutating func expire(now: UInt64, _ effects: inout PeerEffects) {
    for id in expiringModels.sorted() {
      if let index = models.index(of: id) { expire(at: index, now: now, &effects) }
    }
  }

  private mutating func expire(at index: Int, now: UInt64, _ effects: inout PeerEffects) {
    models[at: index].expire(
      now: now, heardAt: heardAt(index), heartbeat: connection.heartbeatMilliseconds, &context, &effects)
  }

  /// When `expire` is due.
  var nextExpiry: UInt64 {
    var deadline = UInt64.max
    for id in expiringModels {
      guard let index = models.index(of: id) else { continue }
      let next = models[at: index].nextExpiry(heardAt: heardAt(index), heartbeat: connection.heartbeatMilliseconds)
      deadline = min(deadline, next)
    }
    return deadline
  }

  /// When the hub was last heard, and the model complete: a heartbeat proves that commits arrive, and nothing else
  /// does. nil: never in this process.
  private func heardAt(_ index: Int) -> UInt64? {
    guard let heard = connection.heartbeats.heardAt, models[at: index].join.wasCurrent else { return nil }
    return isCurrent(models.keys[index]) ? heard : min(heard, UInt64(clamping: models[at: index].join.staleSince))
  }
}
