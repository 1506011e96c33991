import BindingProtocol
import ZeroMQ

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The path of an `ipc` address: its directory, which no other user may write to, and a lock that excludes a second
/// hub.
///
/// ZeroMQ lets a second process replace a socket's path silently; only the lock beside it reveals the first. ZeroMQ
/// also leaves its socket files behind; this object removes them.
final class LockedSocketPath {
  private let lock: EndpointLock
  private let neighbours: [String]

  /// - Parameter neighbours: the paths of further sockets of this address.
  init(_ address: HubAddress, neighbours: [String]) throws(HubError) {
    self.neighbours = neighbours
    let directory = address.hostOrPath.lastIndex(of: "/").map { String(address.hostOrPath[..<$0]) } ?? "."
    try LockedSocketPath.prepare(directory.isEmpty ? "/" : directory, isDefault: address == .userDefault)
    do throws(EndpointLockError) {
      lock = try EndpointLock.acquire(address.hostOrPath)
    } catch {
      switch error {
      case .held(_, let process): throw .addressInUse(address: address.description, process: process)
      case .unavailable(let problem): throw .cannotListen(address: address.description, problem: "\(problem)")
      }
    }
  }

  deinit {
    for path in neighbours {
      var info = stat()
      if lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
    }
  }

  /// Makes the user's own directory (mode 0700) if it is missing, and refuses a directory to which other users can
  /// write.
  private static func prepare(_ directory: String, isDefault: Bool) throws(HubError) {
    var info = stat()
    if stat(directory, &info) != 0 {
      guard errno == ENOENT else { throw .directory(path: directory, problem: String(cString: strerror(errno))) }
      guard isDefault else {
        throw .directory(path: directory, problem: "it does not exist. Create it:  mkdir -p -m 700 \(directory)")
      }
      guard mkdir(directory, 0o700) == 0, stat(directory, &info) == 0 else {
        throw .directory(path: directory, problem: String(cString: strerror(errno)))
      }
    }
    guard info.st_mode & S_IFMT == S_IFDIR else { throw .directory(path: directory, problem: "it is not a directory") }
    guard info.st_uid == getuid() else { throw .directory(path: directory, problem: "it belongs to another user") }
    guard info.st_mode & 0o022 == 0 else {
      throw .directory(path: directory, problem: "other users can write to it. Fix it:  chmod go-w \(directory)")
    }
    guard access(directory, W_OK) == 0 else {
      throw .directory(path: directory, problem: "this user cannot write to it")
    }
  }
}
