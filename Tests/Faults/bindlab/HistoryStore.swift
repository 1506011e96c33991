import BindingHub
import BindingProtocol
import Dispatch
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Wraps another store, and writes every commit that it has stored to a file: one line each, passed to the system
/// before the hub publishes or acknowledges the commit, so that none is lost when the process ends. The format is
/// in `docs/reference/history-format.md`.
///
/// A history must be complete: a line that cannot be written ends the hub like a failing store.
final class HistoryStore: Store {
  private let store: any Store
  private let path: String
  private let file: FileHandle
  private var names: [String: [FieldID: String]] = [:]
  private var lines: [UInt8] = []

  var logID: LogID { store.logID }
  var epoch: Epoch { store.epoch }
  var durability: Durability { store.durability }
  var tail: Tail { store.tail }
  var isImmediate: Bool { store.isImmediate }
  var status: StoreStatus { store.status }
  var floor: LogFloor { store.floor }

  /// - Parameter path: an existing file is appended to.
  init(_ store: any Store, path: String, hub: String) throws(StoreError) {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw StoreError("Cannot open \(path): \(String(cString: strerror(errno)))") }
    self.store = store
    self.path = path
    file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    record([
      .init("e", "hub"), .init("name", .string(hub)), .init("log", .unsigned(store.logID)),
      .init("epoch", .unsigned(store.epoch)), .init("durability", .string("\(store.durability)")),
    ])
    try flush()
  }

  func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    let results = try store.append(batches)
    for (batch, result) in zip(batches, results) {
      switch result {
      case .stored: try record(batch)
      case .moved(let others): for other in others { try record(other) }
      case .unknown, .full: break
      }
    }
    try flush()
    return results
  }

  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {
    try store.load { model throws(StoreError) in
      names[model.model] = try Dictionary(
        uniqueKeysWithValues: ModelCompactor(model).names.enumerated().map { (FieldID($0), $1) })
      // A hub killed between the store and the history left out the commits stored last.
      for batch in model.batches.suffix(HistoryStore.repeatedBatches) { try record(batch, again: true) }
      try each(model)
    }
    try flush()
  }

  /// Per model; more than one append holds of it.
  private static let repeatedBatches = 256

  func load(_ model: String) throws(StoreError) -> StoredModel? { try store.load(model) }

  func start(_ epoch: Epoch) throws(StoreError) {
    try store.start(epoch)
    record([.init("e", "epoch"), .init("epoch", .unsigned(epoch))])
    try flush()
  }

  func forget(_ tags: Set<Tag>) { store.forget(tags) }

  func upkeep() throws(StoreError) -> Bool { try store.upkeep() }

  func close() throws(StoreError) { try store.close() }

  private func record(_ batch: Batch, again: Bool = false) throws(StoreError) {
    guard let group = try learn(batch) else { return }
    var version = group.previous
    for commit in group.commits {
      version += 1
      let origin = group.origins[Int(commit.origin)]
      let changes = commit.changes.map { change in
        RecordedCommit.Change(names[batch.model]?[change.field] ?? "?\(change.field)", change.value)
      }
      let recorded = RecordedCommit(
        model: batch.model, epoch: group.epoch, version: version, origin: origin, number: commit.number,
        hops: commit.hops, time: group.time, changes: changes)
      let members = [.init("e", "commit")] + recorded.members
      record(again ? members + [.init("again", .bool(true))] : members)
    }
  }

  /// Records the names that a batch gives to field ids.
  @discardableResult
  private func learn(_ batch: Batch) throws(StoreError) -> CommitGroup? {
    switch batch.form {
    case .ordinary: break
    case .removal: names[batch.model] = nil
    case .renumbering(let kept):
      let before = names[batch.model] ?? [:]
      names[batch.model] = Dictionary(
        uniqueKeysWithValues: kept.enumerated().compactMap { index, id in before[id].map { (FieldID(index), $0) } })
    }
    guard !batch.body.isEmpty else { return nil }
    let group: CommitGroup
    do throws(WireError) {
      group = try batch.body.withUnsafeBytes { bytes in
        Result { () throws(WireError) in
          var reader = WireReader(bytes, message: "commits")
          return try CommitGroup(from: &reader)
        }
      }.get()
    } catch {
      throw StoreError("\(batch.model): a stored batch cannot be read: \(error)")
    }
    for (offset, name) in group.names.names.enumerated() {
      names[batch.model, default: [:]][group.names.first + FieldID(offset)] = name
    }
    return group
  }

  private func record(_ members: [JSON.Member]) {
    lines += JSON.object([.init("t", .unsigned(DispatchTime.now().uptimeNanoseconds))] + members).bytes
    lines.append(UInt8(ascii: "\n"))
  }

  /// Passes the lines to the system.
  private func flush() throws(StoreError) {
    defer { lines.removeAll(keepingCapacity: true) }
    do { try file.write(contentsOf: lines) } catch {
      throw StoreError("Cannot write the history \(path): \(error.localizedDescription)")
    }
  }
}
