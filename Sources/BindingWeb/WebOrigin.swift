/// An origin under which browsers reach a gateway: `https://panel.example`, `http://hall.lan:8080`. A reverse proxy
/// shows the gateway there, or a name of this machine leads to it.
public struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  /// Whether the browser's connection is encrypted.
  public let isSecure: Bool
  /// A name or a numeric address in small letters; IPv6 in brackets.
  public let host: String
  /// 1 to 65,535.
  public let port: Int

  /// At most this many origins for one gateway.
  public static let maxCount = 16

  /// Parses an origin: scheme, host, and a port if it is not the scheme's own.
  /// - Throws: `WebError.noOrigin`, which shows the valid form.
  public init(_ text: String) throws(WebError) {
    let shown = text.lowercased()
    guard let isSecure = shown.hasPrefix("https://") ? true : shown.hasPrefix("http://") ? false : nil else {
      throw .noOrigin(text: text)
    }
    var rest = String(shown.dropFirst(isSecure ? "https://".count : "http://".count))
    if rest.hasSuffix("/") { rest.removeLast() }
    let hasPort = rest.hasPrefix("[") ? rest.contains("]:") : rest.contains(":")
    guard let address = try? WebAddress(hasPort ? rest : "\(rest):\(WebOrigin.port(isSecure))"), address.port > 0 else {
      throw .noOrigin(text: text)
    }
    self.init(isSecure: isSecure, host: address.host, port: address.port)
  }

  init(isSecure: Bool, host: String, port: Int) {
    self.isSecure = isSecure
    self.host = host
    self.port = port
  }

  /// As browsers write it, in the header `Origin` too: without the scheme's own port.
  public var description: String { "\(isSecure ? "https" : "http")://\(authority)" }

  /// As browsers write it in the header `Host`.
  var authority: String { WebOrigin.authority("\(host):\(port)", isSecure: isSecure) }

  /// The text of a `Host` without the scheme's own port, in small letters.
  static func authority(_ host: String, isSecure: Bool) -> String {
    let ending = ":\(port(isSecure))"
    let host = host.lowercased()
    return host.hasSuffix(ending) ? String(host.dropLast(ending.count)) : host
  }

  private static func port(_ isSecure: Bool) -> Int { isSecure ? 443 : 80 }
}
