public import BindingProtocol

/// Where commits are kept. One log per model; everything that decides for a model lies in its own log, refusals and
/// marks too.
///
/// The contract (a suite in `StoreContract` checks every store):
/// - `append` takes batches of different models, each decided on the record before its own. A batch is taken whole or
///   not at all, and a batch that was taken is as durable as the store says before `append` returns. Several hubs
///   may append to one store: then the head decides who was first.
/// - `load` gives a model as all taken batches make it: a snapshot and the batches after it, in their order.
/// - After a batch that removes a model nothing is left of it, and its name is free. The first batch of a model that is
///   not there follows a record of 0, or one up to the `floor`'s; the floor is kept as durably as the batches are.
/// - After `append` has thrown, nothing more is appended: the hub stops (R12).
///
/// A store is used by one thread at a time: by the hub's own if it `isImmediate`, else by a thread of its own.
public protocol Store: AnyObject {
  var logID: LogID { get }
  var epoch: Epoch { get }
  var durability: Durability { get }
  /// What is known of the end of the log that was opened.
  var tail: Tail { get }
  /// Whether nothing here waits for a disk or another machine, so that it may be called between two messages.
  var isImmediate: Bool { get }
  /// For people, in the hub's status.
  var status: StoreStatus { get }
  /// What is beyond everything that was ever said of models that were removed.
  var floor: LogFloor { get }
  /// Appends each batch to its model's log.
  func append(_ batches: [Batch]) throws(StoreError) -> [Appended]
  /// Hands over all models, one after the other, for a hub that starts.
  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError)
  /// One model, for a hub that does not know what became of its batch.
  func load(_ model: String) throws(StoreError) -> StoredModel?
  /// Begins another life of the log: acknowledged commits may be missing.
  func start(_ epoch: Epoch) throws(StoreError)
  /// Nobody will ask again what became of the proposals of these identities; they may be kept all the same.
  func forget(_ tags: Set<Tag>)
  /// Does a few milliseconds of the work that nobody waits for, folding old batches into snapshots and the like.
  /// - Returns: whether there is more to do at once.
  func upkeep() throws(StoreError) -> Bool
  /// Ends cleanly: all that was taken is kept, and the log's next life needs no new epoch.
  func close() throws(StoreError)
}

extension Store {
  public var tail: Tail { .proven }
  public var isImmediate: Bool { false }
  public var status: StoreStatus { StoreStatus() }
  public var floor: LogFloor { .none }
  public func forget(_ tags: Set<Tag>) {}
  public func upkeep() throws(StoreError) -> Bool { false }
  public func close() throws(StoreError) {}
}

/// What a store knows of the end of its log when it is opened.
public enum Tail: Sendable {
  /// Every acknowledged commit is there, or nobody has ever written any.
  case proven
  /// Acknowledged commits may be missing, so the log is in a new epoch, and peers are asked for what it lacks.
  case unproven
  /// It was put back on purpose to an earlier state: a new epoch, in which peers are asked for nothing.
  case restored
}

/// A store, for people.
public struct StoreStatus: Sendable, Hashable {
  /// The file; nil: there is none.
  public var path: String?
  /// Bytes on disk in all, and of batches that are not folded yet.
  public var bytes: UInt64
  public var logBytes: UInt64
  /// Whether the disk had no room for the last batch.
  public var isFull: Bool

  public init(path: String? = nil, bytes: UInt64 = 0, logBytes: UInt64 = 0, isFull: Bool = false) {
    self.path = path
    self.bytes = bytes
    self.logBytes = logBytes
    self.isFull = isFull
  }

  /// As a JSON object; the names are pinned by a test.
  var json: JSON {
    .object([
      .init("path", path.map { .string($0) } ?? .null), .init("bytes", .integer(Int64(clamping: bytes))),
      .init("logBytes", .integer(Int64(clamping: logBytes))), .init("isFull", .bool(isFull)),
    ])
  }
}

/// What became of a batch.
public enum Appended: Sendable {
  case stored
  /// Others were first: these batches, in order, stand after the head that ours was decided on. Ours was not taken.
  case moved([Batch])
  /// It may have been taken or not: the model has to be loaded before anything is said about it.
  case unknown
  /// There is no room for it. It was not taken; a later one may be.
  case full
}

/// One model's decisions of one drain: the unit of storing.
public struct Batch: Sendable, Hashable {
  public var model: String
  /// Its place in the model's log, counted from 1: it was decided on the record before it, and is stored only if that
  /// is still the last one. Versions would not do: a record without fields takes none.
  public var record: UInt64
  public var epoch: Epoch
  /// The version of the model before it, and after it.
  public var previous: Version
  public var version: Version
  /// The body of the `commits` message, exactly as it is published; empty if nothing was committed.
  public var body: [UInt8]
  /// What the body does not show: refusals and the like, and marks that were raised, in the order of deciding.
  public var decisions: [Decision]
  /// What it does to the model as a whole. One that is not of the ordinary form has no body and no decisions.
  public var form = Form.ordinary

  public enum Form: Sendable, Hashable {
    case ordinary
    /// Nothing has a value any more, and nobody may still ask for anything: the model is removed, its name is free.
    case removal
    /// Names of deleted fields are given back: only the fields with these ids, in their order, are left, and are
    /// numbered from 0 on again.
    case renumbering(kept: [FieldID])
  }

  public init(
    model: String, record: UInt64, epoch: Epoch, previous: Version, version: Version, body: [UInt8],
    decisions: [Decision]
  ) {
    self.model = model
    self.record = record
    self.epoch = epoch
    self.previous = previous
    self.version = version
    self.body = body
    self.decisions = decisions
  }

  /// The batch that removes a model after its last record.
  public static func removal(of model: String, record: UInt64, epoch: Epoch, version: Version) -> Batch {
    var batch = Batch(
      model: model, record: record, epoch: epoch, previous: version, version: version, body: [], decisions: [])
    batch.form = .removal
    return batch
  }

  /// The batch that leaves these fields of a model, and numbers them from 0 on.
  public static func renumbering(
    of model: String, record: UInt64, epoch: Epoch, version: Version, kept: [FieldID]
  ) -> Batch {
    var batch = Batch(
      model: model, record: record, epoch: epoch, previous: version, version: version, body: [], decisions: [])
    batch.form = .renumbering(kept: kept)
    return batch
  }
}

/// A decided proposal that became no commit, or (without an outcome) a mark that was raised by a join, or a number that
/// peers saw in an older life of the log.
public struct Decision: Sendable, Hashable {
  public var origin: Origin
  public var number: ProposalNumber
  public var outcome: WireOutcome.Rest?
  /// Raises no mark: what was first sent in an older life, up to this number, may have been carried out there.
  public var isSeen = false

  public init(origin: Origin, number: ProposalNumber, outcome: WireOutcome.Rest?) {
    self.origin = origin
    self.number = number
    self.outcome = outcome
  }

  public init(seen number: ProposalNumber, of tag: Tag) {
    self.init(origin: Origin(tag: tag, name: ""), number: number, outcome: nil)
    isSeen = true
  }
}

/// A store that cannot be opened, or can go on no longer.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  public enum Kind: Sendable {
    /// Another hub has it.
    case inUse
    /// It cannot be made or opened where it was asked for.
    case cannotOpen
    /// What is there is not what was written.
    case damaged
    /// It was written by a later version.
    case newer
    /// The disk did not confirm what it was given: nobody knows what it holds (R12).
    case syncFailed
    /// It could not be read or written.
    case failed
    /// It was there and is not any more: its files were deleted, cut off or replaced.
    case gone
    /// It is to be put back to a backup: whoever opens it again finds that done.
    case replaced
  }
  public var kind: Kind
  /// Names the file and what to do.
  public var description: String

  public init(_ description: String, _ kind: Kind = .failed) {
    self.description = description
    self.kind = kind
  }
}
