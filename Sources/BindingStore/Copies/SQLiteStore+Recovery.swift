package import BindingHub
package import BindingProtocol
import Foundation

/// The result of recreating a store as the same log.
package struct StoreRecovery: Sendable, Hashable {
  /// The id of the log.
  package var logID: LogID
  /// The path at which the previous files are kept; nil: there were none.
  package var aside: String?
}

extension SQLiteStore {
  /// Recreates a damaged or lost store as the same log in a later epoch, empty or from a backup. The next hub
  /// recovers from its peers what is missing. The previous files are kept as `path.before-SECONDS`.
  ///
  /// The log id comes from the damaged store if that can be read, else from the file beside it, else from the
  /// backup, else from `logID`.
  /// - Parameters:
  ///   - path: the store.
  ///   - backup: a backup to begin with; nil: an empty store.
  ///   - logID: as `bindhub status` prints it; needed only if no file names it.
  /// - Throws: `cannotOpen` for a store that is in order, which needs no recovery.
  @discardableResult
  package static func recover(
    _ path: String, backup: String? = nil, logID: LogID? = nil
  ) throws(StoreError) -> StoreRecovery {
    try recover(path, backup: backup, logID: logID) {}
  }

  /// - Parameter step: called after each change of the files; a process may end at each.
  static func recover(
    _ path: String, backup: String?, logID: LogID?, step: () -> Void
  ) throws(StoreError) -> StoreRecovery {
    try StoreFiles.prepareDirectory(of: path)
    let lock = try StoreLock(path)
    defer { withExtendedLifetime(lock) {} }
    StoreFiles.sweep(path)
    try expectDamage(path)
    let next = try recovered(path, backup, logID)
    let new = path + ".new"
    defer { for file in StoreFiles.all(of: new) { unlink(file) } }
    if let backup {
      do {
        try StoreCopy.make(
          of: backup, at: new,
          change: { metadata in
            (metadata.epoch, metadata.isCopy, metadata.isClean) = (next.epoch, false, false)
            (metadata.grade, metadata.boot) = (next.grade, next.boot)
          })
      } catch is NoRoom {
        throw StoreError("Cannot write \(path): the disk is full. Free some space.")
      } catch {
        throw StoreError(error, in: path).ofBackup(backup)
      }
    } else {
      try OpenedStore.makeEmpty(new, next)
    }
    // From here on the path has had a store, so no hub begins another log there.
    try RememberedLog(logID: next.logID, epoch: next.epoch).write(at: path)
    step()
    let aside = try SetAside.move(path, step: step)
    step()
    guard rename(new, path) == 0 else { throw StoreFiles.cannotWrite(path) }
    try StoreFiles.syncDirectory(of: path)
    return StoreRecovery(logID: next.logID, aside: aside)
  }

  /// Refuses to replace a store that is in order.
  private static func expectDamage(_ path: String) throws(StoreError) {
    switch StoreFiles.kind(of: path) {
    case .nothing, .directory: return
    case .other: return try StoreFiles.checkKind(of: path)
    case .file: break
    }
    do throws(StoreError) {
      _ = try check(path: path)
    } catch {
      guard error.kind == .damaged else { throw error }
      return
    }
    let path = shellWord(path)
    throw StoreError(
      "\(path) is intact: there is nothing to recover. To serve it:  bindhub serve --store \(path)   "
        + "To return to a backup:  bindhub restore BACKUP --store \(path)", .cannotOpen)
  }

  /// The metadata of the new store: closed without order and with an unknown loss, so that the next start begins
  /// another epoch and recovers from peers.
  private static func recovered(
    _ path: String, _ backup: String?, _ given: LogID?
  ) throws(StoreError) -> StoreMetadata {
    var copied: StoreMetadata?
    if let backup {
      do throws(StoreError) { _ = try check(path: backup) } catch { throw error.ofBackup(backup) }
      copied = metadata(of: backup)
    }
    let (damaged, remembered) = (metadata(of: path), RememberedLog.read(at: path))
    guard let logID = damaged?.logID ?? remembered?.logID ?? copied?.logID ?? given else {
      throw StoreError(
        "The log id of \(path) is unknown. Use the id that 'bindhub status' or 'bindhub check BACKUP --json' has "
          + "printed, or that a peer shows with 'bindpeer --keep FILE get --json'"
          + ":  bindhub recover --store \(shellWord(path)) --log ID", .cannotOpen)
    }
    for (other, name) in [(copied?.logID, backup ?? ""), (given, "--log")] {
      guard let other, other != logID else { continue }
      throw StoreError(
        "\(path) belongs to log \(String(logID, radix: 16)), \(name) to log \(String(other, radix: 16)). "
          + "Omit it, or use one that belongs to the same log.", .cannotOpen)
    }
    var epoch = max(remembered?.epoch ?? 0, copied?.epoch ?? 0)
    if let damaged {
      epoch = max(epoch, damaged.epoch)
    } else if remembered == nil {
      // It is unknown how many epochs followed the backup, and peers accept only a later one.
      epoch += unknownEpochs << 32
    }
    var metadata = StoreMetadata(logID: logID, epoch: epoch, grade: .process, boot: "")
    metadata.isClean = false
    return metadata
  }

  /// Leaves room for more epochs than a log ever had.
  private static let unknownEpochs: Epoch = 1 << 16
}
