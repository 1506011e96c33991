import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// A store's file, locked, checked, in the present format, with the metadata of the start that begins now.
struct OpenedStore {
  let lock: StoreLock
  let db: DatabaseQueue
  let checkpoints: Checkpoints
  /// The metadata found.
  let before: StoreMetadata
  /// The metadata of the start that begins now.
  let metadata: StoreMetadata
  let tail: Tail

  init(path: String, durability: Durability, boot: String, birth: StoreMetadata? = nil) throws(StoreError) {
    try StoreFiles.checkKind(of: path)
    try StoreFiles.prepareDirectory(of: path)
    lock = try StoreLock(path)
    StoreFiles.sweep(path)
    let remembered = RememberedLog.read(at: path)
    if !StoreFiles.exists(path) {
      if remembered != nil { throw OpenedStore.gone(path) }
      try OpenedStore.make(path, birth ?? StoreMetadata.new(grade: durability, boot: boot))
      try lock.lockFile()
    }
    try StoreFiles.checkBeginning(of: path)
    let isLogWhole = WALCheck.isWhole(StoreFiles.log(of: path))
    do {
      let db = try OpenedStore.connect(path)
      self.db = db
      try db.writeWithoutTransaction { db in
        try StoreSchema.check(db, path: path)
        try OpenedStore.checkPages(db, path: path)
      }
      try StoreSchema.migrate(db)
      (before, metadata, tail) = try db.writeWithoutTransaction { db in
        let before = try StoreMetadata.read(db, path: path)
        try before.extent?.check(db, path: path)
        var (metadata, tail) = before.next(
          grade: durability, boot: boot, isLogWhole: isLogWhole, remembered: remembered,
          chance: .random(in: 1 ... .max))
        metadata.extent = try LogExtent.found(db, time: before.extent?.time ?? 0)
        // The metadata must be on disk before anything is appended, and in the file itself, so that a lost
        // write-ahead log is noticed.
        try db.synced(as: durability) {
          try db.write {
            try metadata.write(db)
            try db.checkpoint(.passive)
          }
        }
        return (before, metadata, tail)
      }
      checkpoints = try Checkpoints(path: path)
    } catch {
      throw StoreError(error, in: path)
    }
    // Until peers have had the time to bring it back: a hub that ends before that looks for their replicas again.
    let isTailLost = tail == .unproven
    try RememberedLog(logID: metadata.logID, epoch: metadata.epoch, isTailLost: isTailLost).write(at: path)
  }

  /// The error for a missing store that the file beside it remembers: another log in its place would pass for the
  /// end of it.
  private static func gone(_ path: String) -> StoreError {
    StoreError(
      "\(path) is missing, and was a store. \(StoreError.recovery(of: path))\n"
        + "To begin a new log instead, without recovery:  rm \(shellWord(RememberedLog.path(of: path)))", .gone)
  }

  /// The length that the write-ahead log keeps when it starts over.
  static let logBytesKept: UInt64 = 64 << 20

  /// A connection that writes. It leaves checkpoints to `Checkpoints`.
  static func connect(_ path: String, isNew: Bool = false) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .timeout(5)
    configuration.label = "bindhub-store"
    configuration.prepareDatabase { db in
      if isNew { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
      // Debian's SQLite overwrites deleted data with zeros, so it would write every row of the log and every chunk
      // twice. FAST overwrites only where that needs no further writes; `compact` gives the pages back.
      _ = try Int.fetchOne(db, sql: "PRAGMA secure_delete = FAST")
      // Gives back what the log grew to while a reader held it.
      try db.execute(sql: "PRAGMA journal_size_limit = \(logBytesKept)")
    }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Makes an empty store beside the path and moves it there once the disk has it: the path holds a whole store or
  /// none.
  private static func make(_ path: String, _ metadata: StoreMetadata) throws(StoreError) {
    let new = path + ".new"
    defer { for file in StoreFiles.all(of: new) { unlink(file) } }
    try makeEmpty(new, metadata)
    // A log at the path belongs to a store that is gone.
    for file in StoreFiles.all(of: path) where file != path { unlink(file) }
    guard rename(new, path) == 0 else { throw StoreFiles.cannotWrite(path) }
    try StoreFiles.syncDirectory(of: path)
  }

  /// Makes a store without models at a free path.
  static func makeEmpty(_ path: String, _ metadata: StoreMetadata) throws(StoreError) {
    for file in StoreFiles.all(of: path) { unlink(file) }
    let file = open(path, O_CREAT | O_EXCL | O_RDWR, 0o600)
    guard file >= 0 else { throw StoreFiles.cannotWrite(path) }
    close(file)
    do {
      let db = try connect(path, isNew: true)
      try StoreSchema.migrate(db)
      try db.writeWithoutTransaction { db in
        try db.synced(as: .disk) { try db.write { try metadata.write(db) } }
        try db.checkpoint(.truncate)
      }
      try db.close()
    } catch is NoRoom {
      throw StoreError("Cannot create \(path): the disk is full. Free some space, or choose another path.", .cannotOpen)
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// SQLite's own check of every page.
  static func checkPages(_ db: Database, path: String) throws {
    let found = try String.fetchAll(db, sql: "PRAGMA quick_check(3)")
    if found != ["ok"] { throw StoreError.damaged(path, found.joined(separator: "; ")) }
  }
}

extension StoreMetadata {
  static func new(grade: Durability, boot: String) -> StoreMetadata {
    StoreMetadata(
      logID: .random(in: 1 ... .max), epoch: epoch(after: 0, chance: .random(in: 1 ... .max)), grade: grade, boot: boot)
  }
}

extension Database {
  /// Runs `body` with every transaction synced, then returns to the setting of `grade`. Not inside a transaction.
  func synced(as grade: Durability, _ body: () throws -> Void) throws {
    try setSynced(true)
    try body()
    if grade != .disk { try setSynced(false) }
  }

  /// SQLite ignores an invalid setting silently, so it is read back.
  private func setSynced(_ isSynced: Bool) throws {
    let wanted = isSynced ? 2 : 1
    try execute(sql: "PRAGMA synchronous = \(wanted)")
    guard try Int.fetchOne(self, sql: "PRAGMA synchronous") == wanted else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "PRAGMA synchronous = \(wanted) had no effect")
    }
  }

  /// Runs `body` as one transaction.
  func transaction(_ body: () throws -> Void) throws {
    try inTransaction(.immediate) {
      try body()
      return .commit
    }
  }
}
