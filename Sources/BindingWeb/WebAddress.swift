import NIOCore

/// Where a gateway listens: `HOST:PORT`, such as `127.0.0.1:7880`, `[::1]:7880` or `localhost:0`.
public struct WebAddress: Hashable, Sendable, CustomStringConvertible {
  /// A name or a number; that of IPv6 in brackets.
  public let host: String
  /// 0 to 65,535; 0 means any that is free.
  public let port: Int

  /// Where a gateway listens that was told nothing: only this machine reaches it.
  public static let standard = WebAddress(host: "127.0.0.1", port: 7_880)

  /// Reads an address.
  /// - Throws: `WebFailure.noAddress`, which says what an address looks like.
  public init(_ text: String) throws(WebFailure) {
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

  /// Whether only this machine reaches it.
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

  /// The address when the host is a number.
  var numeric: SocketAddress? { try? SocketAddress(ipAddress: bareHost, port: port) }

  private static func isHost(_ host: String) -> Bool {
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
