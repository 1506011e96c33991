public import BindingWire

/// Where commits are kept. One log per model; everything that decides for a model lies in its own log, refusals and
/// marks too.
///
/// The contract (a suite in `StoreContract` checks every store):
/// - `append` takes batches of different models, each decided on the record before its own. A batch is taken whole or
///   not at all, and a batch that was taken is as durable as the store says before `append` returns. Several hubs
///   may append to one store: then the head decides who was first.
/// - `load` gives a model as all taken batches make it, in their order.
/// - After `append` has thrown, nothing more is appended: the hub stops (R12).
public protocol Store: AnyObject {
  var logID: LogID { get }
  var epoch: Epoch { get }
  var durability: Durability { get }
  /// Appends each batch to its model's log.
  func append(_ batches: [Batch]) throws(StoreError) -> [Appended]
  /// All models, for a hub that starts; or one, for a hub that does not know what became of its batch.
  func load() throws(StoreError) -> [StoredModel]
  func load(_ model: String) throws(StoreError) -> StoredModel?
  /// Begins another life of the log: acknowledged commits may be missing.
  func start(_ epoch: Epoch) throws(StoreError)
}

/// What became of a batch.
public enum Appended: Sendable {
  case stored
  /// Others were first: these batches, in order, stand after the head that ours was decided on. Ours was not taken.
  case moved([Batch])
  /// It may have been taken or not: the model has to be loaded before anything is said about it.
  case unknown
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
}

/// A decided proposal that became no commit, or (without an outcome) a mark that was raised by a join.
public struct Decision: Sendable, Hashable {
  public var origin: Origin
  public var number: ProposalNumber
  public var outcome: WireOutcome.Rest?

  public init(origin: Origin, number: ProposalNumber, outcome: WireOutcome.Rest?) {
    self.origin = origin
    self.number = number
    self.outcome = outcome
  }
}

/// A model as it is stored.
public struct StoredModel: Sendable {
  public var model: String
  public var epoch: Epoch
  public var batches: [Batch]

  public init(model: String, epoch: Epoch, batches: [Batch]) {
    self.model = model
    self.epoch = epoch
    self.batches = batches
  }
}

/// A store that can go on no longer.
public struct StoreError: Error, Sendable, CustomStringConvertible {
  public var description: String

  public init(_ description: String) { self.description = description }
}
