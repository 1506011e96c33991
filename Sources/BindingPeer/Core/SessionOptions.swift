public import BindingProtocol

/// What a session is given at its start. All times are milliseconds.
public struct SessionOptions: Sendable, Hashable {
  /// After so many heartbeats the heads are asked for, whether or not one was missed.
  static let heartbeatsBetweenHeads: UInt64 = 8

  /// After so many heartbeats, and three repetitions, a decided write of an earlier life is answered no more.
  static let heartbeatsWithoutAnswer: UInt64 = 6

  /// How long the hub keeps the session without hearing from it; 0: the hub's default.
  public var leaseMilliseconds: UInt32 = 0
  /// A connection without a welcome this long after its hello is given up.
  public var welcomeMilliseconds: UInt64 = 2_000
  /// The pause before a new connection grows from the first to the second; at least half of it is waited.
  public var shortestPauseMilliseconds: UInt64 = 50
  public var longestPauseMilliseconds: UInt64 = 1_000
  /// A join without an answer, or a catch-up that stands still, is asked for again after this long.
  public var joinMilliseconds: UInt64 = 3_000
  /// A plain set that waited this long is sent as compare-and-set where others changed the field meanwhile.
  public var offlineMilliseconds: UInt64 = 10_000
  /// Writes that may wait for their outcome, and their bytes.
  public var maxOutboxWrites = 10_000
  public var maxOutboxBytes = 8_388_608
  /// Bytes of the commits of one model that may wait for a catch-up to end.
  public var maxBufferedBytes = 1_048_576
  /// Commits that one update lists.
  public var maxListedCommits = 1_000
  /// How often a closure is asked to merge a write with what others wrote, before that ends as a conflict. Texts are
  /// merged without asking, however often others were quicker.
  public var maxMergeAttempts = 64
  /// How long a program that ends by itself (`main` returns, `exit`) waits for the hub to answer what it wrote, before
  /// it says good-bye; 0: it ends at once, and what has not left is lost. A peer that never had a hub is waited for
  /// only so long after it was made.
  public var exitMilliseconds: UInt64 = 1_000
  /// What is allowed before a hub has told its own limits.
  public var limits = Limits()

  public init() {}
}
