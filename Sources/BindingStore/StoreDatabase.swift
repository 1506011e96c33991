import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// An open store's database: its connection, its metadata, and the locks and checks that keep its files complete and
/// to one hub.
final class StoreDatabase {
  let path: String
  let durability: Durability
  let clock: LogClock
  let checkpoints: Checkpoints
  /// The metadata on the disk.
  var metadata: StoreMetadata
  /// The connection of those who read history.
  let history: HistoryDatabase
  private let connection: DatabaseQueue
  private let lock: StoreLock
  private var watch: FileWatch
  private var hasClosed = false
  /// Until when peers may bring back the end of the log, by the clock's uptime; nil: it is there, or they had the time.
  private var recoversUntil: UInt64?

  init(_ opened: OpenedStore, path: String, durability: Durability, clock: LogClock, watch: FileWatch) {
    (self.path, self.durability, self.clock, self.watch) = (path, durability, clock, watch)
    (connection, lock, checkpoints, metadata) = (opened.db, opened.lock, opened.checkpoints, opened.metadata)
    history = HistoryDatabase(path: path)
    if opened.tail == .unproven { beginRecovery() }
  }

  /// Runs `body` with the connection; its errors become `StoreError`.
  func access<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
    do {
      return try connection.writeWithoutTransaction(body)
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// Runs `body`, which writes.
  /// - Returns: whether there was room for it.
  func write(_ body: (Database) throws -> Void) throws(StoreError) -> Bool {
    do {
      try connection.writeWithoutTransaction { db in try db.write { try body(db) } }
      return true
    } catch is NoRoom {
      return false
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// Records a write, which a checkpoint brings to the file later.
  func wrote(bytes: Int) { checkpoints.wrote(bytes: bytes, at: clock.uptime()) }

  /// Begins another epoch of the log. Returns once the disk has confirmed it.
  func start(_ epoch: Epoch) throws(StoreError) {
    var next = metadata
    next.epoch = epoch
    try access { db in try db.synced(as: durability) { try next.write(db) } }
    metadata = next
    beginRecovery()
    try RememberedLog(logID: next.logID, epoch: epoch, isTailLost: true).write(at: path)
  }

  private func beginRecovery() {
    recoversUntil = clock.uptime() + HubMachineConfiguration.defaultEarlyMilliseconds
  }

  /// Once peers have had the time to bring back the end of the log, the next start need not look for it.
  func endRecovery() throws(StoreError) {
    guard let end = recoversUntil, clock.uptime() >= end else { return }
    recoversUntil = nil
    try RememberedLog(logID: metadata.logID, epoch: metadata.epoch).write(at: path)
  }

  /// Closes the store in order. It must not be used afterwards.
  func close() throws(StoreError) {
    guard !hasClosed else { return }
    hasClosed = true
    history.close()
    checkpoints.finish()
    var last = metadata
    last.isClean = true
    try access { db in
      last.extent = try LogExtent.found(db, time: clock.now)
      try db.synced(as: durability) { try last.write(db) }
      _ = try? db.checkpoint(.truncate)
    }
    metadata = last
    do { try connection.close() } catch { throw StoreError(error, in: path) }
  }

  /// Brings the freed pages from the write-ahead log to the file, which then shrinks, and truncates the log.
  ///
  /// The log never becomes empty, because an empty log counts as lost. It restarts with one transaction, and is
  /// truncated behind that.
  func cutLog() throws(StoreError) {
    checkpoints.settle()
    try access { db in
      do {
        try db.checkpoint(.restart)
        try db.execute(sql: "PRAGMA journal_size_limit = 0")
        defer { try? db.execute(sql: "PRAGMA journal_size_limit = \(OpenedStore.logBytesKept)") }
        try db.synced(as: durability) { try metadata.write(db) }
      } catch  where Checkpoints.mayFail(error) {}
    }
    checkpoints.recordEnded()
    watch.hasCutLog()
  }

  // MARK: The files

  /// Allows a checkpoint to shorten the file, because pages were given back.
  func mayShrink() { watch.mayShrink = true }

  /// Checks that the next start will find what is written.
  /// - Throws: `gone`; the store must then not be used any more.
  func look(atOnce: Bool = false) throws(StoreError) {
    let now = ContinuousClock.now
    guard atOnce || now >= watch.next else { return }
    guard let loss = watch.look(now, checkpoints: checkpoints.ended) else { return }
    switch loss {
    case .database(let problem):
      abandon()
      throw StoreError(
        "\(path) \(problem) while the hub had it open, so the hub acknowledges no more writes. If the file still "
          + "exists elsewhere, move it back and restart the hub. Otherwise:  \(StoreError.recovery(of: path))", .gone)
    case .beside(let file):
      // The log's open file has no name any more. Closing merges it into the database.
      let isKept = (try? close()) != nil
      if !isKept { abandon() }
      let cure =
        isKept
        ? "The store contains all of it: restart the hub."
        : "Restart the hub: it begins a new epoch and recovers lost commits from peers."
      throw StoreError("\(file) was deleted or replaced while the hub had it open. \(cure)", .gone)
    case .logCut(let problem):
      abandon()
      throw StoreError(
        "The write-ahead log was truncated while the hub had it open: \(problem). Restart the hub: it begins a new "
          + "epoch and recovers lost commits from peers.", .gone)
    }
  }

  /// Leaves the files as they are. Closing the connection would make SQLite remove, by name, whatever is there now.
  private func abandon() {
    try? RememberedLog(logID: metadata.logID, epoch: metadata.epoch, isTailLost: true).write(at: path)
    history.abandon()
    for kept in [connection, checkpoints.abandon()] { _ = Unmanaged.passRetained(kept) }
    hasClosed = true
  }
}
