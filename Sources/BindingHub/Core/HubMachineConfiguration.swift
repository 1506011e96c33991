package import BindingProtocol

/// The configuration of a hub's machine, fixed at its start.
package struct HubMachineConfiguration: Sendable {
  /// The hub's limits, which each welcome reports.
  package var limits = Limits()
  /// The time between two heartbeats.
  package var heartbeatMilliseconds: UInt32 = 1_000
  /// The lease of a session whose peer asks for none.
  package var leaseMilliseconds: UInt32 = 10_000
  /// The bounds of a lease that a peer asks for, milliseconds.
  package var leaseRange: ClosedRange<UInt32> = 1_000...60_000
  /// The most sessions of one socket connection. The refusal names this limit.
  package var maxConnectionSessions = 16
  /// The most sessions of one connection within the hub's process, such as a gateway's, which has a session per
  /// page.
  package var maxInProcessSessions = 1_000
  /// The shortest time between two status reports.
  package var reportMilliseconds: UInt64 = 100
  /// The hub's name, which peers and the status show.
  package var name = "hub"
  /// How durably the store keeps commits.
  package var durability = Durability.memory
  /// Whether several hubs share the store (`SharedStore`): its events then go to `HubMachine.receive`.
  package var isShared = false
  /// How long a hub that shares its store keeps a model in memory that no session has joined.
  package var unusedMilliseconds: UInt64 = 300_000
  /// The endpoints that each welcome reports.
  package var endpoints: [HubEndpoint] = []
  /// Where the other hubs of the log listen, which each welcome is followed by; at most `OtherHubs.most`.
  package var otherHubs: [HubAddress] = []
  /// Whether anybody on the network may read and write everything. Peers, pages and the status say so.
  package var isInsecure = false
  /// Random bits that scatter the topics of models; nil: topics in order. A hub with rights scatters them, because
  /// topics in order tell how many models there are.
  package var topicSeed: UInt64?
  /// Whether recorded commits are put in, which hold what expired too: no value expires by itself.
  package var isPlayback = false
  /// Whether a hub without a proven tail recovers lost commits from its peers.
  package var recovery = true
  /// A join whose subscription does not arrive in this time is served on the request connection (R13).
  package var subscriptionMilliseconds: UInt64 = 1_000
  /// A recovery ends when no peer of the old epoch has joined for this long.
  package var recoveryQuietMilliseconds: UInt64 = 400
  /// The longest time of a recovery.
  package var recoveryMilliseconds: UInt64 = 2_000
  /// How long a hub whose store was recreated waits for replicas of any epoch, from its start on; 0: it was not.
  package var recreatedMilliseconds: UInt64 = 0
  /// For this long after an epoch's beginning the hub also asks for replicas no further ahead than those it has.
  package var earlyMilliseconds = HubMachineConfiguration.defaultEarlyMilliseconds
  package static let defaultEarlyMilliseconds: UInt64 = 60_000
  /// The most bytes of commits, decided together and each small enough, that are published in one message.
  package var maxGroupBytes = 131_072
  /// The recent commits per model whose fields are remembered, so that a delta need not check every field.
  package var recentCommits = 1_000
  /// The outcomes kept for a writer that does not confirm them; past it its proposals are answered with
  /// `retryLater`.
  package var maxUnconfirmedOutcomes = 1_024
  /// The proposals of one model that may wait while a batch is being stored; past it they are answered with
  /// `retryLater`.
  package var maxWaitingProposals = 4_096
  /// How long decisions are deferred after a batch for which the store had no room.
  package var fullMilliseconds: UInt64 = 1_000
  /// How long a model's owner may take to approve a proposal.
  package var approvalMilliseconds: UInt64 = 2_000
  /// The most identities remembered.
  package var maxIdentities = 100_000
  /// The batches of a model that may lose against another hub's within a second before its proposals are passed on to
  /// one hub.
  package var lossesBeforeHome = 3
  /// The most existing models that one identity may have made; nil: half of `limits.maxModels`.
  package var maxModelsPerPeer: Int?
  /// The names of deleted fields at which a model gives them back; nil: an eighth of `limits.maxModelFields`, once
  /// the model uses three quarters of them.
  package var maxDeletedNames: Int?
  /// The distance of the ranks of elements that are added at an end of a list.
  package var listGap: Int64 = 1 << 24
  /// How long an identity without a session is remembered.
  package var identityMilliseconds: UInt64 = 7 * 24 * 3_600_000
  /// The most barriers in all: waits until other peers have applied a version.
  package var maxBarriers = 4_096
  /// The most barriers of one session.
  package var maxBarriersPerSession = 64
  /// The longest time of a barrier.
  package var maxBarrierMilliseconds: UInt64 = 3_600_000
  /// The most comparisons of replicas under way.
  package var maxVerifications = 4
  /// The most models that one comparison examines before it is answered.
  package var maxVerifiedModels = 64
  /// The most sessions that one comparison examines before it is answered.
  package var maxVerifiedSessions = 1_024
  /// How long a comparison waits for peers at most.
  package var maxVerifyMilliseconds: UInt64 = 60_000
  /// The hub's last versions with which a replica can be compared.
  package var verifiedVersions = 4_096

  /// The defaults.
  package init() {}

  /// The lease that a session gets, milliseconds; a peer that asks for 0 gets the hub's.
  func lease(asked: UInt32) -> UInt32 {
    min(max(asked == 0 ? leaseMilliseconds : asked, leaseRange.lowerBound), leaseRange.upperBound)
  }
}

/// The log that a hub serves, and the epoch in which this start serves it.
package struct HubBirth: Sendable, Hashable {
  /// The id of the log.
  package var logID: LogID
  /// The epoch of the log.
  package var epoch: Epoch
  /// The number of this start: random for every hub process, never 0.
  package var start: StartNumber
  /// Whether the log is known to hold every acknowledged commit, so that no recovery is needed.
  package var tailProven: Bool
  /// The floor beyond all models that were removed from the log.
  package var floor: LogFloor

  /// A start of a hub with this log.
  package init(logID: LogID, epoch: Epoch, start: StartNumber, tailProven: Bool, floor: LogFloor = .none) {
    self.logID = logID
    self.epoch = epoch
    self.start = start
    self.tailProven = tailProven
    self.floor = floor
  }
}

/// The hub's two clocks, read by the caller. All rules use `monotonic`; `wall` is for people.
package struct HubTime: Sendable, Hashable {
  /// Milliseconds of a clock that never goes back.
  package var monotonic: UInt64
  /// Milliseconds since 1970.
  package var wall: UInt64

  /// A time of both clocks, in milliseconds.
  package init(monotonic: UInt64, wall: UInt64) {
    self.monotonic = monotonic
    self.wall = wall
  }
}

/// A request connection, numbered by the transport. A number is never reused.
package typealias ConnectionID = UInt64
/// A publish connection, numbered by the transport. A number is never reused.
package typealias SubscriberID = UInt64
