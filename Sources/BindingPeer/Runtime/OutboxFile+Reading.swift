import BindingProtocol
import Foundation

/// Reading the file, and the copy of a torn one.
extension OutboxFile {
  static func openDescriptor(_ path: String, _ flags: Int32) throws(OutboxError) -> Int32 {
    let descriptor = Foundation.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw .unusable(path: path, problem: lastProblem) }
    var status = stat()
    let problem: OutboxError? =
      if fstat(descriptor, &status) != 0 {
        .unusable(path: path, problem: lastProblem)
      } else if status.st_mode & S_IFMT != S_IFREG {
        .unusable(path: path, problem: "it is not a regular file")
      } else if status.st_mode & 0o077 != 0 {
        .openToOthers(path: path)
      } else {
        nil
      }
    guard let problem else { return descriptor }
    Foundation.close(descriptor)
    throw problem
  }

  /// - Parameter isShared: another process is writing the file, and may have truncated it meanwhile.
  static func readAll(_ descriptor: Int32, _ path: String, isShared: Bool = false) throws(OutboxError) -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .unusable(path: path, problem: lastProblem) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var filled = 0
    while filled < bytes.count {
      let wanted = bytes.count - filled
      // SAFETY: not empty, so there is an address.
      let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress! + filled, wanted, off_t(filled)) }
      if count < 0, errno == EINTR { continue }
      if count == 0, isShared { return Array(bytes.prefix(filled)) }
      guard count > 0 else { throw .unusable(path: path, problem: lastProblem) }
      filled += count
    }
    return bytes
  }

  static func parse(_ bytes: [UInt8], _ path: String, isShared: Bool) throws(OutboxError) -> OutboxLog.Reading {
    do throws(OutboxDamage) {
      return try bytes.withUnsafeBytes { bytes in
        Result { () throws(OutboxDamage) in try OutboxLog.read(bytes, isShared: isShared) }
      }.get()
    } catch {
      switch error {
      case .notAnOutbox: throw .notAnOutbox(path: path)
      case .newerVersion(let found): throw .newerVersion(path: path, found: found, known: OutboxLog.version)
      case .damaged(let offset): throw .damaged(path: path, atByte: offset)
      }
    }
  }

  /// Copies a file whose end the power cut tore, before it is truncated.
  /// - Returns: the path of the copy.
  static func setAside(_ bytes: [UInt8], _ path: String) throws(OutboxError) -> String {
    let copy = path + ".torn"
    unlink(copy)
    let descriptor = Foundation.open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw .unwritable(path: copy, problem: lastProblem) }
    defer { Foundation.close(descriptor) }
    let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    guard count == bytes.count, fsync(descriptor) == 0 else { throw .unwritable(path: copy, problem: lastProblem) }
    return copy
  }

  /// The message of the last call that failed.
  static var lastProblem: String { String(cString: strerror(errno)) }
}
