package import BindingHub
package import BindingProtocol
import Foundation
import GRDB

/// A store in one SQLite file (`docs/reference/store-format.md`): a log with one row per append, and snapshots into
/// which upkeep compacts older rows. It has one hub; a lock beside the file excludes a second. To be used by one
/// thread at a time.
package final class SQLiteStore: Store {
  /// What was known of the end of the log at its opening.
  package let tail: Tail
  let database: StoreDatabase
  let work: StoreUpkeep
  private let index: StoreIndex
  private var writer = WireWriter(reserving: 65_536)
  private var isFull = false

  /// Opens the store, or makes it: a missing directory with mode 0700, the file with 0600.
  /// - Parameter durability: `.process` or `.disk`. With `.process` commits survive the end of the process; a power
  ///   failure may lose some, and the next start begins another epoch.
  package convenience init(
    path: String, durability: Durability, limits: StoreLimits = StoreLimits()
  ) throws(StoreError) {
    try self.init(path: path, durability: durability, limits: limits, boot: Boot.current) {
      UInt64(max(Date().timeIntervalSince1970, 0) * 1_000)
    }
  }

  /// `boot` is the start of the machine (empty: unknown), `birth` a new store's metadata (nil: random). Both clocks
  /// count milliseconds: `uptime` from any origin and never set, `wallTime` since 1970.
  init(
    path: String, durability: Durability, limits: StoreLimits = StoreLimits(), boot: String,
    birth: StoreMetadata? = nil,
    uptime: @escaping () -> UInt64 = LogClock.uptime(), wallTime: () -> UInt64
  ) throws(StoreError) {
    let opened = try OpenedStore(path: path, durability: durability, boot: boot, birth: birth)
    tail = opened.tail
    var watch = FileWatch(path)
    do {
      index = try opened.db.writeWithoutTransaction { db in
        try StoreIndex(db, snapshots: opened.metadata.snapshots, path: path)
      }
    } catch {
      throw StoreError(error, in: path)
    }
    let newest = index.newestTime
    let own = opened.before.extent.flatMap { $0.time > 0 ? $0.time : nil }
    let clock = LogClock(
      after: own.map { max($0, newest ?? 0) } ?? newest, isOwn: own != nil, wall: wallTime(), uptime: uptime)
    watch.hasOpened()
    database = StoreDatabase(opened, path: path, durability: durability, clock: clock, watch: watch)
    work = StoreUpkeep(database, index, limits)
  }

  /// Opens the store like `init`, after fulfilling a request to restore it that was left while it was closed. So a
  /// hub that ends to have its store restored finds that done when it opens the store again.
  package static func open(
    path: String, durability: Durability, limits: StoreLimits = StoreLimits()
  ) throws(StoreError) -> SQLiteStore {
    if case .restore(let backup)? = AdminRequest.find(at: path) {
      do throws(StoreError) {
        try restore(backup: backup, to: path)
        AdminRequest.withdraw(at: path)
      } catch {
        // The existing store is as good as before.
        AdminRequest.refuse(at: path, error.description)
      }
    }
    return try SQLiteStore(path: path, durability: durability, limits: limits)
  }

  /// Whether a hub has the store open.
  package static func isInUse(_ path: String) throws(StoreError) -> Bool {
    do throws(StoreError) {
      _ = try StoreLock(path)
      return false
    } catch {
      guard error.kind == .inUse else { throw error }
      return true
    }
  }

  /// The path of the file.
  package var path: String { database.path }
  /// The id of the log.
  package var logID: LogID { database.metadata.logID }
  /// The current epoch of the log.
  package var epoch: Epoch { database.metadata.epoch }
  /// How durably `append` stores.
  package var durability: Durability { database.durability }
  /// The floor beyond all removed models.
  package var floor: LogFloor { index.floor }
  /// The store's path and sizes.
  package var status: StoreStatus {
    StoreStatus(
      path: path, bytes: StoreFiles.bytes(of: path), logBytes: UInt64(index.logBytes), isFull: isFull,
      drops: work.requests.drops)
  }

  // MARK: Appending

  /// Appends each batch to its model's log, all in one transaction.
  package func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    var results: [Appended] = []
    results.reserveCapacity(batches.count)
    var accepted: [(location: ModelLocation, before: UInt64)] = []
    accepted.reserveCapacity(batches.count)
    var rows: [Range<Int>] = []
    writer.removeAll()
    var start = 0
    for batch in batches {
      let location = index.location(of: batch.model)
      guard index.mayFollow(batch, location) else {
        results.append(.moved(try missed(by: batch, location, accepted, batches: batches)))
        continue
      }
      let before = location.record
      if before == 0 { index.add(location) }
      if writer.count - start >= LogRow.maxBytes {
        rows.append(start..<writer.count)
        start = writer.count
      }
      let from = writer.count
      batch.write(to: &writer)
      location.record = batch.record
      let row = index.lastRow + Int64(rows.count) + 1
      location.uncompacted.append(BatchLocation(row, from - start..<writer.count - start, batch.record))
      accepted.append((location, before))
      results.append(.stored)
    }
    guard !accepted.isEmpty else { return results }
    rows.append(start..<writer.count)
    if try insert(rows) {
      for batch in batches where batch.form == .removal { index.remove(with: batch) }
      // Writes into a file that is gone are lost, so they must not be acknowledged.
      try database.look(atOnce: durability == .disk)
      return results
    }
    for (location, before) in accepted.reversed() {
      location.record = before
      location.uncompacted.removeLast()
    }
    return results.map { if case .stored = $0 { .full } else { $0 } }
  }

  /// - Returns: whether there was room for them.
  private func insert(_ rows: [Range<Int>]) throws(StoreError) -> Bool {
    let (last, time) = (index.lastRow, database.clock.now)
    isFull = try !database.write { db in
      try writer.withUnsafeBytes { bytes in
        let insert = {
          for (index, range) in rows.enumerated() {
            let row = last + Int64(index) + 1
            try LogRow.insert(db, row, time: time, UnsafeRawBufferPointer(rebasing: bytes[range]))
          }
        }
        if rows.count == 1 { try insert() } else { try db.transaction(insert) }
      }
    }
    guard !isFull else { return false }
    index.appended(rows: rows.count, bytes: writer.count)
    database.wrote(bytes: writer.count)
    return true
  }

  /// What was decided since the record on which a batch was decided.
  private func missed(
    by batch: Batch, _ location: ModelLocation, _ accepted: [(location: ModelLocation, before: UInt64)],
    batches: [Batch]
  ) throws(StoreError) -> [Batch] {
    guard batch.record <= location.record, !accepted.contains(where: { $0.location === location }) else {
      throw StoreError(
        "\(path): record \(batch.record) of \(batch.model) was decided, and the log has record \(location.record). "
          + "This is a bug of the hub: please report it.")
    }
    var found: [Batch] = []
    try database.access { db in
      try location.each(db, path: path, after: batch.record - 1) { batch in
        found.append(batch)
        return true
      }
    }
    guard found.first?.record == batch.record else {
      throw StoreError(
        "\(path): the state of \(batch.model) after record \(batch.record - 1) is already compacted. Restart the hub.")
    }
    return found
  }

  // MARK: Reading

  /// Passes all models to `each`, in the order of their ids.
  package func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {
    var batches: [String: [Batch]] = [:]
    try database.access { db in
      try LogRow.each(db, path: path) { row, _, bytes in
        try LogRow.batches(of: row, bytes, path: path) { batch, _ in
          guard batch.record > index.locations[batch.model]?.snapshot?.record ?? 0 else { return }
          if batch.form == .removal {
            batches[batch.model] = nil
          } else {
            batches[batch.model, default: []].append(batch)
          }
        }
      }
    }
    for (name, location) in index.locations.sorted(by: { $0.key < $1.key }) where location.record > 0 {
      let chunks = try database.access { db in try location.snapshot?.allChunks(db, path: path) ?? [] }
      try each(StoredModel(model: name, chunks: chunks, batches: batches.removeValue(forKey: name) ?? []))
    }
  }

  /// Loads one model; nil: the store has none of that id.
  package func load(_ model: String) throws(StoreError) -> StoredModel? {
    guard let location = index.locations[model], location.record > 0 else { return nil }
    return try database.access { db in try location.load(db, path: path) }
  }

  /// The batches with commits of a model after a version, in order, at most `limit`.
  ///
  /// If they no longer reach back that far, the first one's `previous` is greater than `version`.
  package func history(of model: String, after version: Version, limit: Int) throws(StoreError) -> [Batch] {
    guard let location = index.locations[model], limit > 0 else { return [] }
    var batches: [Batch] = []
    try database.access { db in
      try location.each(db, path: path, after: 0) { batch in
        if batch.version > version, !batch.body.isEmpty { batches.append(batch) }
        return batches.count < limit
      }
    }
    return batches
  }

  /// Notes where a model's batches are now; they are read on a connection of their own.
  package func history(_ query: HistoryQuery) -> HistoryReading {
    let (path, history) = (path, database.history)
    let uncompacted = index.locations[query.model]?.uncompacted
    return HistoryReading { () throws(StoreError) in
      guard let uncompacted else { return .none(to: query) }
      let past = StoredPast(query, uncompacted, path: path)
      do {
        return try history.read { db in try past.page(db) }
      } catch {
        throw StoreError(error, in: path)
      }
    }
  }

  // MARK: Epochs, upkeep and closing

  /// Begins another epoch of the log. Returns once the disk has confirmed it.
  package func start(_ epoch: Epoch) throws(StoreError) { try database.start(epoch) }

  /// Lets the next compactions forget these identities.
  package func forget(_ tags: Set<Tag>) { work.forget(tags) }

  /// Does one slice of background work.
  /// - Returns: whether more work is due immediately.
  package func upkeep() throws(StoreError) -> Bool {
    try database.endRecovery()
    return try work.run()
  }

  /// Makes the next calls of `upkeep` compact everything and make the file as small as possible.
  package func requestCompaction() { work.requests.requestCompaction() }

  /// Closes the store in order. It must not be used afterwards.
  package func close() throws(StoreError) { try database.close() }
}
