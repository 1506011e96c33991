/// A node's client address.
public struct EtcdEndpoint: Sendable, Hashable, CustomStringConvertible {
  /// A host name or address; an IPv6 address without brackets.
  public var host: String
  /// 1 to 65,535.
  public var port: Int

  /// `host:port`, an IPv6 address in brackets.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// Where etcd is and which keys are the hub's: `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, with `etcds://` over TLS.
public struct EtcdAddress: Sendable, Hashable, CustomStringConvertible {
  /// At least one; any number of the cluster's nodes.
  public var endpoints: [EtcdEndpoint]
  /// What all keys begin with, without slashes at its ends. Hubs with the same prefix share a log.
  public var prefix: String
  /// Whether to use TLS.
  public var usesTLS: Bool

  /// Why a text is no address.
  public struct ParseError: Error, Sendable, CustomStringConvertible {
    /// One sentence that names the cure.
    public var description: String
  }

  /// An address of these endpoints.
  public init(endpoints: [EtcdEndpoint], prefix: String = "bindbus", usesTLS: Bool = false) {
    self.endpoints = endpoints
    self.prefix = prefix
    self.usesTLS = usesTLS
  }

  /// Reads an address.
  /// - Throws: `ParseError` that says what is wrong.
  public init(_ text: String) throws(ParseError) {
    guard let scheme = ["etcd://", "etcds://"].first(where: { text.hasPrefix($0) }) else {
      throw ParseError(description: "\(text): write etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// for TLS")
    }
    usesTLS = scheme == "etcds://"
    let rest = text.dropFirst(scheme.count)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    endpoints = []
    for part in rest[..<slash].split(separator: ",", omittingEmptySubsequences: false) {
      endpoints.append(try EtcdAddress.endpoint(part, in: text))
    }
    let path = rest[slash...].drop { $0 == "/" }
    prefix = path.isEmpty ? "bindbus" : String(path)
    while prefix.hasSuffix("/") { prefix.removeLast() }
    guard prefix.utf8.count <= 200, prefix.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "?") }) else {
      throw ParseError(description: "\(text): a prefix has at most 200 letters, digits and signs of ASCII, no spaces")
    }
  }

  private static func endpoint(_ part: Substring, in text: String) throws(ParseError) -> EtcdEndpoint {
    guard !part.isEmpty else {
      throw ParseError(description: "\(text): an address is empty; write HOST:PORT, several with commas between them")
    }
    guard !part.contains("@") else {
      throw ParseError(description: "\(text): name the user and a password file as options, not in the address")
    }
    let host: Substring
    var port: Substring = "2379"
    if part.hasPrefix("[") {
      guard let end = part.firstIndex(of: "]") else {
        throw ParseError(description: "\(text): \(part) lacks the ] after an IPv6 address")
      }
      host = part[part.index(after: part.startIndex)..<end]
      let rest = part[part.index(after: end)...]
      if rest.hasPrefix(":") { port = rest.dropFirst() } else { port = rest.isEmpty ? port : "?" }
    } else if let colon = part.lastIndex(of: ":") {
      (host, port) = (part[..<colon], part[part.index(after: colon)...])
      guard !host.contains(":") else {
        throw ParseError(description: "\(text): write an IPv6 address in brackets, as in [::1]:2379")
      }
    } else {
      host = part
    }
    guard let number = Int(port), (1...65_535).contains(number), !host.isEmpty else {
      throw ParseError(description: "\(text): \(part) is not HOST:PORT with a port of 1 to 65535")
    }
    return EtcdEndpoint(host: String(host), port: number)
  }

  /// The address as it is written.
  public var description: String {
    "\(usesTLS ? "etcds" : "etcd")://\(endpoints.map(\.description).joined(separator: ","))/\(prefix)"
  }
}

/// How to reach etcd, beside its address.
public struct EtcdOptions: Sendable, Hashable {
  /// The path of the CA that signed etcd's certificates, PEM; nil: those that the system trusts.
  public var ca: String?
  /// The paths of the client certificate and its key, PEM. Its common name is the user, if etcd has users.
  public var certificate, key: String?
  /// The user's name; nil: none.
  public var user: String?
  /// The path of a file whose first line is the user's password.
  public var passwordFile: String?
  /// etcd's quota in bytes, if its metrics do not tell; nil: they do.
  public var quota: UInt64?
  /// How long an append is tried before its answer is *unknown*.
  public var appendTimeout: Duration = .seconds(10)
  /// After how long without an answer another node is tried.
  public var callTimeout: Duration = .milliseconds(1_000)
  /// How long opening tries to reach any node.
  public var openTimeout: Duration = .seconds(10)
  /// The life of a user's token, as etcd's `--auth-token-ttl` has it; the token is renewed at two thirds of it.
  public var tokenLife: Duration = .seconds(300)

  /// Without TLS files and user.
  public init() {}
}
