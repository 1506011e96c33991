public import BindingProtocol

extension Peer {
  /// What a peer keeps, its times and limits. Times are rounded up to milliseconds.
  /// ```swift
  /// let peer = try Peer(name: "kiosk", configuration: .init(outbox: .file("/var/lib/kiosk/outbox")))
  /// ```
  public struct Configuration: Sendable, Hashable {
    /// What is kept beyond the end of the program.
    public var keeping: Keeping
    /// Where writes without an outcome are kept, alone if this is set. In a file they survive the program: the next
    /// peer with the same file overlays its models with them again, and sends them first, unchanged. `keeping` keeps
    /// the values too.
    public var outbox: OutboxStorage {
      get { keeping.outbox }
      set { keeping = Keeping(outbox: newValue) }
    }
    /// How long the hub keeps a silent session; 0: the hub's default.
    public var lease: Duration = .zero
    /// A connection is given up if no welcome arrives this long after its hello.
    public var welcomeTimeout: Duration = .seconds(2)
    /// The pause before a new connection grows from this to `longestPause`; at least half of it is waited.
    public var shortestPause: Duration = .milliseconds(50)
    /// The longest pause before a new connection.
    public var longestPause: Duration = .seconds(1)
    /// A join without an answer, or a stalled catch-up, is asked for again after this time.
    public var joinTimeout: Duration = .seconds(3)
    /// A plain set that waited this long is sent as compare-and-set where others changed the field meanwhile.
    public var offlineAge: Duration = .seconds(10)
    /// How long a program that ends by itself (`main` returns, `exit`) waits for the outcomes of its writes before it
    /// says goodbye; 0: it ends immediately, and unsent writes are lost. A peer that never had a hub waits at most this
    /// long after it was made.
    public var exitTimeout: Duration = .seconds(1)
    /// The most writes that may be pending, over all models.
    public var maxOutboxWrites = 10_000
    /// The most bytes of pending writes, over all models.
    public var maxOutboxBytes = 8_388_608
    /// The most bytes of one model's commits that are buffered during a catch-up.
    public var maxBufferedBytes = 1_048_576
    /// The most commits that one update lists.
    public var maxListedCommits = 1_000
    /// How often a closure is asked to merge a write with those of others before the write ends as a conflict. Texts
    /// are merged without asking, as often as needed.
    public var maxMergeAttempts = 64
    /// At an edge (`bindhub serve --upstream`): models become current only with what the upstream hub has by then. An
    /// edge that cannot reach it lets such a peer wait. At other hubs it changes nothing.
    public var readsLatest = false
    /// The limits that apply before a hub has announced its own.
    public var limits = Limits()

    /// The defaults, with this outbox: writes are kept, values are not.
    public init(outbox: OutboxStorage = .memory) { keeping = Keeping(outbox: outbox) }

    /// The defaults, with writes and values kept there.
    public init(keeping: Keeping) { self.keeping = keeping }
  }
}

extension SessionOptions {
  init(_ configuration: Peer.Configuration) {
    leaseMilliseconds = UInt32(clamping: configuration.lease.wholeMilliseconds)
    welcomeMilliseconds = configuration.welcomeTimeout.wholeMilliseconds
    shortestPauseMilliseconds = configuration.shortestPause.wholeMilliseconds
    longestPauseMilliseconds = configuration.longestPause.wholeMilliseconds
    joinMilliseconds = configuration.joinTimeout.wholeMilliseconds
    offlineMilliseconds = configuration.offlineAge.wholeMilliseconds
    exitMilliseconds = configuration.exitTimeout.wholeMilliseconds
    maxOutboxWrites = configuration.maxOutboxWrites
    maxOutboxBytes = configuration.maxOutboxBytes
    maxBufferedBytes = configuration.maxBufferedBytes
    maxListedCommits = configuration.maxListedCommits
    maxMergeAttempts = configuration.maxMergeAttempts
    limits = configuration.limits
    readsLatest = configuration.readsLatest
  }
}
