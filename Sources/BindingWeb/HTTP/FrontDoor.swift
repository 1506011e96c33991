import NIOCore
import NIOHTTP1

/// Who may come in: whose `Host` and `Origin` are the gateway's own, and who shows its token.
///
/// A page of another site that has its name point at this machine is caught by the `Host`, one that opens a WebSocket
/// to it by the `Origin`, and another account of this machine by the token.
struct FrontDoor: Sendable {
  /// `HOST:PORT`.
  let address: String
  let port: Int
  /// 32 hexadecimal digits; nil: everyone who reaches the port may come in.
  let token: String?
  private let hosts: Set<String>

  init(address: WebAddress, port: Int, token: String?) {
    self.address = "\(address.host):\(port)"
    self.port = port
    self.token = token
    let names = [address.host, "127.0.0.1", "localhost", "[::1]"]
    hosts = Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
  }

  /// 128 random bits of the system.
  static func newToken() -> String {
    var system = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let digits = String(UInt32.random(in: 0 ... .max, using: &system), radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }.joined()
  }

  var url: String { "http://\(address)/" + (token.map { "?token=\($0)" } ?? "") }

  var cookieName: String { "bindbus-\(port)" }

  /// What a browser is given for the token.
  func cookie(_ token: String) -> String { "\(cookieName)=\(token); HttpOnly; SameSite=Strict; Path=/" }

  // MARK: Host and origin

  /// - Parameter local: where the connection arrived, which is ours too: a gateway that listens everywhere is reached
  ///   by numbers that nobody named. A foreign name never is such a number.
  func isOurs(host: String, local: SocketAddress?) -> Bool {
    let host = host.lowercased()
    return hosts.contains(host) || host == FrontDoor.host(of: local)
  }

  func isOurs(origin: String, local: SocketAddress?) -> Bool {
    let scheme = "http://"
    return origin.lowercased().hasPrefix(scheme) && isOurs(host: String(origin.dropFirst(scheme.count)), local: local)
  }

  private static func host(of address: SocketAddress?) -> String? {
    guard let ip = address?.ipAddress, let port = address?.port else { return nil }
    return ip.contains(":") ? "[\(ip)]:\(port)" : "\(ip):\(port)"
  }

  // MARK: Token

  /// Whether a request shows the token: by its cookie, or in `Authorization`.
  func isKnown(_ headers: HTTPHeaders) -> Bool {
    guard token != nil else { return true }
    return showsBearer(headers) || showsCookie(headers)
  }

  /// Whether a program shows the token; a page of a browser cannot set this header on a WebSocket.
  func showsBearer(_ headers: HTTPHeaders) -> Bool {
    guard token != nil else { return true }
    return headers["authorization"].contains { value in
      let scheme = "bearer "
      return value.lowercased().hasPrefix(scheme) && isToken(value.dropFirst(scheme.count))
    }
  }

  private func showsCookie(_ headers: HTTPHeaders) -> Bool {
    let prefix = cookieName + "="
    return headers["cookie"].contains { line in
      line.split(separator: ";").contains { part in
        let pair = part.drop { $0 == " " }
        return pair.hasPrefix(prefix) && isToken(pair.dropFirst(prefix.count))
      }
    }
  }

  /// Looks at every byte whatever differs, so that the time taken tells nothing of the token.
  func isToken(_ shown: some StringProtocol) -> Bool {
    guard let token, shown.utf8.count == token.utf8.count else { return false }
    return zip(shown.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
