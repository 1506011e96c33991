import BindingHub
import Foundation
import ZeroMQ

/// The files of a store: the database, its write-ahead log beside it, and the lock.
enum StoreFiles {
  static func log(of path: String) -> String { path + "-wal" }

  /// All that belong to a store, but for the lock.
  static func all(of path: String) -> [String] { [path, log(of: path), path + "-shm"] }

  /// Bytes on disk.
  static func bytes(of path: String) -> UInt64 { size(path) + size(log(of: path)) }

  /// 0, if there is none.
  static func size(_ path: String) -> UInt64 {
    var info = stat()
    return stat(path, &info) == 0 ? UInt64(max(info.st_size, 0)) : 0
  }

  static func exists(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0
  }

  static func directory(of path: String) -> String {
    let directory = (path as NSString).deletingLastPathComponent
    return directory.isEmpty ? "." : directory
  }

  /// Makes the directory (mode 0700) if it is missing, and sees that files may be made there.
  static func prepareDirectory(of path: String) throws(StoreError) {
    let directory = directory(of: path)
    if !exists(directory) {
      do {
        try FileManager.default.createDirectory(
          atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        // Some of them end as sentences do.
        let problem = error.localizedDescription.trimmingCharacters(in: ["."])
        throw StoreError("\(directory) cannot be made: \(problem). Make it, or choose another path.", .cannotOpen)
      }
    }
    guard access(directory, W_OK | X_OK) == 0 else { throw cannotWrite(directory) }
  }

  static func cannotWrite(_ path: String) -> StoreError {
    let (code, problem) = (errno, String(cString: strerror(errno)))
    let cure =
      code == EROFS ? "Choose a path on another disk." : "Give this user the right to write there: chmod u+rwx \(path)"
    return StoreError("\(path) cannot be written to: \(problem). \(cure)", .cannotOpen)
  }

  /// What is at the path begins as a store does; refuses anything else before SQLite, which would write to it.
  static func checkBeginning(of path: String) throws(StoreError) {
    guard access(path, R_OK | W_OK) == 0 else {
      let problem = String(cString: strerror(errno))
      throw StoreError(
        "\(path) cannot be opened: \(problem). Give this user the right to read and write it: chmod u+rw \(path)",
        .cannotOpen)
    }
    guard let file = FileHandle(forReadingAtPath: path) else { throw cannotWrite(path) }
    defer { try? file.close() }
    let begin = [UInt8]((try? file.read(upToCount: 100)) ?? Data())
    guard begin.starts(with: Array("SQLite format 3\0".utf8)), begin.count == 100 else {
      throw .damaged(path, begin.isEmpty ? "it is empty" : "it does not begin as a store does; it may be another file")
    }
    let number = { (place: Int) in begin[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    try StoreSchema.check(
      application: Int32(bitPattern: number(68)), version: Int(Int32(bitPattern: number(60))), path: path)
  }

  /// Has the disk confirm what was made, renamed or removed in a directory.
  static func syncDirectory(of path: String) throws(StoreError) {
    let directory = directory(of: path)
    let file = open(directory, O_RDONLY)
    guard file >= 0 else { throw cannotWrite(directory) }
    defer { close(file) }
    guard fsync(file) == 0 else {
      throw StoreError("\(directory): the disk did not confirm it. Look after the disk.", .syncFailed)
    }
  }
}

/// The right to write a store, held as long as this is.
final class StoreLock {
  private let lock: EndpointLock

  init(_ path: String) throws(StoreError) {
    do throws(EndpointLockError) {
      lock = try EndpointLock.acquire(path)
    } catch {
      switch error {
      case .held(_, let process):
        let who = process.map { "process \($0)" } ?? "another process"
        throw StoreError("\(path) is in use by \(who). Stop that hub, or choose another path.", .inUse)
      case .unavailable(let problem):
        throw StoreError("\(path).lock cannot be made: \(problem). See that this user may write there.", .cannotOpen)
      }
    }
  }
}
