/// How much a store keeps, and how much it does at a time.
public struct StoreLimits: Sendable, Hashable {
  /// The log is folded into snapshots when it has passed this and half of what the snapshots have; bytes.
  public var compactionBytes = 4 << 20
  /// What is kept of each model to tell what changed, besides the log: commits, bytes, and seconds since it was folded.
  public var historyCommits = 1_000
  public var historyBytes = 1 << 20
  public var historySeconds = 7 * 24 * 3_600
  /// A writer that was silent for so long, in seconds, is forgotten when its model is folded.
  public var silentSeconds = 7 * 24 * 3_600
  /// How long `upkeep` works before it returns, in microseconds; the last step may take it a little further.
  public var upkeepMicroseconds = 500
  /// The write-ahead log is brought into the file when it has grown by so many bytes.
  public var checkpointBytes = 4 << 20
  /// With `.process` the loss of power takes at most what was acknowledged in so many seconds before it, and what the
  /// disk needs to confirm the log; 1 or more.
  public var syncSeconds = 5

  public init() {}
}
