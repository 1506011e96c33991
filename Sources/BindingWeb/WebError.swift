/// Why a gateway cannot start.
public enum WebError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The text is not an address.
  case noAddress(text: String)
  /// Another process listens there.
  case addressInUse(address: String)
  /// The address is reachable from other machines, and the connection is not encrypted.
  case notLoopback(address: String)
  case cannotListen(address: String, problem: String)
  /// The folder of the user's own pages cannot be served.
  case pages(path: String, problem: String)
  /// The file with the token cannot be used.
  case key(path: String, problem: String)
  /// The gateway has been started before.
  case startedBefore

  public var description: String {
    switch self {
    case .noAddress(let text): "'\(text)' is no address to serve pages at: write HOST:PORT, as 127.0.0.1:7880"
    case .addressInUse(let address):
      "Something else listens at \(address). Serve the pages elsewhere:  --web 127.0.0.1:PORT  "
        + "(port 0: any that is free)"
    case .notLoopback(let address):
      "\(address) can be reached from other machines, and what goes there is not encrypted. Serve the pages on "
        + "127.0.0.1, or accept that everyone on the way may read and write:  --insecure"
    case .cannotListen(let address, let problem): "Cannot serve pages at \(address): \(problem)"
    case .pages(let path, let problem): "The folder of pages \(path) cannot be served: \(problem)"
    case .key(let path, let problem): "The token for pages is kept in \(path): \(problem)"
    case .startedBefore: "a gateway is started once; make another one"
    }
  }
}
