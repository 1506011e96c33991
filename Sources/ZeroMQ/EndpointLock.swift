import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Why an endpoint could not be locked.
package enum EndpointLockError: Error, Equatable, Sendable {
  /// A living process holds the lock; its process id, if the lock file states it.
  case held(path: String, byProcess: Int32?)
  /// The lock file could not be opened, locked or written.
  case unavailable(ZeroMQError)
}

extension EndpointLockError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .held(let path, let process):
      "\(path) is in use by \(process.map { "process \($0)" } ?? "another process"). Stop it, or choose another path."
    case .unavailable(let error): "\(error)"
    }
  }
}

/// The right to bind an `ipc://` path, held as a lock on a file beside it (`hub.sock.lock`).
///
/// libzmq lets a second process silently take over a bound path. The system drops the lock however its holder dies,
/// so a leftover lock file is no obstacle. The lock is released when this value ends, after the socket is closed;
/// that also removes the socket's file, which libzmq leaves behind.
package struct EndpointLock: ~Copyable, Sendable {
  /// The path of the socket, as given.
  package let socketPath: String
  /// The path of the lock file.
  package var path: String { Self.lockPath(socketPath) }
  private let fileDescriptor: Int32

  /// Locks the path for this process.
  ///
  /// - Parameter path: the path of the socket, without `ipc://`.
  /// - Throws: ``EndpointLockError``.
  package static func acquire(_ path: String) throws(EndpointLockError) -> EndpointLock {
    let lockPath = lockPath(path)
    while true {
      let file = czmq_open_lock_file(lockPath)
      if file < 0 {
        let code = zmq_errno()
        if code == EINTR { continue }
        throw .unavailable(ZeroMQError(code: code, call: "open", subject: lockPath))
      }
      if czmq_lock_exclusively(file) != 0 {
        let code = zmq_errno()
        let holder = processNumber(in: file)
        close(file)
        if code == EINTR { continue }
        if code == EWOULDBLOCK { throw .held(path: path, byProcess: holder) }
        throw .unavailable(ZeroMQError(code: code, call: "flock", subject: lockPath))
      }
      // The previous holder removes the file while holding the lock: a lock on a removed file protects nothing.
      guard isStillAt(lockPath, file) else {
        close(file)
        continue
      }
      let lock = EndpointLock(socketPath: path, fileDescriptor: file)
      try lock.writeProcessNumber()
      return lock
    }
  }

  private init(socketPath: String, fileDescriptor: Int32) {
    self.socketPath = socketPath
    self.fileDescriptor = fileDescriptor
  }

  deinit {
    if Self.isStillAt(path, fileDescriptor) {
      var status = stat()
      if lstat(socketPath, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(socketPath) }
      unlink(path)
    }
    close(fileDescriptor)
  }

  /// Releases the lock now.
  package consuming func release() {}

  private borrowing func writeProcessNumber() throws(EndpointLockError) {
    let text = Array("\(getpid())\n".utf8)
    guard ftruncate(fileDescriptor, 0) == 0, pwrite(fileDescriptor, text, text.count, 0) == text.count else {
      throw .unavailable(.last("write", path))
    }
  }

  private static func lockPath(_ socketPath: String) -> String { socketPath + ".lock" }

  private static func processNumber(in file: Int32) -> Int32? {
    var buffer = [UInt8](repeating: 0, count: 16)
    let count = pread(file, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: buffer.prefix(count).prefix { $0 != 10 }, as: UTF8.self))
  }

  private static func isStillAt(_ path: String, _ file: Int32) -> Bool {
    var ours = stat()
    var there = stat()
    return fstat(file, &ours) == 0 && lstat(path, &there) == 0 && ours.st_ino == there.st_ino
      && ours.st_dev == there.st_dev
  }
}
