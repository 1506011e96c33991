package import BindingProtocol

/// A model's committed values, as the records of a keep file add up to them.
package struct KeptReplica: Sendable, Equatable {
  package private(set) var epoch: Epoch = 0
  package private(set) var version: Version = 0
  /// When the values were last known to be complete: the wall time, milliseconds since 1970.
  package private(set) var time: UInt64 = 0
  /// By identity of this program's runs: the highest number that the values contain, or know to be decided.
  package private(set) var marks: [Tag: ProposalNumber] = [:]
  /// The highest number of each writer whose commits were seen.
  private(set) var seen: [Tag: ProposalNumber] = [:]
  package private(set) var fields: [String: CommittedField] = [:]
  /// Bytes of the names and values.
  package private(set) var bytes = 0

  /// Bytes of a field besides its name and value.
  static let fieldBytes = 32

  /// - Returns: false if the record does not follow this state.
  mutating func apply(_ record: ReplicaRecord) -> Bool {
    if record.isWhole {
      seen.removeAll()
      fields.removeAll(keepingCapacity: true)
      fields.reserveCapacity(record.fields.count)
      bytes = 0
    } else if record.base != version {
      return false
    }
    (epoch, version, time) = (record.epoch, record.version, record.time)
    marks = Dictionary(record.marks.map { ($0.tag, $0.number) }, uniquingKeysWith: max)
    // Past the limit the earlier writers are forgotten: their writes have most likely had their outcomes.
    if seen.count + record.seen.count > SeenNumber.maxCount { seen.removeAll() }
    for other in record.seen { seen[other.tag] = max(other.number, seen[other.tag] ?? 0) }
    for field in record.fields {
      let isGone = field.version == 0
      let old = isGone ? fields.removeValue(forKey: field.name) : fields.updateValue(field, forKey: field.name)
      if let old { bytes -= KeptReplica.bytes(of: old) }
      if field.version > 0 { bytes += KeptReplica.bytes(of: field) }
    }
    return true
  }

  private static func bytes(of field: CommittedField) -> Int {
    fieldBytes + field.name.utf8.count + (field.value?.bytes.count ?? 0)
  }

  private static func sorted(_ numbers: [Tag: ProposalNumber]) -> [SeenNumber] {
    numbers.sorted { $0.key.rawValue < $1.key.rawValue }.map { SeenNumber(tag: $0.key, number: $0.value) }
  }

  /// The whole replica as one record.
  func record(of model: String, in log: LogID) -> ReplicaRecord {
    ReplicaRecord(
      log: log, model: model, epoch: epoch, version: version, base: 0, isWhole: true, isComplete: false, time: time,
      marks: KeptReplica.sorted(marks), seen: KeptReplica.sorted(seen),
      fields: fields.values.sorted { $0.name < $1.name })
  }
}

/// The replicas of a keep file, by log and model.
package struct KeptReplicas: Sendable, Equatable {
  private var byLog: [LogID: [String: KeptReplica]] = [:]
  /// The log that was followed last; nil: none.
  package private(set) var lastLog: LogID?
  /// Bytes of all names and values.
  package private(set) var bytes = 0

  /// Logs whose replicas are kept besides those of the present one.
  static let maxOtherLogs = 4

  package init() {}

  package var isEmpty: Bool { byLog.isEmpty }
  /// The ids of the models of the log that was followed last, sorted.
  package var models: [String] { lastLog.flatMap { byLog[$0]?.keys.sorted() } ?? [] }

  package subscript(log: LogID, model: String) -> KeptReplica? { byLog[log]?[model] }

  /// A model's replicas in all logs.
  func replicas(of model: String) -> [LogID: KeptReplica] { byLog.compactMapValues { $0[model] } }

  /// A hub with this log was followed.
  mutating func follow(_ log: LogID) { lastLog = log }

  package mutating func apply(_ record: ReplicaRecord) {
    lastLog = record.log
    // Taken out, so that it is not copied.
    var replica = take(record.model, of: record.log) ?? KeptReplica()
    guard replica.apply(record) else { return }
    bytes += replica.bytes
    byLog[record.log, default: [:]][record.model] = replica
  }

  package mutating func drop(_ model: String, of log: LogID) { _ = take(model, of: log) }

  private mutating func take(_ model: String, of log: LogID) -> KeptReplica? {
    guard let replica = byLog[log]?.removeValue(forKey: model) else { return nil }
    if byLog[log]?.isEmpty == true { byLog[log] = nil }
    bytes -= replica.bytes
    return replica
  }

  /// Forgets the logs that were followed longest ago, beyond `maxOtherLogs` and the last one.
  mutating func forgetOldLogs() {
    let others = byLog.filter { $0.key != lastLog }
    let byTime = others.sorted { ($0.value.values.map(\.time).max() ?? 0) > ($1.value.values.map(\.time).max() ?? 0) }
    for (log, models) in byTime.dropFirst(KeptReplicas.maxOtherLogs) {
      bytes -= models.values.reduce(0) { $0 + $1.bytes }
      byLog[log] = nil
    }
  }

  /// The models to drop so that no more than `limit` bytes are kept: those that were complete longest ago first.
  /// - Parameter spared: models of the present log that are not dropped.
  func surplus(over limit: Int, sparing spared: Swift.Set<String>) -> [(log: LogID, model: String)] {
    guard bytes > limit else { return [] }
    var left = bytes
    let all = byLog.flatMap { log, models in models.map { (log: log, model: $0.key, replica: $0.value) } }
    return all.filter { $0.log != lastLog || !spared.contains($0.model) }
      .sorted { ($0.replica.time, $0.model) < ($1.replica.time, $1.model) }
      .prefix { entry in
        defer { left -= entry.replica.bytes }
        return left > limit
      }
      .map { ($0.log, $0.model) }
  }

  /// Appends the shortest records with the same content, those of the last log at the end.
  func append(to writer: inout WireWriter) {
    let logs = byLog.sorted { ($0.key == lastLog ? 1 : 0, $0.key) < ($1.key == lastLog ? 1 : 0, $1.key) }
    for (log, models) in logs {
      for (model, replica) in models.sorted(by: { $0.key < $1.key }) {
        OutboxLog.append(OutboxRecord(run: 0, content: .replica(replica.record(of: model, in: log))), to: &writer)
      }
    }
  }
}
