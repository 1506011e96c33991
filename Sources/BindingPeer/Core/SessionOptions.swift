public import BindingProtocol

/// The configuration of a session. All times are milliseconds.
public struct SessionOptions: Sendable, Hashable {
  /// The heads are asked for after this many heartbeats, whether or not one was missed.
  static let heartbeatsBetweenHeads: UInt64 = 8

  /// A decided write of an earlier run ends as unknown after this many heartbeats, or three resends, without an
  /// answer.
  static let heartbeatsWithoutAnswer: UInt64 = 6

  /// The lease: how long the hub keeps a silent session; 0: the hub's default.
  public var leaseMilliseconds: UInt32 = 0
  /// A connection is given up if no welcome arrives this long after its hello.
  public var welcomeMilliseconds: UInt64 = 2_000
  /// The pause before a new connection grows from this to `longestPauseMilliseconds`; at least half of it is waited.
  public var shortestPauseMilliseconds: UInt64 = 50
  /// The longest pause before a new connection.
  public var longestPauseMilliseconds: UInt64 = 1_000
  /// A join without an answer, or a stalled catch-up, is asked for again after this time.
  public var joinMilliseconds: UInt64 = 3_000
  /// A plain set that waited this long is sent as compare-and-set where others changed the field meanwhile.
  public var offlineMilliseconds: UInt64 = 10_000
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
  /// How long a program that ends by itself (`main` returns, `exit`) waits for the outcomes of its writes before it
  /// says goodbye; 0: it ends immediately, and unsent writes are lost. A peer that never had a hub waits at most this
  /// long after it was made.
  public var exitMilliseconds: UInt64 = 1_000
  /// The limits that apply before a hub has announced its own.
  public var limits = Limits()

  /// The default options.
  public init() {}
}
