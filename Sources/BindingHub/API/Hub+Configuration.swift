public import BindingProtocol

extension Hub {
  /// What a hub is started with.
  public struct Configuration: Sendable {
    /// The hub's name, which peers and the status show.
    public var name = "hub"
    /// The addresses to listen on. `tcp` beyond loopback is refused unless `isInsecureAllowed`.
    public var listen: [HubAddress] = [.userDefault]
    /// Lets any client that can connect to the port read and write everything. There are no keys yet.
    public var isInsecureAllowed = false
    /// The time between two heartbeats, in whole milliseconds; 0.25 to 5 s.
    public var heartbeat: Duration = .seconds(1)
    /// The lease of a session whose peer asks for none, in whole milliseconds.
    public var lease: Duration = .seconds(10)
    /// Whether a restarted hub recovers lost commits from its peers.
    public var isRecoveryOn = true
    /// Where commits are kept; nil: in memory, as long as the hub runs.
    public var store: HubStore?
    /// The hub's limits, which each welcome reports.
    public var limits = Limits()

    /// Wraps the store before the hub uses it, so that the fault tests record each commit before it is published.
    package var wrapStore: @Sendable (any Store) throws(StoreError) -> any Store = { $0 }

    /// The defaults.
    public init() {}
  }
}
