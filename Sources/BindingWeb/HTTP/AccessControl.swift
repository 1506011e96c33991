import NIOCore
import NIOHTTP1

/// Decides which requests are allowed: `Host` and `Origin` must be the gateway's own or named, and the request must
/// carry its token or a session.
///
/// The `Host` check stops pages of another site that points its name at this machine, the `Origin` check stops
/// pages that open a WebSocket to it, and the token or session stops other accounts of this machine.
struct AccessControl: Sendable {
  /// `HOST:PORT`, where the gateway listens.
  let address: String
  let port: Int
  /// Nil: any client that can connect has access.
  let key: WebKey?
  /// The members' browsers; nil: the hub has no keys, and so no members.
  let members: PageSessions?
  /// The reverse proxies whose headers are believed.
  let proxies: [WebProxy]
  private let origins: [WebOrigin]
  let tls: ServerTLS?
  /// Whether only the proxies and this machine may connect: what others sent would cross the network unencrypted.
  private let isForProxiesOnly: Bool
  private let host: String
  /// The names of this gateway, as a browser writes them in `Host`.
  private let hosts: Set<String>

  init(
    _ configuration: WebGateway.Configuration, port: Int, key: WebKey?, tls: ServerTLS?, members: PageSessions? = nil
  ) {
    self.members = members
    host = configuration.address.host
    address = "\(host):\(port)"
    self.port = port
    self.key = key
    self.tls = tls
    (proxies, origins) = (configuration.proxies, configuration.origins)
    isForProxiesOnly = !configuration.address.isLoopback && tls == nil && !configuration.isInsecureAllowed
    let names = [host, "127.0.0.1", "localhost", "[::1]"] + (key.map { [$0.hostName] } ?? [])
    hosts = Set(names.map { WebOrigin.authority("\($0):\(port)", isSecure: tls != nil) })
  }

  /// The origin to open: the first that was named, else the address, under a name that the certificate has.
  var origin: String {
    if let named = origins.first { return "\(named)" }
    return "\(WebOrigin(isSecure: tls != nil, host: tls?.printedHost(for: host) ?? host, port: port))"
  }

  var url: String { WebEntry.url(origin, key) }

  var cookieName: String { "bindbus-session-\(port)" }

  /// The cookie for an authenticated browser. With it a link from another site may open a page, but pages write
  /// over their WebSocket, which other sites cannot open.
  func cookie(_ key: WebKey, host: String, now: Int64) -> String {
    cookie(key.session(host: host, now: now), host: host)
  }

  /// The cookie with this session, which lasts for 30 days.
  func cookie(_ session: String, host: String) -> String {
    "\(cookieName)=\(session); Max-Age=\(WebKey.sessionSeconds); " + (isSecure(host: host) ? "Secure; " : "")
      + "HttpOnly; SameSite=Lax; Path=/"
  }

  // MARK: Host and origin

  /// Whether a connection from this address may ask anything.
  func admits(_ remote: SocketAddress?) -> Bool {
    guard isForProxiesOnly else { return true }
    guard let remote = NumericAddress(remote) else { return false }
    return remote.isLoopback || proxies.contains { $0.contains(remote) }
  }

  /// - Parameter local: the local address of the connection, which also counts as the gateway's own: a gateway that
  ///   listens on all interfaces is reached by addresses that are not configured. A foreign host name never equals
  ///   such an address.
  func isOurs(host: String, local: String?) -> Bool {
    let authority = WebOrigin.authority(host, isSecure: tls != nil)
    return hosts.contains(authority) || named(host) != nil
      || authority == local.map { WebOrigin.authority($0, isSecure: tls != nil) }
      || tls?.covers(authority, port: port) ?? false
  }

  func isOurs(origin: String, local: String?) -> Bool {
    guard let shown = try? WebOrigin(origin), !origin.hasSuffix("/") else { return false }
    return isOurs(host: shown.authority, local: local) && shown.isSecure == isSecure(host: shown.authority)
  }

  /// The scheme by which a browser reaches the gateway as this host.
  func scheme(host: String) -> String { isSecure(host: host) ? "https" : "http" }

  private func isSecure(host: String) -> Bool { named(host)?.isSecure ?? (tls != nil) }

  /// The origin with this host that was named.
  private func named(_ host: String) -> WebOrigin? {
    origins.first { $0.authority == WebOrigin.authority(host, isSecure: $0.isSecure) }
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
