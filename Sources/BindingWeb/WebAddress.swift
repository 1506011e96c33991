import NIOCore

/// The address at which a gateway listens: `HOST:PORT`, such as `127.0.0.1:7880`, `[::1]:7880` or `localhost:0`.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  /// A name or a numeric address; IPv6 in brackets.
  public let host: String
  /// 0 to 65,535; 0 chooses a free port.
  public let port: Int

  /// The default address, which only this machine can reach.
  public static let standard = WebAddress(host: "127.0.0.1", port: 7_880)

  /// Parses an address.
  /// - Throws: `WebError.noAddress`, which shows the valid form.
  public init(_ text: String) throws(WebError) {
    guard let colon = text.lastIndex(of: ":"), case let digits = text[text.index(after: colon)...],
      digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits), (0...65_535).contains(port),
      case let host = String(text[..<colon]), WebAddress.isHost(host)
    else { throw .noAddress(text: text) }
    self.init(host: host.lowercased(), port: port)
  }

  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  public var description: String { "\(host):\(port)" }

  /// Whether only this machine can reach the address.
  public var isLoopback: Bool {
    if host == "localhost" { return true }
    switch numeric {
    case .v4?: return host.hasPrefix("127.")
    case .v6?: return bareHost == "::1"
    default: return false
    }
  }

  /// The host without brackets.
  var bareHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }

  /// The socket address if the host is numeric.
  var numeric: SocketAddress? { try? SocketAddress(ipAddress: bareHost, port: port) }

  static func isHost(_ host: String) -> Bool {
    if host.hasPrefix("[") {
      return host.hasSuffix("]") && (try? SocketAddress(ipAddress: String(host.dropFirst().dropLast()), port: 0)) != nil
    }
    return !host.isEmpty && host.utf8.count <= 253
      && host.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
      }
  }
}
