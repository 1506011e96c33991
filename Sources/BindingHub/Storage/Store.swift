package import BindingProtocol

/// Stores commits. Each model has its own log, which holds every decision of the model, refusals and raised numbers
/// included.
///
/// The contract (the suite `StoreContract` checks every store):
/// - `append` takes batches of different models, each decided on the record before its own. A batch is stored
///   completely or not at all, and a stored batch is as durable as the store says before `append` returns. Several
///   hubs may append to one store; the last record then decides which was first.
/// - `load` returns a model as all stored batches make it: a snapshot and the batches after it, in order.
/// - A batch that removes a model leaves nothing of it, and frees its name. The first batch of a missing model
///   follows record 0, or one up to the `floor`'s; the floor is as durable as the batches.
/// - `history` returns at once; what it returns reads beside appends, and sees each batch with a record up to the
///   query's once, in order, as far back as the store keeps them.
/// - After `append` has thrown, nothing more is appended: the hub stops (R12).
///
/// One thread at a time uses a store: the hub's own if it `isImmediate`, else a thread for the store.
package protocol Store: AnyObject {
  /// The id of the log.
  var logID: LogID { get }
  /// The current epoch of the log.
  var epoch: Epoch { get }
  /// How durably `append` stores.
  var durability: Durability { get }
  /// What is known of the end of the log at its opening.
  var tail: Tail { get }
  /// Whether no call waits for a disk or another machine, so that the hub may call it between two messages.
  var isImmediate: Bool { get }
  /// The store's state, for the hub's status.
  var status: StoreStatus { get }
  /// The floor beyond all removed models.
  var floor: LogFloor { get }
  /// Appends each batch to its model's log.
  /// - Returns: one result per batch, in order.
  /// - Throws: `StoreError` after which the store must not be used any more.
  func append(_ batches: [Batch]) throws(StoreError) -> [Appended]
  /// Passes all models to `each`, one after the other, for a hub that starts.
  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError)
  /// Loads one model, for a hub that does not know the result of its batch; nil: the store has none of that id.
  func load(_ model: String) throws(StoreError) -> StoredModel?
  /// Begins another epoch of the log, because acknowledged commits may be missing.
  func start(_ epoch: Epoch) throws(StoreError)
  /// Prepares the reading of a page of history, without waiting for anything.
  func history(_ query: HistoryQuery) -> HistoryReading
  /// Allows the store to forget these identities' outcomes, which no peer will ask for again.
  func forget(_ tags: Set<Tag>)
  /// Does a few milliseconds of background work, such as compacting old batches into snapshots.
  /// - Returns: whether more work is due immediately.
  func upkeep() throws(StoreError) -> Bool
  /// Closes the store in order: every stored batch is kept, and the next start needs no new epoch.
  func close() throws(StoreError)
}

extension Store {
  /// Proven, by default.
  package var tail: Tail { .proven }
  /// False, by default.
  package var isImmediate: Bool { false }
  /// Empty, by default.
  package var status: StoreStatus { StoreStatus() }
  /// None, by default.
  package var floor: LogFloor { .none }
  /// A history that keeps nothing, by default.
  package func history(_ query: HistoryQuery) -> HistoryReading { HistoryReading { .none(to: query) } }
  /// Does nothing, by default.
  package func forget(_ tags: Set<Tag>) {}
  /// Does nothing, by default.
  package func upkeep() throws(StoreError) -> Bool { false }
  /// Does nothing, by default.
  package func close() throws(StoreError) {}
}

/// What a store knows of the end of its log when it is opened.
package enum Tail: Sendable {
  /// Every acknowledged commit is there, or none was ever written.
  case proven
  /// Acknowledged commits may be missing. The log is in a new epoch, and the hub recovers from peers.
  case unproven
  /// The store was restored on purpose to an earlier state. The log is in a new epoch, and the hub does not recover
  /// from peers.
  case restored
}

/// The state of a store, for people.
package struct StoreStatus: Sendable, Hashable {
  /// The store's file; nil: none.
  package var path: String?
  /// Bytes on disk in all.
  package var bytes: UInt64
  /// Bytes of batches that are not compacted yet.
  package var logBytes: UInt64
  /// Whether the disk had no room for the last batch.
  package var isFull: Bool
  /// What administrators removed from histories, the last ones.
  package var drops: [Drop]
  /// Of a store that several hubs share; nil: the hub has it alone.
  package var shared: SharedStoreStatus?

  /// Something that an administrator removed from a history.
  package struct Drop: Sendable, Hashable {
    /// Counted from 1 since the store was opened.
    package var number: Int
    package var words: String

    package init(number: Int, words: String) { (self.number, self.words) = (number, words) }
  }

  /// A state; the defaults are those of a store without a file.
  package init(
    path: String? = nil, bytes: UInt64 = 0, logBytes: UInt64 = 0, isFull: Bool = false, drops: [Drop] = []
  ) {
    self.drops = drops
    self.path = path
    self.bytes = bytes
    self.logBytes = logBytes
    self.isFull = isFull
  }

  /// The state of a store that several hubs share.
  package init(shared: SharedStoreStatus) {
    self.init(path: shared.address, bytes: shared.bytes, isFull: shared.room >= .full)
    self.shared = shared
  }

  /// The state as a JSON object. A test pins the names.
  var json: JSON {
    .object(
      [
        .init("path", path.map { .string($0) } ?? .null), .init("bytes", .integer(Int64(clamping: bytes))),
        .init("logBytes", .integer(Int64(clamping: logBytes))), .init("isFull", .bool(isFull)),
      ] + (shared.map { [JSON.Member("shared", $0.json)] } ?? []))
  }
}

/// The result of appending a batch.
package enum Appended: Sendable {
  /// The batch is stored.
  case stored
  /// Another hub was first: these batches, in order, follow the record on which this one was decided. This one is
  /// not stored.
  case moved([Batch])
  /// The batch may be stored or not: the hub must load the model before it answers.
  case unknown
  /// There is no room. The batch is not stored; a later one may be.
  case full
}

/// One model's decisions of one drain: the unit of storing.
package struct Batch: Sendable, Hashable {
  /// The model's id.
  package var model: String
  /// Its number in the model's log, from 1. It was decided on the record before, and is stored only if that is
  /// still the last one. A version would not do: a record without fields has none of its own.
  package var record: UInt64
  /// The epoch of the log in which it was decided.
  package var epoch: Epoch
  /// The model's version before it.
  package var previous: Version
  /// The model's version after it.
  package var version: Version
  /// The body of the `commits` message, exactly as it is published; empty if nothing was committed.
  package var body: [UInt8]
  /// Decisions that the body does not show, in order: outcomes other than commits, and raised numbers.
  package var decisions: [Decision]
  /// What it does to the model as a whole. Only an ordinary batch has a body and decisions.
  package var form = Form.ordinary

  /// The kinds of batches.
  package enum Form: Sendable, Hashable {
    /// Commits and decisions.
    case ordinary
    /// Removes the model, which has no values and no unconfirmed outcomes, and frees its name.
    case removal
    /// Gives back names of deleted fields: only the fields with these ids remain, in order, renumbered from 0.
    case renumbering(kept: [FieldID])
  }

  /// An ordinary batch.
  package init(
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

  /// A batch that removes a model after its last record.
  package static func removal(of model: String, record: UInt64, epoch: Epoch, version: Version) -> Batch {
    var batch = Batch(
      model: model, record: record, epoch: epoch, previous: version, version: version, body: [], decisions: [])
    batch.form = .removal
    return batch
  }

  /// A batch that keeps these fields of a model, renumbered from 0.
  package static func renumbering(
    of model: String, record: UInt64, epoch: Epoch, version: Version, kept: [FieldID]
  ) -> Batch {
    var batch = Batch(
      model: model, record: record, epoch: epoch, previous: version, version: version, body: [], decisions: [])
    batch.form = .renumbering(kept: kept)
    return batch
  }
}

/// A decided proposal that became no commit, or what else a record says of a writer: a number raised by a join, one
/// that peers saw decided in an older epoch of the log, and in a log of several hubs what a writer has confirmed, that
/// it is forgotten, or that it owns the model.
package struct Decision: Sendable, Hashable {
  /// The writer.
  package var origin: Origin
  /// The proposal's number.
  package var number: ProposalNumber
  /// The outcome; nil for a raised or seen number.
  package var outcome: WireOutcome.Rest?
  /// What the number means.
  package var form = Form.decided

  /// What a number means.
  package enum Form: UInt8, Sendable {
    /// It is decided, with the outcome or, without one, raised by a join.
    case decided
    /// A proposal up to it, first sent in an older epoch, may have been committed there. It raises no last decided
    /// number.
    case seen = 2
    /// The writer has confirmed all outcomes up to it.
    case confirmed = 3
    /// The writer is forgotten, unless a later number of it is decided.
    case forgotten = 4
    /// The number is that of a hub's start: the writer owns the model there. 0: it owns the model no longer.
    case owner = 5
  }

  /// An outcome, or with nil a number raised by a join.
  package init(origin: Origin, number: ProposalNumber, outcome: WireOutcome.Rest?) {
    self.origin = origin
    self.number = number
    self.outcome = outcome
  }

  /// A number that peers saw decided in an older epoch.
  package init(seen number: ProposalNumber, of tag: Tag) {
    self.init(number, of: Origin(tag: tag, name: ""), form: .seen)
  }

  /// A number that is no outcome.
  package init(_ number: ProposalNumber, of origin: Origin, form: Form) {
    self.init(origin: origin, number: number, outcome: nil)
    self.form = form
  }
}

/// A store cannot be opened, or cannot continue.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  /// The cause of the error.
  public enum Kind: Sendable {
    /// Another hub has it open.
    case inUse
    /// It cannot be made or opened at its path.
    case cannotOpen
    /// Its contents are not what was written.
    case damaged
    /// A later version wrote it.
    case newer
    /// The disk did not confirm a write, so its contents are unknown (R12).
    case syncFailed
    /// It could not be read or written.
    case failed
    /// It is gone: its files were deleted, truncated or replaced.
    case gone
    /// It is to be restored from a backup, which opening it again does.
    case replaced
  }
  /// The cause.
  public var kind: Kind
  /// Names the file and the remedy.
  public var description: String

  /// An error whose description names the file and the remedy.
  public init(_ description: String, _ kind: Kind = .failed) {
    self.description = description
    self.kind = kind
  }
}
