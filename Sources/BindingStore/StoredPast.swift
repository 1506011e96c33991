import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// One page of a model's history, read from the table of history and from the rows of the log.
///
/// Where the model's rows were is known from before the reading. What has been compacted since is in the snapshot that
/// the reading finds, and its batches are in the history then; rows after that snapshot are still there. So a batch is
/// read once, whatever upkeep does meanwhile.
struct StoredPast {
  private let query: HistoryQuery
  private let uncompacted: [BatchLocation]
  private let path: String

  init(_ query: HistoryQuery, _ uncompacted: [BatchLocation], path: String) {
    (self.query, self.uncompacted, self.path) = (query, uncompacted, path)
  }

  /// Reads the page in one transaction.
  func page(_ db: Database) throws -> HistoryAnswer {
    let snapshot = try Snapshot.find(db, name: query.model)
    let firstLive = uncompacted.firstIndex { $0.record > snapshot?.record ?? 0 } ?? uncompacted.endIndex
    var rows = LogRows(Array(uncompacted[firstLive...]), db, path: path)
    var oldest = try snapshot.flatMap { try HistoryPage.oldest(db, $0.model) }
    if oldest == nil, !rows.isEmpty {
      // The model was removed meanwhile.
      guard let batch = try rows.batch(at: 0) else { return .none(to: query) }
      oldest = (batch.previous, batch.record)
    }
    guard let oldest else { return .none(to: query) }
    var collector = HistoryCollector(query, oldest: oldest)
    if query.isOldestFirst {
      if try readCompacted(db, snapshot?.model, &collector) { try readRows(&rows, &collector) }
    } else if try readRows(&rows, &collector) {
      _ = try readCompacted(db, snapshot?.model, &collector)
    }
    return collector.answer
  }

  /// - Returns: whether more is wanted.
  private func readCompacted(_ db: Database, _ model: Int64?, _ collector: inout HistoryCollector) throws -> Bool {
    guard let model else { return true }
    var isWanted = true
    let (after, through) = query.range
    try HistoryPage.read(
      db, model, after: after, through: through, isOldestFirst: query.isOldestFirst, path: path
    ) { batch in
      // Another model may have got the number.
      guard batch.model == query.model else { return true }
      isWanted = collector.add(batch)
      return isWanted
    }
    return isWanted
  }

  /// - Returns: whether more is wanted.
  @discardableResult
  private func readRows(_ rows: inout LogRows, _ collector: inout HistoryCollector) throws -> Bool {
    let (after, through) = query.range
    if query.isOldestFirst {
      var index = try rows.firstIndex { $0.version > after }
      while let batch = try rows.batch(at: index) {
        guard collector.add(batch) else { return false }
        index += 1
      }
    } else {
      var index = try rows.firstIndex { $0.previous >= through }
      while index > 0, let batch = try rows.batch(at: index - 1) {
        guard collector.add(batch) else { return false }
        index -= 1
      }
    }
    return true
  }
}

/// The batches of one model in the rows of the log.
private struct LogRows {
  private let places: [BatchLocation]
  private let db: Database
  private let path: String
  /// The row read last: consecutive batches are often in one.
  private var row: (number: Int64, bytes: [UInt8]) = (0, [])

  init(_ places: [BatchLocation], _ db: Database, path: String) {
    (self.places, self.db, self.path) = (places, db, path)
  }

  var isEmpty: Bool { places.isEmpty }

  /// Nil past the end, and for a row that is gone with its model.
  mutating func batch(at index: Int) throws -> Batch? {
    guard places.indices.contains(index) else { return nil }
    let place = places[index]
    if place.row != row.number {
      guard let read = try LogRow.readIfThere(db, place.row, path: path) else { return nil }
      row = (place.row, read.bytes)
    }
    var found: Batch?
    try LogRow.batches(of: place.row, Array(place.slice(of: row.bytes)), path: path) { batch, _ in found = batch }
    return found
  }

  /// The index of the first batch for which a condition holds, which holds for all later ones, too.
  mutating func firstIndex(where holds: (Batch) -> Bool) throws -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      guard let batch = try batch(at: middle) else { return high }
      if holds(batch) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// The connection on which history is read: it writes nothing, and is opened when somebody first asks.
final class HistoryDatabase: @unchecked Sendable {  // SAFETY: what changes is touched only while `lock` is held
  private let path: String
  private let lock = NSLock()
  private var db: DatabaseQueue?
  private var isClosed = false

  init(path: String) { self.path = path }

  /// Runs `body` in one transaction, beside everything that the store does.
  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    lock.lock()
    defer { lock.unlock() }
    guard !isClosed else { throw StoreError("\(path) is closed") }
    return try open().read(body)
  }

  private func open() throws -> DatabaseQueue {
    if let db { return db }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(1)
    configuration.label = "bindhub-store.history"
    let opened = try DatabaseQueue(path: path, configuration: configuration)
    db = opened
    return opened
  }

  /// Waits for the reading under way, and closes the connection.
  func close() {
    lock.lock()
    defer { lock.unlock() }
    isClosed = true
    try? db?.close()
  }

  /// Waits for the reading under way, and keeps the connection open forever, because closing would change files that
  /// are no longer the store's.
  func abandon() {
    lock.lock()
    defer { lock.unlock() }
    isClosed = true
    if let db { _ = Unmanaged.passRetained(db) }
  }
}
