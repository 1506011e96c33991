package import BindingHub
import Foundation
import GRDB

/// Backup while a hub runs, and restore.
extension SQLiteStore {
  /// Copies a store, as it is at one moment, into a file of its own, and checks the copy. A hub may have the store
  /// open and continues; its write-ahead log grows while the copy is made.
  ///
  /// A hub that opens the copy, wherever it was restored to, begins a new epoch.
  /// - Parameters:
  ///   - path: the store.
  ///   - target: the copy's path; nothing may exist there.
  ///   - progress: called now and then with the part that is done, from 0 to 1.
  /// - Throws: `StoreError`, which names the file and the remedy.
  package static func backup(
    of path: String, to target: String, progress: @escaping (Double) -> Void = { _ in }
  ) throws(StoreError) {
    try newBackup(at: target, readingFrom: path) { new in try StoreCopy.make(of: path, at: new, progress: progress) }
  }

  /// Makes a file that appears at its path when it is whole.
  /// - Parameters:
  ///   - source: the file that an error names.
  ///   - make: makes the file at the path that it is given.
  static func newBackup(
    at target: String, readingFrom source: String, _ make: (String) throws -> Void
  ) throws(StoreError) {
    guard !StoreFiles.exists(target) else {
      throw StoreError("\(target) exists already. Choose another name for the backup.", .cannotOpen)
    }
    let new = target + ".new"
    defer { for file in StoreFiles.all(of: new) { unlink(file) } }
    do {
      try make(new)
    } catch is NoRoom {
      throw StoreError("Cannot write \(target): the disk is full. Choose another disk.")
    } catch {
      throw StoreError(error, in: source)
    }
    guard rename(new, target) == 0 else { throw StoreFiles.cannotWrite(target) }
    try StoreFiles.syncDirectory(of: target)
  }

  /// Replaces a store that no hub has open by a backup. The backup is checked first and is not moved. The next hub
  /// begins a new epoch, later than all of the replaced store.
  /// - Returns: the path at which the replaced store is kept; nil: there was none.
  /// - Throws: `StoreError`, which names the file and the remedy.
  @discardableResult
  package static func restore(backup: String, to path: String) throws(StoreError) -> String? {
    try restore(backup: backup, to: path) {}
  }

  /// - Parameter step: called after each change of the files; a process may end at each.
  static func restore(backup: String, to path: String, step: () -> Void) throws(StoreError) -> String? {
    try StoreFiles.checkKind(of: path)
    try StoreFiles.prepareDirectory(of: path)
    let lock = try StoreLock(path)
    defer { withExtendedLifetime(lock) {} }
    StoreFiles.sweep(path)
    let new = path + ".new"
    defer { for file in StoreFiles.all(of: new) { unlink(file) } }
    do throws(StoreError) { _ = try check(path: backup) } catch { throw error.ofBackup(backup) }
    let remembered = RememberedLog.read(at: path)
    let before = metadata(of: path)
    var begun: StoreMetadata?
    do {
      try StoreCopy.make(
        of: backup, at: new,
        change: { metadata in
          for known in [before.map { ($0.logID, $0.epoch) }, remembered.map { ($0.logID, $0.epoch) }] {
            if let known, known.0 == metadata.logID { metadata.epoch = max(metadata.epoch, known.1) }
          }
          begun = metadata
        })
    } catch is NoRoom {
      throw StoreError("Cannot write \(path): the disk is full. Free some space.")
    } catch {
      throw StoreError(error, in: path)
    }
    let aside = try SetAside.link(path, step: step)
    step()
    guard rename(new, path) == 0 else { throw StoreFiles.cannotWrite(path) }
    try StoreFiles.syncDirectory(of: path)
    step()
    if let begun { try RememberedLog(logID: begun.logID, epoch: begun.epoch).write(at: path) }
    return aside
  }

  /// The metadata of the store at a path; nil if it cannot be read.
  static func metadata(of path: String) -> StoreMetadata? {
    guard let db = try? StoreCopy.reader(path) else { return nil }
    defer { try? db.close() }
    return try? db.read { try StoreMetadata.read($0, path: path) }
  }
}
