import BindingHub
import BindingWire
import Foundation
import GRDB

/// A copy of a store in a file of its own, made beside its name and moved there when it is whole.
enum StoreCopy {
  /// A connection that only reads. Nothing else of this process may open the file and close it while a store has it:
  /// that would take SQLite's locks away.
  static func reader(_ path: String) throws -> DatabaseQueue {
    guard StoreFiles.exists(path) else {
      throw StoreError("\(path) does not exist. Name the file of a store.", .cannotOpen)
    }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  /// Copies a store as it is at one moment to a file that does not exist yet, checks the copy, and leaves the mark that
  /// it is one. The store may go on being written.
  static func make(
    of path: String, at target: String, progress: @escaping (Double) -> Void = { _ in },
    change: (inout StoreLife) -> Void = { _ in }
  ) throws {
    for file in StoreFiles.all(of: target) { unlink(file) }
    let file = open(target, O_CREAT | O_EXCL | O_RDWR, 0o600)
    guard file >= 0 else { throw StoreFiles.cannotWrite(target) }
    close(file)
    let source = try reader(path)
    defer { try? source.close() }
    let copy = try DatabaseQueue(path: target)
    try source.read { db in
      // This read makes the moment: what is written later is not seen, so the copying never begins anew.
      try StoreSchema.check(db, path: path)
      _ = try StoreLife.read(db, path: path)
      try copy.writeWithoutTransaction { copy in
        try copy.write {
          try db.backup(to: copy, pagesPerStep: 256) { step in
            progress(step.totalPageCount > 0 ? Double(step.completedPageCount) / Double(step.totalPageCount) : 1)
          }
        }
      }
    }
    try copy.close()
    let marked = try OpenedStore.connect(target)
    try marked.writeWithoutTransaction { db in
      var life = try StoreLife.read(db, path: target)
      life.isCopy = true
      change(&life)
      try db.synced(as: .disk) { try db.write { try life.write(db) } }
      // One file alone: who reads a copy leaves nothing beside it. A hub that opens it turns the log on again.
      try db.execute(sql: "PRAGMA journal_mode = DELETE")
    }
    try marked.close()
    for file in StoreFiles.all(of: target) where file != target { unlink(file) }
    _ = try SQLiteStore.check(path: target)
  }
}
