import NIOCore
import NIOHTTP1

/// Decides which requests are allowed: `Host` and `Origin` must be the gateway's own, and the request must carry
/// its token or a session.
///
/// The `Host` check stops pages of another site that points its name at this machine, the `Origin` check stops
/// pages that open a WebSocket to it, and the token or session stops other accounts of this machine.
struct AccessControl: Sendable {
  /// `HOST:PORT`.
  let address: String
  let port: Int
  /// Nil: any client that can connect has access.
  let key: WebKey?
  /// The members' browsers; nil: the hub has no keys, and so no members.
  let members: PageSessions?
  private let hosts: Set<String>

  init(address: WebAddress, port: Int, key: WebKey?, members: PageSessions? = nil) {
    self.members = members
    self.address = "\(address.host):\(port)"
    self.port = port
    self.key = key
    let names = [address.host, "127.0.0.1", "localhost", "[::1]"] + (key.map { [$0.hostName] } ?? [])
    hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
  }

  var url: String { WebEntry.url(address, key) }

  /// The same without path and code.
  var base: String { "http://\(address)" }

  var cookieName: String { "bindbus-session-\(port)" }

  /// The cookie for an authenticated browser. With it a link from another site may open a page, but pages write
  /// over their WebSocket, which other sites cannot open.
  func cookie(_ key: WebKey, host: String, now: Int64) -> String {
    cookie(key.session(host: host, now: now))
  }

  /// The cookie with this session, which lasts for 30 days.
  func cookie(_ session: String) -> String {
    "\(cookieName)=\(session); Max-Age=\(WebKey.sessionSeconds); HttpOnly; SameSite=Lax; Path=/"
  }

  // MARK: Host and origin

  /// - Parameter local: the local address of the connection, which also counts as the gateway's own: a gateway that
  ///   listens on all interfaces is reached by addresses that are not configured. A foreign host name never equals
  ///   such an address.
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

  /// Who makes a request.
  enum Visitor {
    /// The hub's own user, who may do everything.
    case owner
    /// A member, by a browser that an invitation has let in.
    case member(PageMember)
  }

  /// Who makes a request: by the token or a session for this host, or by a member's session; nil: a stranger.
  func visitor(_ headers: HTTPHeaders, now: Int64) -> Visitor? {
    if showsBearer(headers) || sessionEnd(headers, now: now) != nil { return .owner }
    guard let members else { return nil }
    return cookies(headers).compactMap { members.member(showing: $0) }.first.map { .member($0) }
  }

  func isKnown(_ headers: HTTPHeaders, now: Int64) -> Bool { visitor(headers, now: now) != nil }

  /// Whether a request carries the token as a program sends it. Pages cannot set this header on a WebSocket.
  func showsBearer(_ headers: HTTPHeaders) -> Bool {
    guard key != nil else { return true }
    return headers["authorization"].contains { value in
      let scheme = "bearer "
      return value.lowercased().hasPrefix(scheme) && isToken(value.dropFirst(scheme.count))
    }
  }

  /// When the browser's session expires, in seconds since 1970; nil without a valid session.
  func sessionEnd(_ headers: HTTPHeaders, now: Int64) -> Int64? {
    guard let key, let host = headers["host"].first else { return nil }
    return cookies(headers).compactMap { key.end(ofSession: $0, host: host, now: now) }.max()
  }

  /// The values of this gateway's cookies.
  private func cookies(_ headers: HTTPHeaders) -> [Substring] {
    let prefix = cookieName + "="
    return headers["cookie"].flatMap { $0.split(separator: ";") }.compactMap { part in
      let pair = part.drop { $0 == " " }
      return pair.hasPrefix(prefix) ? pair.dropFirst(prefix.count) : nil
    }
  }

  func isToken(_ shown: some StringProtocol) -> Bool { key.map { WebKey.isSame(shown, $0.token) } ?? false }
}
