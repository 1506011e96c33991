import BindingHub
import Foundation
import GRDB

/// Whether the files of an open store are still the ones at their names, and as long as they were left.
///
/// SQLite does not look: it goes on writing into a file that was deleted, and what was acknowledged is gone with the
/// process.
struct FileWatch {
  /// What was found, in words that go on after the path.
  enum Loss: Hashable {
    /// The database is not there any more, or not the same.
    case database(String)
    /// Only what lies beside it: all that it held can still be read by who has it open.
    case beside(String)
    /// The write-ahead log was cut off.
    case logCut(String)
  }

  private let path: String
  private var database: FileID?
  private var log: FileID?
  private var shared: FileID?
  private var databaseBytes: UInt64 = 0
  private var logBytes: UInt64 = 0
  private var checkpointsSeen = 0
  /// Whether pages were given back: then a checkpoint makes the file shorter.
  var mayShrink = false
  /// When to look again, when nothing else asks for it.
  private(set) var next = ContinuousClock.now
  static let interval = Duration.milliseconds(300)

  init(_ path: String) {
    self.path = path
    database = FileID(path)
  }

  /// Notes the files as the opening has left them.
  mutating func hasOpened() {
    (log, shared) = (FileID(StoreFiles.log(of: path)), FileID(StoreFiles.shared(of: path)))
    (databaseBytes, logBytes) = (StoreFiles.size(path), StoreFiles.size(StoreFiles.log(of: path)))
  }

  /// Notes that the write-ahead log was cut off by the store itself.
  mutating func hasCutLog() { logBytes = StoreFiles.size(StoreFiles.log(of: path)) }

  /// - Parameter checkpoints: how many have ended; nil: one is running, and the file may have any length.
  mutating func look(_ now: ContinuousClock.Instant, checkpoints: Int?) -> Loss? {
    next = now + FileWatch.interval
    var info = stat()
    guard stat(path, &info) == 0 else { return .database("was deleted, or got another name") }
    guard FileID(info) == database else {
      return .database(
        info.st_mode & S_IFMT == S_IFDIR ? "was replaced by a directory" : "was replaced by another file")
    }
    let bytes = UInt64(max(info.st_size, 0))
    if let checkpoints {
      // Only a checkpoint changes the length of the file, and only one that gives pages back makes it less.
      if bytes < databaseBytes, checkpoints == checkpointsSeen || !mayShrink {
        return .database("was cut off: \(bytes) of \(databaseBytes) bytes are there")
      }
      (databaseBytes, checkpointsSeen) = (bytes, checkpoints)
    } else if bytes == 0 {
      return .database("was cut off: it is empty")
    }
    guard stat(StoreFiles.log(of: path), &info) == 0, FileID(info) == log else {
      return .beside(StoreFiles.log(of: path))
    }
    let logBytes = UInt64(max(info.st_size, 0))
    // It begins anew at its beginning; then SQLite cuts it off there if it has grown beyond this.
    guard logBytes >= min(self.logBytes, OpenedStore.logBytesKept) else {
      return .logCut("\(logBytes) of \(self.logBytes) bytes of \(StoreFiles.log(of: path)) are there")
    }
    self.logBytes = logBytes
    guard FileID(StoreFiles.shared(of: path)) == shared else { return .beside(StoreFiles.shared(of: path)) }
    return nil
  }
}

extension SQLiteStore {
  /// Sees that what is written goes where the next start will find it.
  /// - Throws: `gone`, and the store must not be used any more.
  func look(atOnce: Bool = false) throws(StoreError) {
    let now = ContinuousClock.now
    guard atOnce || now >= watch.next else { return }
    guard let loss = watch.look(now, checkpoints: checkpoints.ended) else { return }
    switch loss {
    case .database(let problem):
      abandon()
      throw StoreError(
        "\(path) \(problem) while the hub had it open, so nothing more is acknowledged. Put it back as it was, if it "
          + "is still somewhere, and start the hub again. Else:  \(StoreError.recovery(of: path))", .gone)
    case .beside(let file):
      // The database has what was brought in; the rest is in a file that has no name any more, and is brought in now.
      let isKept = (try? close()) != nil
      if !isKept { abandon() }
      let cure =
        isKept
        ? "All of it was brought into the store: start the hub again."
        : "Start the hub again: it begins a new epoch, and peers bring back what they have."
      throw StoreError("\(file) was deleted or replaced while the hub had it open. \(cure)", .gone)
    case .logCut(let problem):
      abandon()
      throw StoreError(
        "The write-ahead log was cut off while the hub had it open: \(problem). Start the hub again: it begins a new "
          + "epoch, and peers bring back what they have.", .gone)
    }
  }

  /// Leaves the files as they are. SQLite, closing them, would remove by its name what now lies there.
  private func abandon() {
    try? RememberedLog(logID: logID, epoch: epoch, isTailLost: true).write(at: path)
    for kept in [db, checkpoints.abandon()] { _ = Unmanaged.passRetained(kept) }
    hasClosed = true
  }
}
