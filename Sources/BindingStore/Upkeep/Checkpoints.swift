import Dispatch
import Foundation
import GRDB
import GRDBSQLite

/// Checkpoints the write-ahead log into the file, on a thread and a connection of its own, so that no append waits.
final class Checkpoints: @unchecked Sendable {  // SAFETY: what changes is touched only while `lock` is held
  private let db: DatabaseQueue
  private let queue = DispatchQueue(label: "bindhub-store.checkpoints")
  private let lock = NSLock()
  /// Bytes written since the last checkpoint.
  private var waiting = 0
  private var isRunning = false
  private var count = 0
  /// When the first write was made that no sync has confirmed; nil: all are confirmed.
  private var unsyncedSince: UInt64?
  /// Frames that the last checkpoint left in the log; nil: none has run since the last question.
  private var left: Int?
  private var failure: (any Error)?

  init(path: String) throws { db = try OpenedStore.connect(path) }

  /// Records a write to the log; each of its pages is written whole.
  /// - Parameter time: milliseconds of the store's uptime.
  func wrote(bytes: Int, at time: UInt64) {
    lock.lock()
    waiting += bytes + 8_192
    if unsyncedSince == nil { unsyncedSince = time }
    lock.unlock()
  }

  /// The number that have ended; nil while one runs.
  var ended: Int? { lock.withLock { isRunning ? nil : count } }

  /// Whether a write has waited this long for a sync.
  func needsSync(at now: UInt64, after milliseconds: UInt64) -> Bool {
    lock.withLock { !isRunning && unsyncedSince.map { now >= $0 + milliseconds } ?? false }
  }

  /// Has the disk confirm all that is in the write-ahead log now.
  func sync() {
    lock.lock()
    defer { lock.unlock() }
    guard !isRunning else { return }
    (isRunning, unsyncedSince) = (true, nil)
    queue.async { self.run { db in try Checkpoints.syncLog(db) } }
  }

  /// Syncs SQLite's own file of the log. Closing another one would be harmless, but a test's disk would not see the
  /// sync.
  private static func syncLog(_ db: Database) throws {
    // A connection opens the log when it reads.
    _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM life")
    var file: UnsafeMutablePointer<sqlite3_file>?
    sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
    guard let file, let sync = file.pointee.pMethods?.pointee.xSync else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the write-ahead log is not open")
    }
    let code = sync(file, SQLITE_SYNC_NORMAL)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code), message: "sync failed") }
  }

  /// Returns when none is running.
  func settle() { queue.sync {} }

  /// Starts a checkpoint if enough bytes are waiting and none is running.
  func start(after bytes: Int) {
    lock.lock()
    defer { lock.unlock() }
    guard !isRunning, waiting >= bytes else { return }
    isRunning = true
    waiting = 0
    queue.async { self.run { db in try self.bringIn(db) } }
  }

  /// The frames that the last checkpoint left; returned once.
  func takeLeft() -> Int? {
    lock.lock()
    defer { lock.unlock() }
    defer { left = nil }
    return left
  }

  /// The failure of the last run, returned once: the store cannot continue.
  func takeFailure() -> (any Error)? {
    lock.lock()
    defer { lock.unlock() }
    defer { failure = nil }
    return failure
  }

  /// Whether a checkpoint with this failure may be repeated later; the log keeps everything until then. Never so
  /// for a failed sync.
  static func mayFail(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return [.SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL].contains(error.resultCode)
  }

  private func bringIn(_ db: Database) throws {
    let frames = try db.checkpoint(.passive)
    lock.lock()
    defer { lock.unlock() }
    // SQLite counts the log as it was when the checkpoint began; later writes are those recorded since.
    left = max(frames.walFrameCount - frames.checkpointedFrameCount, 0) + waiting / 4_096
  }

  private func run(_ body: (Database) throws -> Void) {
    let result = Result { try db.writeWithoutTransaction { db in try body(db) } }
    lock.lock()
    defer { lock.unlock() }
    isRunning = false
    count += 1
    if case .failure(let error) = result, !Checkpoints.mayFail(error) { failure = error }
  }

  /// Counts a checkpoint that another thread made.
  func recordEnded() { lock.withLock { count += 1 } }

  /// Waits for the running checkpoint, and returns the connection, which must never be closed.
  func abandon() -> DatabaseQueue {
    queue.sync {}
    return db
  }

  /// Waits for the running checkpoint, and closes the connection.
  func finish() {
    queue.sync {}
    try? db.close()
  }
}
