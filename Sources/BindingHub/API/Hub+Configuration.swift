public import BindingProtocol

extension Hub {
  /// What a hub is started with.
  public struct Configuration: Sendable {
    /// The hub's name, which peers and the status show.
    public var name = "hub"
    /// The addresses to listen on. `tcp` beyond loopback needs `keys`, or `isInsecureAllowed`.
    public var listen: [HubAddress] = [.userDefault]
    /// The directory of the hub's keys and members, made by `bindhub keys init`: then `tcp` is encrypted, and only
    /// members may connect. `ipc` stays open to whom the socket's directory lets through. nil: `tcp` is neither
    /// encrypted nor protected.
    public var keys: String?
    /// Lets any client that can connect to a `tcp` port of a hub without keys read and write everything.
    public var isInsecureAllowed = false
    /// The time between two heartbeats, in whole milliseconds; 0.25 to 5 s.
    public var heartbeat: Duration = .seconds(1)
    /// The lease of a session whose peer asks for none, in whole milliseconds.
    public var lease: Duration = .seconds(10)
    /// Whether a restarted hub recovers lost commits from its peers.
    public var isRecoveryOn = true
    /// How long a hub whose store was recreated by `bindhub recover` waits for the replicas of peers, of any epoch.
    package var recreatedWait: Duration = .zero
    /// Where commits are kept; nil: in memory, as long as the hub runs.
    public var store: HubStore?
    /// The hub's limits, which each welcome reports.
    public var limits = Limits()

    /// Where the other hubs of the same log listen, at most 32: a peer that is welcomed is told them, and goes there
    /// when this hub ends. Each is an address to which peers can connect, not one to listen on.
    public var otherHubs: [HubAddress] = []

    /// Whether recorded commits are put in (`Hub.play`), which hold what expired too: no value expires by itself.
    package var isPlayback = false

    /// The ways to the other hubs of the same log, whose peers' ephemeral fields and presence are shown here too.
    package var siblings: [HubUpstream] = []

    /// Makes the hub an edge, which follows another hub and has no store of its own.
    package var upstream: HubUpstream?

    /// Wraps the store before the hub uses it, so that the fault tests record each commit before it is published.
    package var wrapStore: @Sendable (any Store) throws(StoreError) -> any Store = { $0 }

    /// The defaults.
    public init() {}
  }
}
