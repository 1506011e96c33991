/// How much a store keeps, and how much it does at a time.
public struct StoreLimits: Sendable, Hashable {
  /// The log is compacted into snapshots once it exceeds this and half of the snapshots' size; bytes.
  public var compactionBytes = 4 << 20
  /// The most commits per model kept as history after compaction.
  public var historyCommits = 1_000
  /// The most bytes per model kept as history after compaction.
  public var historyBytes = 1 << 20
  /// How long history is kept after compaction, seconds.
  public var historySeconds = 7 * 24 * 3_600
  /// A writer silent for this long is forgotten when its model is compacted; seconds.
  public var silentSeconds = 7 * 24 * 3_600
  /// How long `upkeep` works before it returns, microseconds; the last step may exceed it a little.
  public var upkeepMicroseconds = 500
  /// The write-ahead log is checkpointed into the file when it has grown by this many bytes.
  public var checkpointBytes = 4 << 20
  /// With `.process`, a power failure loses at most the commits acknowledged in this many seconds before it, and
  /// while the disk was confirming the log; 1 or more.
  public var syncSeconds = 5

  /// The defaults.
  public init() {}
}
