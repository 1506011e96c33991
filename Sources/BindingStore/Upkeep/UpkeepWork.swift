import BindingHub
import BindingProtocol
import Foundation

/// The unfinished work of upkeep.
struct UpkeepWork {
  /// The present task; tasks follow each other.
  enum Task {
    /// No work is under way.
    case none
    /// Compact these models up to a row of the log, then remove the rows up to it.
    case compacting([ModelLocation], through: Int64)
    /// Compact one of them.
    case model(ModelCompaction, rest: [ModelLocation], through: Int64)
    /// A snapshot has become current; remove the chunks of its predecessor.
    case replaced(Snapshot, rest: [ModelLocation], through: Int64)
    /// Remove the chunks of a removed model.
    indirect case clearing(Snapshot, then: Task)
    /// Remove the rows up to this one, which snapshots contain.
    case removing(through: Int64)
    /// Remove chunks that belong to no snapshot.
    case sweeping
    /// Make the file smaller.
    case shrinking
  }
  /// The results of a slice, for the index, which follows once the disk has them.
  struct Done {
    var compacted: [ModelCompaction] = []
    /// The number of dropped snapshots of removed models.
    var dropped = 0
    /// The floor that was recorded.
    var floor: LogFloor?
    var metadata: StoreMetadata?
    /// Bytes removed from the log.
    var logBytes = 0
    /// Bytes written to the write-ahead log, about.
    var written = 0
  }

  /// Begins with sweeping: an earlier run may have left chunks.
  var task = Task.sweeping
  /// A requested compaction of everything, which also makes the file as small as possible.
  var compaction = Compaction.none
  enum Compaction {
    case none, wanted, underWay, done
  }
  /// Of the compaction under way: the file's size before it, and the number of compacted models.
  var bytesBefore: UInt64 = 0
  var compactedModels = 0
  /// When to report its progress next.
  var reportsAt = ContinuousClock.now
  /// When to look for requests next.
  var looksForRequestAt = ContinuousClock.now
  /// Writers that no peer will ask about any more.
  private(set) var forgotten: Set<Tag> = []
  private static let maxForgotten = 100_000
  /// Consecutive checkpoints that each left many pages.
  var checkpoints = 0
  /// When to try again after the disk was full.
  var pausedUntil: ContinuousClock.Instant?

  mutating func forget(_ tags: Set<Tag>) {
    if forgotten.count + tags.count <= UpkeepWork.maxForgotten { forgotten.formUnion(tags) }
  }
}
