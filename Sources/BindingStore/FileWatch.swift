import Foundation

/// Checks that the files of an open store are still the ones at their names, and are not truncated.
///
/// SQLite does not check: it would continue to write into a deleted file, and acknowledged commits would be lost
/// with the process.
struct FileWatch {
  /// What was found, in words that follow the path.
  enum Loss: Hashable {
    /// The database was deleted, replaced or truncated.
    case database(String)
    /// Only a file beside it is gone. The open connection can still read all of its contents.
    case beside(String)
    /// The write-ahead log was truncated.
    case logCut(String)
  }

  private let path: String
  private var database: FileID?
  private var log: FileID?
  private var shared: FileID?
  private var databaseBytes: UInt64 = 0
  private var logBytes: UInt64 = 0
  private var checkpointsSeen = 0
  /// Whether pages were given back: a checkpoint may then shorten the file.
  var mayShrink = false
  /// When to check again, if nothing else requests it.
  private(set) var next = ContinuousClock.now
  static let interval = Duration.milliseconds(300)

  init(_ path: String) {
    self.path = path
    database = FileID(path)
  }

  /// Records the files as the opening left them.
  mutating func hasOpened() {
    (log, shared) = (FileID(StoreFiles.log(of: path)), FileID(StoreFiles.shared(of: path)))
    (databaseBytes, logBytes) = (StoreFiles.size(path), StoreFiles.size(StoreFiles.log(of: path)))
  }

  /// Records that the store itself truncated the write-ahead log.
  mutating func hasCutLog() { logBytes = StoreFiles.size(StoreFiles.log(of: path)) }

  /// - Parameter checkpoints: the number that have ended; nil: one is running, and the file may have any length.
  mutating func look(_ now: ContinuousClock.Instant, checkpoints: Int?) -> Loss? {
    next = now + FileWatch.interval
    var info = stat()
    guard stat(path, &info) == 0 else { return .database("was deleted or renamed") }
    guard FileID(info) == database else {
      return .database(
        info.st_mode & S_IFMT == S_IFDIR ? "was replaced by a directory" : "was replaced by another file")
    }
    let bytes = UInt64(max(info.st_size, 0))
    if let checkpoints {
      // Only a checkpoint changes the length of the file, and only one that gives pages back shortens it.
      if bytes < databaseBytes, checkpoints == checkpointsSeen || !mayShrink {
        return .database("was truncated from \(databaseBytes) to \(bytes) bytes")
      }
      (databaseBytes, checkpointsSeen) = (bytes, checkpoints)
    } else if bytes == 0 {
      return .database("was truncated to 0 bytes")
    }
    guard stat(StoreFiles.log(of: path), &info) == 0, FileID(info) == log else {
      return .beside(StoreFiles.log(of: path))
    }
    let logBytes = UInt64(max(info.st_size, 0))
    // The log starts over at its beginning; SQLite then truncates it to this length if it has grown beyond.
    guard logBytes >= min(self.logBytes, OpenedStore.logBytesKept) else {
      return .logCut("\(StoreFiles.log(of: path)) has \(logBytes) of \(self.logBytes) bytes")
    }
    self.logBytes = logBytes
    guard FileID(StoreFiles.shared(of: path)) == shared else { return .beside(StoreFiles.shared(of: path)) }
    return nil
  }
}
