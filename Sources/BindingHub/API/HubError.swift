/// Why a hub does not start. The description names the obstacle and the remedy.
public enum HubError: Error, Sendable, CustomStringConvertible {
  /// Another hub listens at the address.
  case addressInUse(address: String, process: Int32?)
  /// One of the address's two ports is taken by a hub or by another program.
  case portInUse(address: String, port: Int, byHub: Bool)
  /// The address is reachable from other machines, and nothing protects it.
  case notLoopback(address: String)
  /// The hub's keys or its members cannot be read.
  case keys(String)
  /// The hub did not refuse a stranger at one of its encrypted endpoints.
  case selfTest(endpoint: String, problem: String)
  /// The socket's directory cannot be made, or other users may write to it.
  case directory(path: String, problem: String)
  /// The address cannot be bound.
  case cannotListen(address: String, problem: String)
  /// The limit of open files is too low for a hub.
  case openFiles(allowed: Int, needed: Int)
  /// The store cannot be opened, or its contents are damaged.
  case store(StoreError)
  /// The system refused a resource that the hub needs.
  case system(String)

  public var description: String {
    switch self {
    case .addressInUse(let address, let process):
      "Another hub listens at \(address)" + (process.map { " (process \($0))" } ?? "")
        + ". Stop it, or \(HubError.elsewhere)"
    case .portInUse(let address, let port, let byHub):
      "\(byHub ? "Another hub" : "Another program") uses port \(port)"
        + (address.hasSuffix(":\(port)") ? "" : ", on which a hub at \(address) publishes") + ". Stop it, or "
        + HubError.elsewhere
    case .notLoopback(let address):
      "Other machines can reach \(address), and this hub has no keys to tell members from strangers. "
        + "Create them:  bindhub keys init\n"
        + "Or listen on 127.0.0.1, or accept that any client that can connect may read and write:  --insecure"
    case .keys(let problem): problem
    case .selfTest(let endpoint, let problem):
      "This hub does not run: \(endpoint) \(problem), so its keys protect nothing. Please report this with the "
        + "version of libzmq"
    case .directory(let path, let problem): "Cannot create the hub's socket in the directory \(path): \(problem)"
    case .cannotListen(let address, let problem): "Cannot listen at \(address): \(problem)"
    case .openFiles(let allowed, let needed):
      "This process may open \(allowed) files; a hub needs \(needed). Raise the limit:  ulimit -n 1024"
    case .system(let problem): problem
    case .store(let error): error.description
    }
  }

  private static let elsewhere = "listen elsewhere:  bindhub serve --listen ADDRESS"
}
