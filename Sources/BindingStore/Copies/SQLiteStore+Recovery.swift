public import BindingHub
public import BindingProtocol
import Foundation

/// What became of a store that was made anew as the same log.
public struct StoreRecovery: Sendable, Hashable {
  public var logID: LogID
  /// Where lies what was there; nil: there was nothing.
  public var aside: String?
}

extension SQLiteStore {
  /// Makes a store anew that is damaged or gone, as the same log in a later epoch, empty or as a backup has it. The
  /// next hub asks its peers for what it lacks. What was there is kept as `path.before-SECONDS`.
  ///
  /// Which log it was is known by what is damaged, if that can be read so far, else by the file beside it, else by the
  /// backup, else it must be told.
  /// - Parameter logID: as `bindhub status` prints it; needed only where nothing else knows it.
  /// - Throws: `cannotOpen` for a store that is in order: there is nothing to bring back.
  @discardableResult
  public static func recover(
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
        throw StoreError("\(path) cannot be written: the disk is full. Make room.")
      } catch {
        throw StoreError(error, in: path).ofBackup(backup)
      }
    } else {
      try OpenedStore.makeEmpty(new, next)
    }
    // From here on the path has had a store, whatever happens: no hub begins another log there.
    try RememberedLog(logID: next.logID, epoch: next.epoch).write(at: path)
    step()
    let aside = try SetAside.move(path, step: step)
    step()
    guard rename(new, path) == 0 else { throw StoreFiles.cannotWrite(path) }
    try StoreFiles.syncDirectory(of: path)
    return StoreRecovery(logID: next.logID, aside: aside)
  }

  /// A store that is in order is not thrown away.
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
      "\(path) is in order: there is nothing to recover. Serve it:  bindhub serve --store \(path)   "
        + "Or go back to a backup:  bindhub restore BACKUP --store \(path)", .cannotOpen)
  }

  /// The life of the store that is made: one that ended without anybody knowing what was lost, so that the next is
  /// another epoch, in which peers are asked.
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
        "Nothing at \(path) tells which log it was. Name it as 'bindhub status' or 'bindhub check BACKUP --json' has "
          + "printed it:  bindhub recover --store \(shellWord(path)) --log ID", .cannotOpen)
    }
    for (other, name) in [(copied?.logID, backup ?? ""), (given, "--log")] {
      guard let other, other != logID else { continue }
      throw StoreError(
        "\(path) is log \(String(logID, radix: 16)), \(name) is another, \(String(other, radix: 16)). "
          + "Leave it out, or name what belongs to this log.", .cannotOpen)
    }
    var epoch = max(remembered?.epoch ?? 0, copied?.epoch ?? 0)
    if let damaged {
      epoch = max(epoch, damaged.epoch)
    } else if remembered == nil {
      // How many came after the backup is not known; peers take a later one only.
      epoch += unknownEpochs << 32
    }
    var metadata = StoreMetadata(logID: logID, epoch: epoch, grade: .process, boot: "")
    metadata.isClean = false
    return metadata
  }

  /// Leaves room for more epochs than a log ever had.
  private static let unknownEpochs: Epoch = 1 << 16
}
