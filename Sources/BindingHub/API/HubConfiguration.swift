public import BindingProtocol

/// What a hub's machine is told at its start and never changes.
public struct HubConfiguration: Sendable {
  public var limits = Limits()
  public var heartbeatMilliseconds: UInt32 = 1_000
  /// The lease of a session whose peer asks for none.
  public var leaseMilliseconds: UInt32 = 10_000
  /// The bounds of a lease that a peer asks for, milliseconds.
  public var leaseRange: ClosedRange<UInt32> = 1_000...60_000
  /// Sessions of one connection, and of one of the hub's own process, such as a gateway's, which has one for each page.
  /// The refusal names these limits.
  public var maxConnectionSessions = 16
  public var maxInProcessSessions = 1_000
  /// Between two reports of how the hub is.
  public var reportMilliseconds: UInt64 = 100
  public var name = "hub"
  public var durability = Durability.memory
  public var endpoints: [HubEndpoint] = []
  /// Whether peers are asked for what a hub without a proven tail lacks.
  public var recovery = true
  /// A join whose subscription does not arrive in this time is served on the request connection (R13).
  public var subscriptionMilliseconds: UInt64 = 1_000
  /// A recovery ends when no further peer of the old epoch has joined for the first span, at the latest after the
  /// second.
  public var recoveryQuietMilliseconds: UInt64 = 400
  public var recoveryMilliseconds: UInt64 = 2_000
  /// So long after its beginning a life of the log asks also those for replicas who are no further than others were.
  public var earlyMilliseconds: UInt64 = 60_000
  /// Bytes of commits decided together that are published in one message, when each of them is small enough.
  public var maxGroupBytes = 131_072
  /// Commits remembered by the fields they touched, per model, so that a delta need not look at every field.
  public var recentCommits = 1_000
  /// Outcomes kept for a writer that does not confirm them; past it its proposals are held.
  public var maxUnconfirmedOutcomes = 1_024
  /// Proposals of one model that wait while its batch is being stored; past it they are held.
  public var maxWaitingProposals = 4_096
  /// How long nothing is decided after a batch for which the store had no room.
  public var fullMilliseconds: UInt64 = 1_000
  /// How long a model's owner may take to say whether a proposal is carried out.
  public var approvalMilliseconds: UInt64 = 2_000
  /// Identities remembered at most, and how long one without a session is, milliseconds.
  public var maxIdentities = 100_000
  /// Models that one identity may have made, of those that are there; nil: half of `limits.maxModels`.
  public var maxModelsPerPeer: Int?
  /// Names of deleted fields that a model keeps at most before it gives them back; nil: an eighth of
  /// `limits.maxModelFields`, once it has three quarters of them.
  public var maxDeletedNames: Int?
  public var identityMilliseconds: UInt64 = 7 * 24 * 3_600_000
  /// Waits for others to have applied a version: in all, of one session, and how long one lasts, milliseconds.
  public var maxBarriers = 4_096
  public var maxBarriersPerSession = 64
  public var maxBarrierMilliseconds: UInt64 = 3_600_000
  /// Comparisons of replicas that are under way at once, what one of them looks at before it is answered, how long it
  /// waits for peers, milliseconds, and how many of the hub's last versions a peer may be behind.
  public var maxVerifications = 4
  public var maxVerifiedModels = 64
  public var maxVerifiedSessions = 1_024
  public var maxVerifyMilliseconds: UInt64 = 60_000
  public var verifiedVersions = 4_096

  public init() {}
}

/// Which log a hub keeps and which life of it begins.
public struct HubBirth: Sendable, Hashable {
  public var logID: LogID
  public var epoch: Epoch
  /// Made anew by every hub process, not 0.
  public var start: StartNumber
  /// Whether the log is known to hold every acknowledged commit, so that nothing needs to be recovered.
  public var tailProven: Bool
  /// What is beyond all models that were removed from the log.
  public var floor: LogFloor

  public init(logID: LogID, epoch: Epoch, start: StartNumber, tailProven: Bool, floor: LogFloor = .none) {
    self.logID = logID
    self.epoch = epoch
    self.start = start
    self.tailProven = tailProven
    self.floor = floor
  }
}

/// The hub's two clocks, read outside. All rules use `monotonic`; `wall` is for people.
public struct HubTime: Sendable, Hashable {
  /// Milliseconds of a clock that never goes back.
  public var monotonic: UInt64
  /// Milliseconds since 1970.
  public var wall: UInt64

  public init(monotonic: UInt64, wall: UInt64) {
    self.monotonic = monotonic
    self.wall = wall
  }
}

/// A request connection, numbered by the transport; a number is never used twice.
public typealias ConnectionID = UInt64
/// A publish connection, numbered by the transport; a number is never used twice.
public typealias SubscriberID = UInt64
