public import BindingProtocol

/// The times and limits of a peer. Times are rounded up to milliseconds.
public struct SessionOptions: Sendable, Hashable {
  /// A decided write of an earlier run ends as unknown after this many heartbeats, or three resends, without an
  /// answer.
  static let heartbeatsWithoutAnswer: UInt64 = 6

  package var leaseMilliseconds: UInt32 = 0
  package var welcomeMilliseconds: UInt64 = 2_000
  package var shortestPauseMilliseconds: UInt64 = 50
  package var longestPauseMilliseconds: UInt64 = 1_000
  package var joinMilliseconds: UInt64 = 3_000
  package var offlineMilliseconds: UInt64 = 10_000
  package var exitMilliseconds: UInt64 = 1_000
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
  /// The limits that apply before a hub has announced its own.
  public var limits = Limits()

  /// The default options.
  public init() {}

  // MARK: Times

  /// The lease: how long the hub keeps a silent session; 0: the hub's default.
  public var lease: Duration {
    get { .milliseconds(leaseMilliseconds) }
    set { leaseMilliseconds = UInt32(clamping: newValue.wholeMilliseconds) }
  }

  /// A connection is given up if no welcome arrives this long after its hello; 2 s.
  public var welcomeTimeout: Duration {
    get { .milliseconds(welcomeMilliseconds) }
    set { welcomeMilliseconds = newValue.wholeMilliseconds }
  }

  /// The pause before a new connection grows from this to `longestPause`; at least half of it is waited; 50 ms.
  public var shortestPause: Duration {
    get { .milliseconds(shortestPauseMilliseconds) }
    set { shortestPauseMilliseconds = newValue.wholeMilliseconds }
  }

  /// The longest pause before a new connection; 1 s.
  public var longestPause: Duration {
    get { .milliseconds(longestPauseMilliseconds) }
    set { longestPauseMilliseconds = newValue.wholeMilliseconds }
  }

  /// A join without an answer, or a stalled catch-up, is asked for again after this time; 3 s.
  public var joinTimeout: Duration {
    get { .milliseconds(joinMilliseconds) }
    set { joinMilliseconds = newValue.wholeMilliseconds }
  }

  /// A plain set that waited this long is sent as compare-and-set where others changed the field meanwhile; 10 s.
  public var offlineAge: Duration {
    get { .milliseconds(offlineMilliseconds) }
    set { offlineMilliseconds = newValue.wholeMilliseconds }
  }

  /// How long a program that ends by itself (`main` returns, `exit`) waits for the outcomes of its writes before it
  /// says goodbye; 0: it ends immediately, and unsent writes are lost. A peer that never had a hub waits at most this
  /// long after it was made. 1 s.
  public var exitTimeout: Duration {
    get { .milliseconds(exitMilliseconds) }
    set { exitMilliseconds = newValue.wholeMilliseconds }
  }
}
