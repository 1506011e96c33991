import BindingProtocol
import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The access data of a gateway, kept in a file that only its owner can read: the token, and where pages are
/// served.
///
/// The token is permanent, so a restarted gateway recognises its browsers and programs. Anyone who can read the
/// file has access.
package struct WebEntry: Sendable {
  /// The path of the file.
  package let path: String
  /// `HOST:PORT`, as of the gateway's last start.
  package let address: String
  /// The token that programs send as `Authorization: Bearer TOKEN`; nil if none is required.
  package var token: String? { isOpen ? nil : key.token }

  /// The origin of the address to open, such as `https://panel.example`.
  package let origin: String

  let key: WebKey
  let isOpen: Bool
  /// Whether the gateway encrypts its connections itself.
  let isEncrypted: Bool

  init(path: String, for access: AccessControl, key: WebKey) {
    self.path = path
    self.key = key
    (address, origin) = (access.address, access.origin)
    (isOpen, isEncrypted) = (access.key == nil, access.tls != nil)
  }

  private init?(path: String, _ json: JSON) {
    guard let token = json["token"]?.string, token.utf8.count == 32, let run = json["run"]?.string,
      let address = json["address"]?.string
    else { return nil }
    self.path = path
    self.address = address
    key = WebKey(token: token, run: run)
    // A gateway before these members had no other origin.
    origin = json["origin"]?.string ?? "http://\(address)"
    isOpen = json["open"]?.boolean ?? false
    isEncrypted = json["encrypted"]?.boolean ?? false
  }

  /// Reads the file of a gateway.
  /// - Returns: nil if there is no file.
  /// - Throws: `WebError.key` if others can read the file, or if a gateway did not write it.
  package static func read(_ path: String) throws(WebError) -> WebEntry? {
    guard let json = try content(of: path) else { return nil }
    guard let entry = WebEntry(path: path, json) else {
      throw .key(path: path, problem: "no gateway has created this file: remove it, and restart the hub")
    }
    return entry
  }

  /// An address to open in a browser, with a code that works once, within five minutes.
  package func url() -> String { WebEntry.url(origin, isOpen ? nil : key) }

  /// An address to open in a browser, with a code, under a secret host name that browsers resolve to this machine:
  /// a browser sends cookies to every port of a host name. Nil if no token is required, or the gateway listens
  /// elsewhere, or its certificate is for other names.
  package func ownNameURL() -> String? {
    let everywhere = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]"]
    guard !isOpen, !isEncrypted, let address = try? WebAddress(address), everywhere.contains(address.host) else {
      return nil
    }
    return WebEntry.url("http://\(key.hostName):\(address.port)", key)
  }

  static func url(_ origin: String, _ key: WebKey?) -> String {
    "\(origin)/" + (key.map { "?code=\($0.code(now: WebEntry.now))" } ?? "")
  }

  /// Whether something listens at the address. Blocks the calling thread.
  package func isServed(timeoutMilliseconds: Int64 = 2_000) -> Bool {
    guard let address = try? WebAddress(address) else { return false }
    let connecting = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.milliseconds(timeoutMilliseconds)).connect(host: address.bareHost, port: address.port)
    guard let channel = try? connecting.wait() else { return false }
    channel.close(promise: nil)
    return true
  }

  /// Seconds since 1970.
  static var now: Int64 { Int64(time(nil)) }

  // MARK: The file

  func write() throws(WebError) {
    let members: [JSON.Member] = [
      .init("token", .string(key.token)), .init("run", .string(key.run)), .init("address", .string(address)),
      .init("origin", .string(origin)), .init("open", .bool(isOpen)), .init("encrypted", .bool(isEncrypted)),
    ]
    // Written beside the file and renamed, so that readers see a complete file.
    let new = path + ".new"
    unlink(new)
    let descriptor = open(new, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure() }
    let bytes = JSON.object(members).bytes + [UInt8(ascii: "\n")]
    let isWritten = bytes.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) } == bytes.count
    let isSynced = isWritten && fsync(descriptor) == 0
    close(descriptor)
    guard isSynced, rename(new, path) == 0 else {
      let failure = failure()
      unlink(new)
      throw failure
    }
  }

  private func failure() -> WebError { .key(path: path, problem: String(cString: strerror(errno))) }

  private static func content(of path: String) throws(WebError) -> JSON? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw .key(path: path, problem: String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    var info = stat()
    guard fstat(descriptor, &info) == 0, info.st_mode & 0o077 == 0 else {
      throw .key(path: path, problem: "other users can read it; restrict it:  chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = max(0, systemRead(descriptor, &bytes, bytes.count))
    return bytes[..<count].withUnsafeBytes { try? JSON(parsing: $0) } ?? .null
  }
}

// Inside the type, `read` would mean its own function.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
