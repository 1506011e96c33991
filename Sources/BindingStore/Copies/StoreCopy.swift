import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// Copies of a store, each in a file of its own.
enum StoreCopy {
  /// A read-only connection. Nothing else in this process may open and close the file while a store has it: that
  /// would drop SQLite's locks.
  static func reader(_ path: String) throws -> DatabaseQueue {
    guard StoreFiles.exists(path) else {
      throw StoreError("\(path) does not exist. Choose the file of a store.", .cannotOpen)
    }
    try StoreFiles.checkKind(of: path)
    // SQLite accepts an empty file as a database without tables.
    if StoreFiles.size(path) == 0 { throw StoreError.damaged(path, "it is empty") }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Runs `body` with a store that is only read. On a read-only file system SQLite cannot read a store that has, or
  /// had, a write-ahead log: it is read from a temporary copy.
  /// - Parameter isReadOnly: nil: as the file system reports.
  static func reading<Result>(
    _ path: String, isReadOnly: Bool? = nil, _ body: (DatabaseQueue) throws -> Result
  ) throws -> Result {
    guard isReadOnly ?? StoreCopy.isReadOnly(path) else {
      let db = try reader(path)
      defer { try? db.close() }
      return try body(db)
    }
    try StoreFiles.checkKind(of: path)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bindhub-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let copy = folder + "/store"
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      let log = StoreFiles.log(of: path)
      if StoreFiles.exists(log) { try FileManager.default.copyItem(atPath: log, toPath: StoreFiles.log(of: copy)) }
      for file in [copy, StoreFiles.log(of: copy)] { chmod(file, 0o600) }
    } catch {
      throw StoreError(
        "\(path) is on a read-only disk, so it is read from a copy. Cannot create the copy in \(folder). "
          + "Set TMPDIR to a directory with \(StoreFiles.bytes(of: path)) bytes of free space.", .cannotOpen)
    }
    let db = try reader(copy)
    defer { try? db.close() }
    return try body(db)
  }

  private static func isReadOnly(_ path: String) -> Bool {
    var info = statvfs()
    return statvfs(path, &info) == 0 && info.f_flag & UInt(ST_RDONLY) != 0
  }

  /// Copies a store, as it is at one moment, to a new file, marks it as a copy, and checks it. The store may be
  /// written meanwhile.
  static func make(
    of path: String, at target: String, progress: @escaping (Double) -> Void = { _ in },
    change: (inout StoreMetadata) -> Void = { _ in }
  ) throws {
    for file in StoreFiles.all(of: target) { unlink(file) }
    let file = open(target, O_CREAT | O_EXCL | O_RDWR, 0o600)
    guard file >= 0 else { throw StoreFiles.cannotWrite(target) }
    close(file)
    let copy = try DatabaseQueue(path: target)
    try reading(path) { source in
      try source.read { db in
        // This read fixes the moment: later writes are not seen, so the copy never starts over.
        try StoreSchema.check(db, path: path)
        _ = try StoreMetadata.read(db, path: path)
        try copy.writeWithoutTransaction { copy in
          try copy.write {
            try db.backup(to: copy, pagesPerStep: 256) { step in
              progress(step.totalPageCount > 0 ? Double(step.completedPageCount) / Double(step.totalPageCount) : 1)
            }
          }
        }
      }
    }
    try copy.close()
    try finish(target, change: change)
  }

  /// Marks a new file as a copy, and checks it.
  static func finish(_ target: String, change: (inout StoreMetadata) -> Void) throws {
    let marked = try OpenedStore.connect(target)
    try marked.writeWithoutTransaction { db in
      var metadata = try StoreMetadata.read(db, path: target)
      metadata.isCopy = true
      if let time = metadata.extent?.time { metadata.extent = try LogExtent.found(db, time: time) }
      change(&metadata)
      try db.synced(as: .disk) { try db.write { try metadata.write(db) } }
      // One file alone: reading a copy leaves nothing beside it. A hub that opens it turns the log on again.
      try db.execute(sql: "PRAGMA journal_mode = DELETE")
    }
    try marked.close()
    for file in StoreFiles.all(of: target) where file != target { unlink(file) }
    _ = try SQLiteStore.check(path: target)
  }
}
