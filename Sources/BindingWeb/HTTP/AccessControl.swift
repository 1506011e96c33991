import NIOCore
import NIOHTTP1

/// Who may come in: whose `Host` and `Origin` are the gateway's own, and who shows its token or a session.
///
/// A page of another site that has its name point at this machine is caught by the `Host`, one that opens a WebSocket
/// to it by the `Origin`, and another account of this machine by the token or session.
struct AccessControl: Sendable {
  /// `HOST:PORT`.
  let address: String
  let port: Int
  /// Nil: everyone who reaches the port may come in.
  let key: WebKey?
  private let hosts: Set<String>

  init(address: WebAddress, port: Int, key: WebKey?) {
    self.address = "\(address.host):\(port)"
    self.port = port
    self.key = key
    let names = [address.host, "127.0.0.1", "localhost", "[::1]"] + (key.map { [$0.hostName] } ?? [])
    hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
  }

  var url: String { WebEntry.url(address, key) }

  var cookieName: String { "bindbus-session-\(port)" }

  /// What a browser is given that was let in. A link from elsewhere may open a page with it; what a page writes goes
  /// over its WebSocket, which other sites cannot open.
  func cookie(_ key: WebKey, host: String, now: Int64) -> String {
    "\(cookieName)=\(key.session(host: host, now: now)); Max-Age=\(WebKey.sessionSeconds); "
      + "HttpOnly; SameSite=Lax; Path=/"
  }

  // MARK: Host and origin

  /// - Parameter local: where the connection arrived, which is ours too: a gateway that listens everywhere is reached
  ///   by numbers that nobody named. A foreign name never is such a number.
  func isOurs(host: String, local: SocketAddress?) -> Bool {
    let host = host.lowercased()
    return hosts.contains(host) || host == AccessControl.host(of: local)
  }

  func isOurs(origin: String, local: SocketAddress?) -> Bool {
    let scheme = "http://"
    return origin.lowercased().hasPrefix(scheme) && isOurs(host: String(origin.dropFirst(scheme.count)), local: local)
  }

  private static func host(of address: SocketAddress?) -> String? {
    guard let ip = address?.ipAddress, let port = address?.port else { return nil }
    return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
  }

  // MARK: Token and session

  /// Whether a request shows the token or a session of this host.
  func isKnown(_ headers: HTTPHeaders, now: Int64) -> Bool {
    showsBearer(headers) || sessionEnd(headers, now: now) != nil
  }

  /// Whether a program shows the token; a page of a browser cannot set this header on a WebSocket.
  func showsBearer(_ headers: HTTPHeaders) -> Bool {
    guard key != nil else { return true }
    return headers["authorization"].contains { value in
      let scheme = "bearer "
      return value.lowercased().hasPrefix(scheme) && isToken(value.dropFirst(scheme.count))
    }
  }

  /// When the session ends that a browser shows, in seconds since 1970; nil if it shows none that is good here.
  func sessionEnd(_ headers: HTTPHeaders, now: Int64) -> Int64? {
    guard let key, let host = headers["host"].first else { return nil }
    let prefix = cookieName + "="
    return headers["cookie"].lazy.flatMap { $0.split(separator: ";") }.compactMap { part in
      let pair = part.drop { $0 == " " }
      return pair.hasPrefix(prefix)
        ? key.end(ofSession: pair.dropFirst(prefix.count), host: host, now: now) : nil
    }.max()
  }

  func isToken(_ shown: some StringProtocol) -> Bool { key.map { WebKey.isSame(shown, $0.token) } ?? false }
}
