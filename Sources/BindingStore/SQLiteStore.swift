package import BindingHub
package import BindingProtocol
import Foundation
import GRDB

/// A store in one SQLite file (`docs/reference/store-format.md`): a log with one row per append, and snapshots into
/// which upkeep compacts older rows. It has one hub; a lock beside the file excludes a second. To be used by one
/// thread at a time.
package final class SQLiteStore: Store {
  /// The current epoch of the log.
  package private(set) var epoch: Epoch
  /// The id of the log.
  package let logID: LogID
  /// How durably `append` stores.
  package let durability: Durability
  /// What was known of the end of the log at its opening.
  package let tail: Tail
  /// The path of the file.
  package let path: String

  let limits: StoreLimits
  private(set) var clock: LogClock
  let db: DatabaseQueue
  private let lock: StoreLock
  var metadata: StoreMetadata
  /// The floor beyond all removed models.
  package private(set) var floor = LogFloor.none
  /// The floor in its table.
  var storedFloor = LogFloor.none
  var locations: [String: ModelLocation] = [:]
  /// Snapshots of models that were removed since; upkeep drops them.
  var orphans: [Snapshot] = []
  /// The rows in the log: none, if `lastRow` is before `firstRow`.
  var firstRow: Int64 = 1
  var lastRow: Int64 = 0
  /// Bytes of batches in the log.
  var logBytes = 0
  var snapshotBytes = 0
  var isFull = false
  var upkeepWork = UpkeepWork()
  let checkpoints: Checkpoints
  var watch: FileWatch
  private var writer = WireWriter(reserving: 65_536)
  var hasClosed = false

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
    (self.path, self.durability, self.limits) = (path, durability, limits)
    (db, lock, metadata, tail, checkpoints) = (opened.db, opened.lock, opened.metadata, opened.tail, opened.checkpoints)
    (logID, epoch) = (metadata.logID, metadata.epoch)
    clock = LogClock(after: nil, isOwn: true, wall: 0, uptime: uptime)
    watch = FileWatch(path)
    let newest = try survey()
    let own = opened.before.extent.flatMap { $0.time > 0 ? $0.time : nil }
    clock = LogClock(
      after: own.map { max($0, newest ?? 0) } ?? newest, isOwn: own != nil, wall: wallTime(), uptime: uptime)
    watch.hasOpened()
  }

  /// Builds the index. Returns the newest time in the log; nil: it is empty.
  private func survey() throws(StoreError) -> UInt64? {
    try access { db in
      for (name, snapshot) in try Snapshot.readAll(db, path: path) {
        let location = ModelLocation(name)
        (location.snapshot, location.record) = (snapshot, snapshot.record)
        locations[name] = location
        snapshotBytes += snapshot.bytes
      }
      guard locations.count == metadata.snapshots else {
        throw StoreError.damaged(path, "table snapshot has \(locations.count) rows, not \(metadata.snapshots)")
      }
      storedFloor = try LogFloor.read(db, path: path)
      floor = storedFloor
      lastRow = 0
      var newest: UInt64?
      try LogRow.each(db, path: path) { row, time, bytes in
        if lastRow == 0 { firstRow = row }
        (lastRow, newest) = (row, max(newest ?? 0, time))
        logBytes += bytes.count
        try LogRow.batches(of: row, bytes, path: path) { batch, range in try enter(batch, row, range) }
      }
      return newest
    }
  }

  /// Enters a batch of the log into the index.
  private func enter(_ batch: Batch, _ row: Int64, _ range: Range<Int>) throws {
    if batch.form == .removal { floor.raise(over: batch) }
    let location = locations[batch.model] ?? ModelLocation(batch.model)
    locations[batch.model] = location
    guard batch.record > location.snapshot?.record ?? 0 else { return }
    guard batch.record == location.record + 1 || location.record == 0 && floor.mayBegin(batch.record) else {
      throw StoreError.damaged(
        path, "row \(row) of table log has record \(batch.record) of \(batch.model) after record \(location.record)")
    }
    location.record = batch.record
    guard batch.form != .removal else { return remove(location) }
    location.uncompacted.append(
      BatchLocation(row: row, start: UInt32(range.lowerBound), length: UInt32(range.count), record: batch.record))
  }

  /// Removes a model from the index; nothing in the log or an older snapshot counts for it any more.
  private func remove(_ location: ModelLocation) {
    if let snapshot = location.snapshot { orphans.append(snapshot) }
    if locations[location.name] === location { locations[location.name] = nil }
  }

  /// Runs `body` with the database; its errors become `StoreError`.
  func access<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
    do {
      return try db.writeWithoutTransaction(body)
    } catch {
      throw StoreError(error, in: path)
    }
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
      let location = locations[batch.model] ?? ModelLocation(batch.model)
      guard batch.record == location.record + 1 || location.record == 0 && floor.mayBegin(batch.record) else {
        results.append(.moved(try missed(by: batch, location, accepted, batches: batches)))
        continue
      }
      let before = location.record
      if before == 0 { locations[batch.model] = location }
      if writer.count - start >= LogRow.maxBytes {
        rows.append(start..<writer.count)
        start = writer.count
      }
      let from = writer.count
      batch.write(to: &writer)
      location.record = batch.record
      location.uncompacted.append(
        BatchLocation(
          row: lastRow + Int64(rows.count) + 1, start: UInt32(from - start), length: UInt32(writer.count - from),
          record: batch.record))
      accepted.append((location, before))
      results.append(.stored)
    }
    guard !accepted.isEmpty else { return results }
    rows.append(start..<writer.count)
    if try insert(rows) {
      for batch in batches where batch.form == .removal {
        guard let location = locations[batch.model], location.record == batch.record else { continue }
        floor.raise(over: batch)
        remove(location)
      }
      // Writes into a file that is gone are lost, so they must not be acknowledged.
      try look(atOnce: durability == .disk)
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
    let (last, time) = (lastRow, clock.now)
    do {
      try db.writeWithoutTransaction { db in
        try writer.withUnsafeBytes { bytes in
          let insert = {
            for (index, range) in rows.enumerated() {
              let row = last + Int64(index) + 1
              try LogRow.insert(db, row, time: time, UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
          }
          try db.write { rows.count == 1 ? try insert() : try db.transaction(insert) }
        }
      }
    } catch is NoRoom {
      isFull = true
      return false
    } catch {
      throw StoreError(error, in: path)
    }
    lastRow += Int64(rows.count)
    logBytes += writer.count
    checkpoints.wrote(bytes: writer.count, at: clock.uptime())
    isFull = false
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
    let found = try recent(of: location, after: batch.record - 1)
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
    try access { db in
      try LogRow.each(db, path: path) { row, _, bytes in
        try LogRow.batches(of: row, bytes, path: path) { batch, _ in
          guard batch.record > locations[batch.model]?.snapshot?.record ?? 0 else { return }
          if batch.form == .removal {
            batches[batch.model] = nil
          } else {
            batches[batch.model, default: []].append(batch)
          }
        }
      }
    }
    for (name, location) in locations.sorted(by: { $0.key < $1.key }) where location.record > 0 {
      let chunks = try access { db in try location.snapshot?.allChunks(db, path: path) ?? [] }
      try each(StoredModel(model: name, chunks: chunks, batches: batches.removeValue(forKey: name) ?? []))
    }
  }

  /// Loads one model; nil: the store has none of that id.
  package func load(_ model: String) throws(StoreError) -> StoredModel? {
    guard let location = locations[model], location.record > 0 else { return nil }
    return try access { db in
      let chunks = try location.snapshot?.allChunks(db, path: path) ?? []
      return StoredModel(model: model, chunks: chunks, batches: try uncompacted(db, of: location, after: 0))
    }
  }

  // MARK: Epochs and closing

  /// Begins another epoch of the log. Returns once the disk has confirmed it.
  package func start(_ epoch: Epoch) throws(StoreError) {
    var next = metadata
    next.epoch = epoch
    try access { db in try db.synced(as: durability) { try next.write(db) } }
    (metadata, self.epoch) = (next, epoch)
    try RememberedLog(logID: logID, epoch: epoch).write(at: path)
  }

  /// Closes the store in order. It must not be used afterwards.
  package func close() throws(StoreError) {
    guard !hasClosed else { return }
    hasClosed = true
    checkpoints.finish()
    var last = metadata
    last.isClean = true
    try access { db in
      last.extent = try LogExtent.found(db, time: clock.now)
      try db.synced(as: durability) { try last.write(db) }
      _ = try? db.checkpoint(.truncate)
    }
    metadata = last
    do { try db.close() } catch { throw StoreError(error, in: path) }
  }

  /// The store's path and sizes.
  package var status: StoreStatus {
    StoreStatus(
      path: path, bytes: StoreFiles.bytes(of: path), logBytes: UInt64(logBytes), isFull: isFull)
  }

  /// Lets the next compactions forget these identities.
  package func forget(_ tags: Set<Tag>) { upkeepWork.forget(tags) }
}
