import BindingProtocol
import Foundation

/// A file that its owner alone may read. No reader ever sees half of one: it is written beside, synced and renamed.
enum PrivateFile {
  /// The most bytes that are read.
  static let limit = 64 << 20

  /// Reads a file.
  /// - Parameter isSecret: whether a file that others can read is refused.
  /// - Returns: nil if there is none.
  static func read(_ path: String, isSecret: Bool) throws(KeyError) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw .unusable(path: path, problem: lastProblem)
    }
    defer { close(file) }
    try check(try status(of: file, path), path, isSecret: isSecret)
    return try readAll(file, path)
  }

  /// Reads a file of JSON that names its kind and version.
  /// - Parameter problem: what is wrong with a file of another kind.
  /// - Returns: nil if there is none.
  static func readJSON(
    _ kind: String, _ version: Int64, at path: String, isSecret: Bool, otherwise problem: String
  ) throws(KeyError) -> JSON? {
    guard let bytes = try read(path, isSecret: isSecret) else { return nil }
    guard let json = try? JSON(parsing: String(decoding: bytes, as: UTF8.self)), json["bindbus"]?.string == kind else {
      throw .malformed(path: path, problem: problem)
    }
    guard json["version"]?.int64 == version else { throw .malformed(path: path, problem: "is of another release") }
    return json
  }

  /// Reads an open file from its beginning.
  static func readAll(_ file: Int32, _ path: String) throws(KeyError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = pread(file, &buffer, buffer.count, off_t(bytes.count))
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .unusable(path: path, problem: lastProblem) }
      if count == 0 { return bytes }
      bytes += buffer.prefix(count)
      guard bytes.count <= limit else { throw .malformed(path: path, problem: "is larger than a file of keys can be") }
    }
  }

  /// Writes a new file, mode 0600, and syncs it and its directory.
  /// - Throws: `KeyError.exists` if there is one, unless `replaces`.
  static func write(_ text: String, to path: String, replaces: Bool = false) throws(KeyError) {
    let beside = "\(path).\(UInt32.random(in: 0 ... .max)).new"
    let file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unusable(path: path, problem: lastProblem) }
    defer { unlink(beside) }
    defer { close(file) }
    try append(Array(text.utf8), to: file, path)
    if replaces {
      guard rename(beside, path) == 0 else { throw .unusable(path: path, problem: lastProblem) }
    } else if link(beside, path) != 0 {
      // Unlike a renaming, a link never takes the place of another file.
      if errno == EEXIST { throw .exists(path: path) }
      throw .unusable(path: path, problem: lastProblem)
    }
    try syncDirectory(of: path)
  }

  /// Lets a file take the place of another one, and syncs their directory.
  static func move(_ path: String, to other: String) throws(KeyError) {
    guard rename(path, other) == 0 else { throw .unusable(path: other, problem: lastProblem) }
    try syncDirectory(of: other)
  }

  /// Removes a file, and syncs its directory.
  /// - Returns: whether there was one.
  static func remove(_ path: String) throws(KeyError) -> Bool {
    guard unlink(path) == 0 else {
      if errno == ENOENT { return false }
      throw .unusable(path: path, problem: lastProblem)
    }
    try syncDirectory(of: path)
    return true
  }

  /// Runs a body while no other process does so for the same directory.
  static func exclusively<Value>(
    in directory: String, _ body: () throws(KeyError) -> Value
  ) throws(KeyError) -> Value {
    let file = open(directory, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .unusable(path: directory, problem: lastProblem) }
    defer { close(file) }
    while flock(file, LOCK_EX) != 0 {
      guard errno == EINTR else { throw .unusable(path: directory, problem: lastProblem) }
    }
    return try body()
  }

  /// Writes at the end of an open file, and syncs it.
  static func append(_ bytes: [UInt8], to file: Int32, _ path: String) throws(KeyError) {
    try write(bytes, to: file, path)
    guard fsync(file) == 0 else { throw .unusable(path: path, problem: lastProblem) }
  }

  private static func write(_ bytes: [UInt8], to file: Int32, _ path: String) throws(KeyError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Foundation.write(file, $0.baseAddress?.advanced(by: written), $0.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .unusable(path: path, problem: lastProblem) }
      written += count
    }
  }

  /// Appends to a log that its owner alone may read, without syncing it. A log that would grow past a limit is first
  /// set aside, with `.1` at the end of its name.
  static func append(_ bytes: [UInt8], toLogAt path: String, limit: Int) throws(KeyError) {
    var info = stat()
    if stat(path, &info) == 0, info.st_size > 0, Int(info.st_size) + bytes.count > limit {
      guard rename(path, path + ".1") == 0 else { throw .unusable(path: path, problem: lastProblem) }
    }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw .unusable(path: path, problem: lastProblem) }
    defer { close(file) }
    try check(try status(of: file, path), path, isSecret: true)
    try write(bytes, to: file, path)
  }

  /// Makes the directory of keys, mode 0700, with those above it.
  /// - Throws: `KeyError.exposed` if other users can write to it.
  static func makeDirectory(_ path: String) throws(KeyError) {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusable(path: path, problem: "\(error.localizedDescription)")
    }
    var info = stat()
    guard stat(path, &info) == 0 else { throw .unusable(path: path, problem: lastProblem) }
    try check(info, path, isSecret: false)
  }

  static var lastProblem: String { String(cString: strerror(errno)) }

  /// What the system knows of an open file.
  static func status(of file: Int32, _ path: String) throws(KeyError) -> stat {
    var info = stat()
    guard fstat(file, &info) == 0 else { throw .unusable(path: path, problem: lastProblem) }
    return info
  }

  /// - Throws: `KeyError.exposed` if other users can change what is there, or read it where it is secret.
  static func check(_ info: stat, _ path: String, isSecret: Bool) throws(KeyError) {
    guard info.st_uid == geteuid() else { throw .exposed(path: path, problem: "belongs to another user") }
    guard info.st_mode & (isSecret ? 0o077 : 0o022) == 0 else {
      throw .exposed(path: path, problem: isSecret ? "can be read by other users" : "can be changed by other users")
    }
  }

  private static func syncDirectory(of path: String) throws(KeyError) {
    let directory = (path as NSString).deletingLastPathComponent
    let file = open(directory.isEmpty ? "." : directory, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .unusable(path: path, problem: lastProblem) }
    defer { close(file) }
    guard fsync(file) == 0 else { throw .unusable(path: path, problem: lastProblem) }
  }
}
