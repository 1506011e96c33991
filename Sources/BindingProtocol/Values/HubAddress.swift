#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Where a hub listens: `ipc://PATH` or `tcp://HOST:PORT`.
public struct HubAddress: Hashable, Sendable, CustomStringConvertible {
  /// Which way the bytes go.
  public enum Transport: String, Sendable {
    case ipc, tcp
  }

  public let transport: Transport
  /// The path of an `ipc` address, the host of a `tcp` address (an IPv6 host keeps its brackets).
  public let hostOrPath: String
  /// The port of a `tcp` address, 0 to 65,535; to a hub 0 means any that is free.
  public let port: Int?

  /// Reads an address.
  /// - Throws: `HubAddressError`, which says what an address looks like.
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

  public init(tcp host: String, port: Int) { self.init(transport: .tcp, hostOrPath: host, port: port) }

  /// Whether only this machine reaches it.
  public var isLoopback: Bool {
    transport == .ipc || hostOrPath == "localhost" || hostOrPath == "[::1]" || hostOrPath.hasPrefix("127.")
  }

  private init(transport: Transport, hostOrPath: String, port: Int?) {
    self.transport = transport
    self.hostOrPath = hostOrPath
    self.port = port
  }

  public var description: String {
    port.map { "tcp://\(hostOrPath):\($0)" } ?? "ipc://\(hostOrPath)"
  }

  /// The form in which a welcome names this end (protocol.md §4.2), without the host.
  public var endpointName: String {
    port.map { "tcp:\($0)" } ?? "ipc:\(hostOrPath)"
  }

  /// Where to subscribe, given what the hub says of its ways: the entry for this address, else the first of the same
  /// transport.
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
  /// The address that a hub of this user listens on and a peer of this user asks, when neither is told otherwise:
  /// `$XDG_RUNTIME_DIR/bindhub/hub.sock`, or a private directory under the temp folder.
  public static var userDefault: HubAddress {
    if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
      return HubAddress(transport: .ipc, hostOrPath: "\(runtime)/bindhub/hub.sock", port: nil)
    }
    let temporary = environment("TMPDIR").map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "/tmp"
    return HubAddress(transport: .ipc, hostOrPath: "\(temporary)/bindhub-\(getuid())/hub.sock", port: nil)
  }

  /// The addresses to try, in order: those named in `BINDPEER_HUB` (separated by commas), else `userDefault`.
  public static func fromEnvironment() throws(HubAddressError) -> [HubAddress] {
    guard let named = environment("BINDPEER_HUB"), !named.isEmpty else { return [userDefault] }
    var addresses: [HubAddress] = []
    for part in named.split(separator: ",") { addresses.append(try HubAddress(String(part))) }
    return addresses
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }
}

/// A text that is no hub's address.
public struct HubAddressError: Error, Sendable, Equatable, CustomStringConvertible {
  public let text: String
  public var description: String {
    "'\(text)' is no hub address: write ipc:///path/hub.sock or tcp://127.0.0.1:7877"
  }
}
