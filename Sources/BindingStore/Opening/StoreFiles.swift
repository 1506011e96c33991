import BindingHub
import Foundation

/// The files of a store: the database, the write-ahead log beside it, and the lock.
enum StoreFiles {
  static func log(of path: String) -> String { path + "-wal" }

  static func shared(of path: String) -> String { path + "-shm" }

  /// The store's files without the lock.
  static func all(of path: String) -> [String] { [path, log(of: path), shared(of: path)] }

  /// The kind of file at a path.
  enum Kind: Hashable {
    case nothing, file, directory
    /// Anything else, in words.
    case other(String)
  }

  static func kind(of path: String) -> Kind {
    var info = stat()
    guard stat(path, &info) == 0 else { return .nothing }
    return switch info.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .directory
    case S_IFIFO: .other("a named pipe")
    case S_IFSOCK: .other("a socket")
    default: .other("a device")
    }
  }

  /// Refuses anything but a file or a free path, before a call could block on it.
  static func checkKind(of path: String) throws(StoreError) {
    switch kind(of: path) {
    case .nothing, .file: return
    case .directory where RememberedLog.read(at: path) != nil:
      throw StoreError("\(path) is a directory, and was a store. \(StoreError.recovery(of: path))", .gone)
    case .directory:
      throw StoreError(
        "\(path) is a directory. Choose a file in it:  --store \(shellWord(path + "/hub.db"))", .cannotOpen)
    case .other(let name): throw StoreError("\(path) is \(name), not a file. Choose another path.", .cannotOpen)
    }
  }

  /// Bytes on disk.
  static func bytes(of path: String) -> UInt64 { size(path) + size(log(of: path)) }

  /// The size of a file in bytes; 0 if it is missing.
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

  /// Makes the directory (mode 0700) if it is missing, and checks that files may be created there.
  static func prepareDirectory(of path: String) throws(StoreError) {
    let directory = directory(of: path)
    switch kind(of: directory) {
    case .directory: break
    case .file, .other:
      throw StoreError("\(directory) is not a directory. Choose another path.", .cannotOpen)
    case .nothing:
      do {
        try FileManager.default.createDirectory(
          atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        // Some descriptions end with a full stop.
        let problem = error.localizedDescription.trimmingCharacters(in: ["."])
        throw StoreError("Cannot create \(directory): \(problem). Create it, or choose another path.", .cannotOpen)
      }
    }
    guard access(directory, W_OK | X_OK) == 0 else { throw cannotWrite(directory) }
  }

  /// - Parameter code: the `errno` of the failed call.
  static func cannotWrite(_ path: String, _ code: Int32 = errno) -> StoreError {
    let problem = String(cString: strerror(code))
    let cure =
      switch code {
      case EROFS: "Choose a path on another disk."
      case ENOSPC, EDQUOT:
        "Free some space (or inodes), or choose a path on another disk."
      default:
        "Let this user write there:  chmod u+rwx "
          + shellWord(kind(of: path) == .directory ? path : directory(of: path))
      }
    return StoreError("Cannot write to \(path): \(problem). \(cure)", .cannotOpen)
  }

  /// Replaces a small file: after a crash either the old or the new one is there, whole.
  /// - Returns: 0, or an `errno`.
  static func replace(_ path: String, by bytes: [UInt8]) -> Int32 {
    let new = path + ".new"
    let file = open(new, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
    guard file >= 0 else { return errno }
    let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
    var code = isWritten ? 0 : errno
    close(file)
    if code == 0, rename(new, path) != 0 { code = errno }
    if code != 0 { unlink(new) }
    return code
  }

  /// Removes what an unfinished start or restore left: a store that was never moved into place, and a second name
  /// of the present one.
  static func sweep(_ path: String) {
    for file in all(of: path + ".new") + [path + ".new-journal", RememberedLog.path(of: path) + ".new"] { unlink(file) }
    let directory = directory(of: path)
    guard let here = FileID(path), let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
      return
    }
    let beginning = (path as NSString).lastPathComponent + ".before-"
    for name in names where name.hasPrefix(beginning) && FileID("\(directory)/\(name)") == here {
      for file in all(of: "\(directory)/\(name)") { unlink(file) }
    }
  }

  /// Checks that the file begins like a store, before SQLite could write to anything else.
  static func checkBeginning(of path: String) throws(StoreError) {
    guard access(path, R_OK | W_OK) == 0 else {
      let problem = String(cString: strerror(errno))
      throw StoreError(
        "Cannot open \(path): \(problem). Let this user read and write it:  chmod u+rw "
          + shellWord(path),
        .cannotOpen)
    }
    guard let file = FileHandle(forReadingAtPath: path) else { throw cannotWrite(path) }
    defer { try? file.close() }
    let begin = [UInt8]((try? file.read(upToCount: 100)) ?? Data())
    guard begin.starts(with: Array("SQLite format 3\0".utf8)), begin.count == 100 else {
      throw .damaged(
        path, begin.isEmpty ? "it is empty" : "it does not begin like a store; it may be another kind of file")
    }
    let number = { (offset: Int) in begin[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    try StoreSchema.check(
      application: Int32(bitPattern: number(68)), version: Int(Int32(bitPattern: number(60))), path: path)
  }

  /// Has the disk confirm the changes of a directory.
  static func syncDirectory(of path: String) throws(StoreError) {
    let directory = directory(of: path)
    let file = open(directory, O_RDONLY)
    guard file >= 0 else { throw cannotWrite(directory) }
    defer { close(file) }
    guard fsync(file) == 0 else {
      throw StoreError("\(directory): the disk did not confirm a write. Check the disk.", .syncFailed)
    }
  }
}

/// A path quoted as one shell word.
func shellWord(_ path: String) -> String {
  let plain = path.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "@"):
      true
    default: false
    }
  }
  return plain ? path : "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'"
}
