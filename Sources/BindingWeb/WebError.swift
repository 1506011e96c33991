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
  /// The list of the hub's members cannot be used.
  case members(problem: String)
  /// The gateway has been started before.
  case startedBefore

  public var description: String {
    switch self {
    case .noAddress(let text): "'\(text)' is not an address to serve pages at: write HOST:PORT, such as 127.0.0.1:7880"
    case .addressInUse(let address):
      "Another program listens at \(address). To serve the pages elsewhere:  --web 127.0.0.1:PORT  "
        + "(port 0 picks a free port)"
    case .notLoopback(let address):
      "Other machines can reach \(address), and the connection is not encrypted. Serve the pages on 127.0.0.1, or "
        + "accept that anyone on the network may read and write:  --insecure"
    case .cannotListen(let address, let problem): "Cannot serve pages at \(address): \(problem)"
    case .pages(let path, let problem): "Cannot serve the directory of pages \(path): \(problem)"
    case .key(let path, let problem): "Cannot use the token of the pages in \(path): \(problem)"
    case .members(let problem): problem
    case .startedBefore: "a gateway can start only once; create another one"
    }
  }
}
