import BindingHub
import BindingProtocol
import Foundation
import Testing

@testable import BindingStore

/// A folder for one store, and batches to append to it.
final class StoreBench {
  let folder: String
  let path: String
  /// The present boot of the machine.
  var boot = "first"
  var limits = StoreLimits()
  var wall: UInt64 = 1_700_000_000_000
  /// Milliseconds that have passed, also for open stores.
  var uptime: UInt64 = 0
  private var heads: [String: (record: UInt64, version: Version)] = [:]
  /// The fields of each model by id, and whether they have a value.
  private var fields: [String: [(name: String, hasValue: Bool)]] = [:]
  private(set) var floor = LogFloor.none
  /// Continues from another bench's heads and fields.
  func goOn(from other: StoreBench) { (heads, fields) = (other.heads, other.fields) }

  /// An existing folder with a store in it.
  init(at folder: String) { (self.folder, path) = (folder, folder + "/store") }

  init() {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("bindstore-\(UUID().uuidString)").path
    path = folder + "/store"
  }

  deinit {
    chmod(folder, 0o700)
    try? FileManager.default.removeItem(atPath: folder)
  }

  func open(_ durability: Durability = .process) throws(StoreError) -> SQLiteStore {
    let wall = wall
    return try SQLiteStore(
      path: path, durability: durability, limits: limits, boot: boot, uptime: { self.uptime }, wallTime: { wall })
  }

  /// The batch that removes a model: its next one begins above the floor.
  func removal(_ model: String, epoch: Epoch = 1) -> Batch {
    let (record, version) = heads[model] ?? (0, 0)
    let batch = Batch.removal(of: model, record: record + 1, epoch: epoch, version: version)
    floor.raise(over: batch)
    (heads[model], fields[model]) = ((floor.record, floor.version), [])
    return batch
  }

  /// The batch that renumbers the fields with a value.
  func renumbering(_ model: String = "lamp", epoch: Epoch = 1) -> Batch {
    let (record, version) = heads[model] ?? (0, 0)
    heads[model] = (record + 1, version)
    let kept = fields[model, default: []].indices.filter { fields[model]?[$0].hasValue == true }
    fields[model] = fields[model]?.filter(\.hasValue)
    return .renumbering(
      of: model, record: record + 1, epoch: epoch, version: version, kept: kept.map { FieldID($0) })
  }

  /// The fields of a model that have a value, by id.
  func present(_ model: String = "lamp") -> [String] { fields[model, default: []].filter(\.hasValue).map(\.name) }

  /// How many names of a model belong to deleted fields.
  func deletedNames(of model: String = "lamp") -> Int { fields[model, default: []].count { !$0.hasValue } }

  /// The next batch of a model: one commit that sets one field, or with nil deletes it.
  func batch(
    _ model: String = "lamp", _ field: String = "a", to value: String? = "1", epoch: Epoch = 1, by tag: UInt64 = 0xA1
  ) -> Batch {
    let (record, version) = heads[model] ?? (0, 0)
    heads[model] = (record + 1, version + 1)
    var writer = CommitsWriter()
    let known = fields[model, default: []]
    writer.begin(epoch: epoch, previous: version, time: wall + uptime, namesKnown: FieldID(known.count))
    let origin = writer.origin(Origin(tag: Tag(rawValue: tag), name: "ann"))
    let index = known.firstIndex { $0.name == field } ?? known.count
    let id = index < known.count ? FieldID(index) : writer.introduce(field)
    fields[model] = known.prefix(index) + [(field, value != nil)] + known.dropFirst(index + 1)
    writer.beginCommit(origin: origin, number: ProposalNumber(record + 1), hops: 0)
    _ = writer.change(id, value.map { FieldValue(bytes: Array($0.utf8)) })
    writer.endCommit()
    return Batch(
      model: model, record: record + 1, epoch: epoch, previous: version, version: version + 1, body: writer.finish(),
      decisions: [])
  }
}

extension Store {
  func loadAll() throws(StoreError) -> [StoredModel] {
    var models: [StoredModel] = []
    try load { models.append($0) }
    return models
  }

  /// Appends the batches and expects that all were stored.
  func appendAll(_ batches: Batch...) throws {
    for result in try append(batches) {
      guard case .stored = result else {
        Issue.record("a batch was not stored: \(result)")
        return
      }
    }
  }
}

/// Simulates a crash: keeps the files as they are while the store is open.
extension StoreBench {
  func keepAsItIs() throws {
    for end in ["", "-wal"] where FileManager.default.fileExists(atPath: path + end) {
      try? FileManager.default.removeItem(atPath: folder + "/kept" + end)
      try FileManager.default.copyItem(atPath: path + end, toPath: folder + "/kept" + end)
    }
  }

  /// Call it once the store is closed.
  func putBack(without missing: String? = nil) throws {
    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path + end)
      guard end != missing, FileManager.default.fileExists(atPath: folder + "/kept" + end) else { continue }
      try FileManager.default.copyItem(atPath: folder + "/kept" + end, toPath: path + end)
    }
  }
}
