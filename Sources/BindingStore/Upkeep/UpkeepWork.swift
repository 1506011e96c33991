import BindingHub
import BindingProtocol
import Foundation

/// What upkeep has begun and not ended.
struct UpkeepWork {
  /// What is being done, one thing after the other.
  enum Task {
    /// Nothing.
    case none
    /// These models are to be folded as far as a row of the log, then the rows up to it are removed.
    case compacting([ModelLocation], through: Int64)
    /// One of them is.
    case model(ModelCompaction, rest: [ModelLocation], through: Int64)
    /// A snapshot is in force; the chunks of the one before it are removed.
    case replaced(Snapshot, rest: [ModelLocation], through: Int64)
    /// The chunks of a model that was removed are.
    indirect case clearing(Snapshot, then: Task)
    /// Rows up to this one are in snapshots.
    case removing(through: Int64)
    /// Chunks that are in no snapshot are removed.
    case sweeping
    /// The file gets smaller.
    case shrinking
  }
  /// What a slice did, for the index, which follows when the disk has it.
  struct Done {
    var compacted: [ModelCompaction] = []
    /// Snapshots of models that were removed, which are in force no longer.
    var dropped = 0
    /// What is noted of models that were removed.
    var floor: LogFloor?
    var metadata: StoreMetadata?
    /// Bytes that the log has less.
    var logBytes = 0
    /// Bytes that went to the write-ahead log, about.
    var written = 0
  }

  /// Sweeping comes first: an earlier life may have left chunks.
  var task = Task.sweeping
  /// Everything is to be folded, and the file to be made as small as it gets.
  var compaction = Compaction.none
  enum Compaction {
    case none, wanted, underWay, done
  }
  /// Of the compaction that is under way: the file before it, and the models that were folded.
  var bytesBefore: UInt64 = 0
  var compactedModels = 0
  /// When to say next how far it is.
  var reportsAt = ContinuousClock.now
  /// When to look for requests.
  var looksForRequestAt = ContinuousClock.now
  /// Writers that nobody will ask about any more.
  private(set) var forgotten: Set<Tag> = []
  private static let maxForgotten = 100_000
  /// Checkpoints one after the other that each left many pages.
  var checkpoints = 0
  /// After the disk was full: when to try again.
  var pausedUntil: ContinuousClock.Instant?

  mutating func forget(_ tags: Set<Tag>) {
    if forgotten.count + tags.count <= UpkeepWork.maxForgotten { forgotten.formUnion(tags) }
  }
}
