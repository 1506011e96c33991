import BindingHub
import BindingWire
import Foundation
import GRDB

/// A store's file, locked, checked, of today's format, and in the life that begins now.
struct OpenedStore {
  let lock: StoreLock
  let db: DatabaseQueue
  let checkpoints: Checkpoints
  let life: StoreLife
  let tail: Tail

  init(path: String, durability: Durability, boot: String, birth: StoreLife? = nil) throws(StoreError) {
    try StoreFiles.prepareDirectory(of: path)
    lock = try StoreLock(path)
    if !StoreFiles.exists(path) {
      try OpenedStore.make(path, birth ?? StoreLife.new(grade: durability, boot: boot))
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
      (life, tail) = try db.writeWithoutTransaction { db in
        let before = try StoreLife.read(db, path: path)
        let next = before.next(
          grade: durability, boot: boot, isLogWhole: isLogWhole, chance: .random(in: 1 ... .max))
        // What this life is must be on the disk before anything is taken in it.
        // In the file itself, so that a write-ahead log that gets lost is missed.
        try db.synced(as: durability) {
          try db.write {
            try next.life.write(db)
            try db.checkpoint(.passive)
          }
        }
        return next
      }
      checkpoints = try Checkpoints(path: path)
    } catch {
      throw StoreError(error, in: path)
    }
  }

  /// A connection that writes. It leaves checkpoints to `Checkpoints`.
  static func connect(_ path: String, isNew: Bool = false) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .timeout(5)
    configuration.label = "bindhub-store"
    configuration.prepareDatabase { db in
      if isNew { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
      try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
      // Debian's SQLite overwrites what is deleted with zeros: every row of the log and every chunk would be written
      // twice. So does FAST, but not where that takes more writing; `compact` gives the pages back.
      _ = try Int.fetchOne(db, sql: "PRAGMA secure_delete = FAST")
      // What it grew to while somebody read is given back.
      try db.execute(sql: "PRAGMA journal_size_limit = \(64 << 20)")
    }
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Makes an empty store beside the path, and moves it there when the disk has it: at the path there is a whole store
  /// or none.
  private static func make(_ path: String, _ life: StoreLife) throws(StoreError) {
    let new = path + ".new"
    for file in StoreFiles.all(of: new) { unlink(file) }
    let file = open(new, O_CREAT | O_EXCL | O_RDWR, 0o600)
    guard file >= 0 else { throw StoreFiles.cannotWrite(new) }
    close(file)
    do {
      let db = try connect(new, isNew: true)
      try StoreSchema.migrate(db)
      try db.writeWithoutTransaction { db in
        try db.synced(as: .disk) { try db.write { try life.write(db) } }
        try db.checkpoint(.truncate)
      }
      try db.close()
    } catch is NoRoom {
      throw StoreError("\(path) cannot be made: the disk is full. Make room, or choose another path.", .cannotOpen)
    } catch {
      throw StoreError(error, in: path)
    }
    // A log that lies there belonged to a store that is gone.
    for file in StoreFiles.all(of: path) where file != path { unlink(file) }
    guard rename(new, path) == 0 else { throw StoreFiles.cannotWrite(path) }
    try StoreFiles.syncDirectory(of: path)
  }

  /// SQLite's own check of every page.
  static func checkPages(_ db: Database, path: String) throws {
    let found = try String.fetchAll(db, sql: "PRAGMA quick_check(3)")
    if found != ["ok"] { throw StoreError.damaged(path, found.joined(separator: "; ")) }
  }
}

extension StoreLife {
  static func new(grade: Durability, boot: String) -> StoreLife {
    StoreLife(
      logID: .random(in: 1 ... .max), epoch: epoch(after: 0, chance: .random(in: 1 ... .max)), grade: grade, boot: boot)
  }
}

extension Database {
  /// Runs what writes with every transaction synced, then goes on as the grade asks for. Not inside a transaction.
  func synced(as grade: Durability, _ body: () throws -> Void) throws {
    try setSynced(true)
    try body()
    if grade != .disk { try setSynced(false) }
  }

  /// SQLite keeps silent about a setting that it did not take, so it is read back.
  private func setSynced(_ isSynced: Bool) throws {
    let wanted = isSynced ? 2 : 1
    try execute(sql: "PRAGMA synchronous = \(wanted)")
    guard try Int.fetchOne(self, sql: "PRAGMA synchronous") == wanted else {
      throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "PRAGMA synchronous = \(wanted) was not taken")
    }
  }

  /// Runs what writes as one transaction.
  func transaction(_ body: () throws -> Void) throws {
    try inTransaction(.immediate) {
      try body()
      return .commit
    }
  }
}
