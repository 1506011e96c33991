import BindingHub
import Foundation
import ZeroMQ

/// The exclusive right to write a store, held as long as this object: a lock on a file beside it, which names the
/// process, and one on the database file itself, whatever its name.
final class StoreLock {
  private let lock: EndpointLock
  private let path: String
  private var file: FileLock?

  init(_ path: String) throws(StoreError) {
    self.path = path
    do throws(EndpointLockError) {
      lock = try EndpointLock.acquire(path)
    } catch {
      switch error {
      case .held(_, let process): throw StoreLock.inUse(path, process)
      case .unavailable(let problem):
        throw StoreError(
          "Cannot create \(path).lock: \(problem.clause). Let this user write to the directory.", .cannotOpen)
      }
    }
    try lockFile()
  }

  /// Locks the database file at the path, if there is one.
  func lockFile() throws(StoreError) {
    guard case .file = StoreFiles.kind(of: path) else { return }
    file = nil
    switch FileLock.acquire(path) {
    case .held(let process): throw StoreLock.inUse(path, process)
    case .acquired(let lock): file = lock
    }
  }

  private static func inUse(_ path: String, _ process: Int32?) -> StoreError {
    let who = process.map { "process \($0)" } ?? "another process"
    return StoreError("\(path) is in use by \(who). Stop that hub, or choose another path.", .inUse)
  }
}

/// The identity of a file, whatever its name.
struct FileID: Hashable {
  var device: UInt64
  var inode: UInt64

  init(_ info: stat) { (device, inode) = (UInt64(truncatingIfNeeded: info.st_dev), UInt64(info.st_ino)) }

  init?(_ path: String) {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    self.init(info)
  }
}

/// A lock on a file's own inode: a hard link does not evade it, nor does removing a lock file.
///
/// It uses `flock` on a descriptor that stays open as long as the store. SQLite's own locks are those of `fcntl`,
/// which the system drops when *any* descriptor of the file is closed in the process; so a file that this process
/// has locked already is not opened again. On Darwin `flock` would conflict with SQLite's locks, so only the lock
/// file excludes others there.
private final class FileLock {
  enum Result {
    case acquired(FileLock?)
    case held(Int32?)
  }
  private static let held = HeldFiles()
  private let id: FileID
  private let descriptor: Int32

  private init(_ id: FileID, _ descriptor: Int32) { (self.id, self.descriptor) = (id, descriptor) }

  deinit {
    // A child process being started shares the descriptor for a moment longer.
    flock(descriptor, LOCK_UN)
    close(descriptor)
    FileLock.held.remove(id)
  }

  static func acquire(_ path: String) -> Result {
    #if canImport(Darwin)
      return .acquired(nil)
    #else
      guard let id = FileID(path) else { return .acquired(nil) }
      guard held.insert(id) else { return .held(getpid()) }
      let writable = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      let descriptor = writable >= 0 ? writable : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        // The next open reports a file that this user cannot read.
        held.remove(id)
        return .acquired(nil)
      }
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
        let process = writer(descriptor)
        close(descriptor)
        held.remove(id)
        return .held(process)
      }
      return .acquired(FileLock(id, descriptor))
    #endif
  }

  /// A process that has the file open with SQLite: it holds a lock on the bytes that SQLite reserves for that.
  private static func writer(_ descriptor: Int32) -> Int32? {
    var probe = flock()
    (probe.l_type, probe.l_whence, probe.l_start, probe.l_len) = (Int16(F_WRLCK), Int16(SEEK_SET), 0x4000_0000, 512)
    guard fcntl(descriptor, F_GETLK, &probe) == 0, probe.l_type != Int16(F_UNLCK), probe.l_pid > 0 else { return nil }
    return probe.l_pid
  }
}

/// The files that stores of this process have locked.
private final class HeldFiles: @unchecked Sendable {  // SAFETY: `files` is touched only while `lock` is held
  private var files: Set<FileID> = []
  private let lock = NSLock()

  /// - Returns: false if it is there already.
  func insert(_ file: FileID) -> Bool { lock.withLock { files.insert(file).inserted } }

  func remove(_ file: FileID) { lock.withLock { _ = files.remove(file) } }
}
