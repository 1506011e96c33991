/// Why a gateway cannot start.
public enum WebError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not an address.
  case noAddress(text: String)
  /// Another process listens there.
  case addressInUse(address: String)
  /// The text is not an origin.
  case noOrigin(text: String)
  /// The text is not the address or range of a proxy.
  case noProxy(text: String)
  /// More origins or proxies than a gateway takes.
  case tooMany(what: String, limit: Int)
  /// Two origins with one host and two schemes.
  case twoSchemes(host: String)
  /// The address is reachable from other machines, and the connection is not encrypted.
  case notLoopback(address: String)
  case cannotListen(address: String, problem: String)
  /// The folder of the user's own pages cannot be served.
  case pages(path: String, problem: String)
  /// The file with the token cannot be used.
  case key(path: String, problem: String)
  /// The list of the hub's members cannot be used.
  case members(problem: String)
  /// The file of the certificate or of its key cannot be used.
  case certificate(path: String, problem: String)
  /// This build has no TLS.
  case noTLS
  /// The gateway has been started before.
  case startedBefore

  public var description: String {
    switch self {
    case .noAddress(let text): "'\(text)' is not an address to serve pages at: write HOST:PORT, such as 127.0.0.1:7880"
    case .addressInUse(let address):
      "Another program listens at \(address). To serve the pages elsewhere:  --web 127.0.0.1:PORT  "
        + "(port 0 picks a free port)"
    case .notLoopback(let address):
      "Other machines can reach \(address), and the connection is not encrypted. Encrypt it:  --web-tls CERT KEY  "
        + "Or let a reverse proxy do that:  --web-proxy ADDRESS --web-origin https://NAME  "
        + "Or serve the pages on 127.0.0.1, or accept that anyone on the network may read and write:  --insecure"
    case .cannotListen(let address, let problem): "Cannot serve pages at \(address): \(problem)"
    case .pages(let path, let problem): "Cannot serve the directory of pages \(path): \(problem)"
    case .key(let path, let problem): "Cannot use the token of the pages in \(path): \(problem)"
    case .members(let problem): problem
    case .certificate(let path, let problem): "Cannot encrypt the pages with \(path): \(problem)"
    case .noTLS:
      "This build has no TLS: it was made without the trait WebTLS. Build it with the trait, or let a reverse proxy "
        + "encrypt the pages:  --web-origin https://NAME"
    case .noOrigin(let text):
      "'\(text)' is not an origin: write the scheme and host that browsers show, such as https://panel.example"
    case .noProxy(let text):
      "'\(text)' is not the address of a proxy: write a numeric address or a range, such as 10.0.0.2 or 10.0.0.0/24"
    case .tooMany(let what, let limit): "Too many \(what) of the pages are named; at most \(limit) are taken"
    case .twoSchemes(let host): "Both http and https are named as the pages' origin for \(host); name one"
    case .startedBefore: "a gateway can start only once; create another one"
    }
  }
}
