import BindingHub
import Foundation
import GRDB
import GRDBSQLite

/// The disk has no room: the operation was not done, and may be repeated later.
struct NoRoom: Error {}

/// SQLite's errors in the words of the store: which file, the problem, the remedy.
extension StoreError {
  init(_ error: any Error, in path: String) {
    switch error {
    case let error as StoreError: self = error
    case is NoRoom: self.init("\(path): the disk is full. Free some space.")
    case let error as DatabaseError: self.init(error, path)
    default: self.init("\(path): \(error)")
    }
  }

  private init(_ error: DatabaseError, _ path: String) {
    let problem = error.message ?? "\(error.resultCode)"
    switch error.resultCode {
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR: self = .damaged(path, problem)
    case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH:
      self.init(
        "Cannot open \(path) for writing: \(problem). Let this user read and write it and its directory.",
        .cannotOpen)
    case .SQLITE_CONSTRAINT:
      self.init("\(path): another hub writes to this store (\(problem)). Stop one of them, then start again.", .inUse)
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      self.init("Another program is writing to \(path). Stop it, then start again.", .inUse)
    default:
      switch error.extendedResultCode {
      case .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_DIR_FSYNC:
        self.init(
          "\(path): the disk did not confirm a write (\(problem)). Check the disk, then start again.",
          .syncFailed)
      case .SQLITE_IOERR_SHORT_READ: self = .damaged(path, "it is truncated")
      default:
        self.init("\(path): \(problem) (SQLite \(error.extendedResultCode.rawValue)). Check the disk.", .failed)
      }
    }
  }

  static func damaged(_ path: String, _ problem: String) -> StoreError {
    StoreError("\(path) is damaged: \(problem). \(recovery(of: path))", .damaged)
  }

  /// How to recover what peers still have.
  static func recovery(of path: String) -> String {
    let path = shellWord(path)
    return "To keep the old file and recover the log from peers:  bindhub recover --store \(path)   "
      + "(from a backup and peers:  bindhub recover BACKUP --store \(path))"
  }

  /// The error for a damaged file that is a backup and no hub's store.
  func ofBackup(_ path: String) -> StoreError {
    StoreError(
      description.replacingOccurrences(of: StoreError.recovery(of: path), with: "Choose another backup."), kind)
  }
}

extension Database {
  /// Runs a writing operation; a full disk becomes `NoRoom`.
  func write<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as DatabaseError where hasNoRoom(error) {
      throw NoRoom()
    }
  }

  private func hasNoRoom(_ error: DatabaseError) -> Bool {
    switch error.extendedResultCode {
    case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_TRUNCATE:
      [ENOSPC, EDQUOT, EFBIG].contains(sqlite3_system_errno(sqliteConnection))
    default: error.resultCode == .SQLITE_FULL
    }
  }
}
