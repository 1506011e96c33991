import BindingProtocol

/// The writes that have no outcome yet: those of this run, and those that earlier runs left in the outbox (R10).
struct WriteRegistry: Sendable {
  private var ofThisRun = SortedArrayMap<WriteID, UnacknowledgedWrite>()
  /// As the peer's own session knows them.
  private(set) var restored: [RestoredKey: Restored] = [:]

  /// Writes of earlier runs that the description did not allow, by model: for fields that are shared later.
  private var rejections: [String: [RestoredRejection]] = [:]

  init(restored: [RestoredKey: Restored] = [:]) { self.restored = restored }

  var count: Int { ofThisRun.count + restored.count }

  /// Those of this run, in the order in which they were made.
  var unacknowledged: some Sequence<UnacknowledgedWrite> { ofThisRun.elements }

  subscript(id: WriteID) -> UnacknowledgedWrite? { ofThisRun[id] }

  mutating func insert(_ write: consuming UnacknowledgedWrite, for id: WriteID) { ofThisRun.insert(write, for: id) }

  mutating func remove(_ id: WriteID) -> UnacknowledgedWrite? { ofThisRun.removeValue(forKey: id) }

  mutating func remove(_ key: RestoredKey) -> Restored? { restored.removeValue(forKey: key) }

  /// Keeps a rejection for fields that are shared later. There are no more than writes were restored.
  mutating func keep(_ rejection: RestoredRejection, in model: String) {
    rejections[model, default: []].append(rejection)
  }

  var hasRejections: Bool { !rejections.isEmpty }

  func rejections(in model: String) -> [RestoredRejection] { rejections[model] ?? [] }

  /// Forgets the rejections of fields, which their author has answered.
  mutating func forgetRejections(of fields: [String], in model: String) {
    guard var kept = rejections[model] else { return }
    for index in kept.indices { kept[index].fields.removeAll { fields.contains($0) } }
    kept.removeAll { $0.fields.isEmpty }
    rejections[model] = kept.isEmpty ? nil : kept
  }

  /// Records that the hub has deferred a write.
  mutating func setRetryReason(_ reason: RetryReason, of id: WriteID) { ofThisRun[id]?.retryReason = reason }

  /// Why the hub has deferred one of these writes.
  func retryReason(of waiting: [WriteID]) -> RetryReason? {
    waiting.lazy.compactMap { ofThisRun[$0]?.retryReason }.first
  }

  /// Removes and returns all, to be settled once the lock is released.
  mutating func takeAll() -> WriteRegistry {
    defer { self = WriteRegistry() }
    return self
  }

  /// Settles all, and returns their fields as `model.field`, sorted.
  func settleAll(_ outcome: Outcome) -> [String] {
    for write in ofThisRun.elements { write.write.settle(outcome) }
    for write in restored.values { write.write.settle(outcome) }
    let fields =
      ofThisRun.elements.flatMap { write in write.write.fields.map { "\(write.model.id).\($0)" } }
      + restored.values.flatMap { write in write.write.fields.map { "\(write.model).\($0)" } }
    return fields.sorted()
  }
}

/// A write without an outcome keeps its model, and so its peer, alive.
struct UnacknowledgedWrite: Sendable {
  let write: PendingWrite
  let model: SharedModel
  var policies: [String: WritePolicy] = [:]
  /// It takes back a step: who asked for that is told if it fails, the fields' statuses are not.
  var isRestoring = false
  var retryReason: RetryReason?
}

/// A write of an earlier run, as the peer's own session knows it.
struct Restored: Sendable {
  let id: WriteID
  let model: String
  let write: PendingWrite
}

/// Identifies a write of an earlier run: each run numbers its own.
struct RestoredKey: Hashable, Sendable {
  let run: UInt32
  let write: WriteID
}
