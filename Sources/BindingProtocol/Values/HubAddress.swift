#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Where a hub listens: `ipc://PATH` or `tcp://HOST:PORT`.
public struct HubAddress: Hashable, Sendable, CustomStringConvertible {
  /// The transport that carries the frames.
  public enum Transport: String, Sendable {
    case ipc, tcp
  }

  /// The transport of the address.
  public let transport: Transport
  /// The path of an `ipc` address, the host of a `tcp` address (an IPv6 host keeps its brackets).
  public let hostOrPath: String
  /// The port of a `tcp` address, 0 to 65,535; nil for `ipc`. A hub that listens on 0 chooses a free port.
  public let port: Int?

  /// Parses an address.
  /// - Throws: `HubAddressError`, which shows the valid forms.
  public init(_ text: String) throws(HubAddressError) {
    if text.hasPrefix("ipc://"), text.utf8.count > 6 {
      self.init(transport: .ipc, hostOrPath: String(text.dropFirst(6)), port: nil)
    } else if text.hasPrefix("tcp://"), let colon = text.lastIndex(of: ":"),
      let port = Int(text[text.index(after: colon)...]), (0...65_535).contains(port),
      case let host = text.dropFirst(6).prefix(upTo: colon), !host.isEmpty
    {
      self.init(transport: .tcp, hostOrPath: String(host), port: port)
    } else {
      throw HubAddressError(text: text)
    }
  }

  /// Makes a `tcp` address.
  public init(tcp host: String, port: Int) { self.init(transport: .tcp, hostOrPath: host, port: port) }

  /// Whether only this machine can reach the address.
  public var isLoopback: Bool {
    transport == .ipc || hostOrPath == "localhost" || hostOrPath == "[::1]" || hostOrPath.hasPrefix("127.")
  }

  /// Whether a peer can connect to the address as it stands: it names one host and port, or an absolute path, in
  /// printable ASCII.
  package var isReachable: Bool {
    let isPrintable = hostOrPath.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    return switch transport {
    case .ipc: isPrintable && hostOrPath.hasPrefix("/")
    case .tcp: isPrintable && port != 0 && !["*", "0.0.0.0", "[::]"].contains(hostOrPath)
    }
  }

  private init(transport: Transport, hostOrPath: String, port: Int?) {
    self.transport = transport
    self.hostOrPath = hostOrPath
    self.port = port
  }

  public var description: String {
    port.map { "tcp://\(hostOrPath):\($0)" } ?? "ipc://\(hostOrPath)"
  }

  /// The form in which a welcome names this endpoint (protocol.md §4.2), without the host.
  public var endpointName: String {
    port.map { "tcp:\($0)" } ?? "ipc:\(hostOrPath)"
  }

  /// The address to subscribe to, given the endpoints in the hub's welcome: the entry for this address, else the
  /// first of the same transport.
  public func publishEndpoint(among endpoints: [HubEndpoint]) -> String? {
    let publish =
      (endpoints.first { $0.request == endpointName }
      ?? endpoints.first { $0.publish.hasPrefix(transport.rawValue + ":") })?.publish
    guard let publish, let colon = publish.firstIndex(of: ":") else { return nil }
    let rest = publish[publish.index(after: colon)...]
    return transport == .tcp ? "tcp://\(hostOrPath):\(rest)" : "ipc://\(rest)"
  }
}

extension HubAddress {
  /// The default address of this user's hub and peers: `$XDG_RUNTIME_DIR/bindhub/hub.sock`, or a private directory
  /// under the temp folder.
  public static var userDefault: HubAddress {
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
      return HubAddress(transport: .ipc, hostOrPath: "\(runtime)/bindhub/hub.sock", port: nil)
    }
    let temporary = environment("TMPDIR").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "/tmp"
    return HubAddress(transport: .ipc, hostOrPath: "\(temporary)/bindhub-\(getuid())/hub.sock", port: nil)
  }

  /// The addresses to try: those in `BINDPEER_HUB` (separated by commas), else `userDefault`.
  public static func fromEnvironment() throws(HubAddressError) -> [HubAddress] {
    guard let named = namedInEnvironment else { return [userDefault] }
    return try list(named)
  }

  /// What `BINDPEER_HUB` says; nil: nothing.
  package static var namedInEnvironment: String? {
    environment("BINDPEER_HUB").flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The addresses in a text, separated by commas, at least one.
  package static func list(_ text: String) throws(HubAddressError) -> [HubAddress] {
    let parts = text.split(separator: ",")
    guard !parts.isEmpty else { throw HubAddressError(text: text) }
    return try all(in: parts.map(String.init))
  }

  /// The addresses that texts name, one each.
  package static func all(in texts: [String]) throws(HubAddressError) -> [HubAddress] {
    try texts.map { text throws(HubAddressError) in try HubAddress(text) }
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

/// A text that is not a hub address.
public struct HubAddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The rejected text.
  public let text: String
  public var description: String {
    "'\(text)' is not a hub address: write ipc:///path/hub.sock or tcp://127.0.0.1:7877"
  }
}
