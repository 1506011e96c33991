import BindingHub
import BindingProtocol
import Foundation
import GRDB

/// Keeps a store under another name, so that another one can replace it.
enum SetAside {
  /// `path.before-SECONDS`, or a free variant of it.
  static func name(for path: String) -> String {
    var aside = "\(path).before-\(Int(Date().timeIntervalSince1970))"
    while StoreFiles.exists(aside) { aside += "+" }
    return aside
  }

  /// Gives a store a second name. It keeps its own until it is replaced: a crash at any moment leaves a whole store
  /// at one of the two.
  ///
  /// A log must never lie beside a database that it does not belong to. So the old store merges its log before the
  /// new one arrives. A store too damaged for that loses its own name first; no hub begins another log there,
  /// because the file beside it remembers the store.
  /// - Parameter step: called after each change of the files.
  /// - Returns: the second name; nil: there was no store.
  static func link(_ path: String, step: () -> Void) throws(StoreError) -> String? {
    guard StoreFiles.exists(path) else { return nil }
    let (log, aside) = (StoreFiles.log(of: path), name(for: path))
    let isWhole = (try? mergeLog(path)) != nil
    step()
    guard Foundation.link(path, aside) == 0 else { throw StoreFiles.cannotWrite(aside) }
    step()
    if !isWhole {
      if StoreFiles.exists(log), Foundation.link(log, StoreFiles.log(of: aside)) != 0 {
        throw StoreFiles.cannotWrite(aside)
      }
      step()
      unlink(path)
      step()
    }
    for file in [log, StoreFiles.shared(of: path)] {
      unlink(file)
      step()
    }
    return aside
  }

  /// Merges the log into the database, which then is the whole store. Records whether the end of the log, which is
  /// lost by that, proved it complete.
  private static func mergeLog(_ path: String) throws {
    let isLogWhole = WALCheck.isWhole(StoreFiles.log(of: path))
    let db = try OpenedStore.connect(path)
    try db.writeWithoutTransaction { db in
      var metadata = try StoreMetadata.read(db, path: path)
      let (_, tail) = metadata.next(
        grade: metadata.grade, boot: Boot.current, isLogWhole: isLogWhole, remembered: RememberedLog.read(at: path),
        chance: 1)
      if tail == .proven, !metadata.isClean {
        metadata.isClean = true
        if metadata.extent != nil { metadata.extent = try LogExtent.found(db, time: metadata.extent?.time ?? 0) }
        try db.synced(as: .disk) { try metadata.write(db) }
      }
      try db.checkpoint(.truncate)
    }
    try db.close()
  }

  /// Moves anything at the path away, with its log.
  /// - Parameter step: called after each change of the files.
  /// - Returns: where it is now; nil: there was nothing.
  static func move(_ path: String, step: () -> Void) throws(StoreError) -> String? {
    let aside = name(for: path)
    // A dangling link counts as something.
    var info = stat()
    let isThere = lstat(path, &info) == 0
    if isThere, rename(path, aside) != 0 { throw StoreFiles.cannotWrite(path) }
    step()
    let log = StoreFiles.log(of: path)
    if StoreFiles.exists(log), rename(log, StoreFiles.log(of: aside)) != 0 { throw StoreFiles.cannotWrite(log) }
    unlink(StoreFiles.shared(of: path))
    return isThere ? aside : nil
  }
}
