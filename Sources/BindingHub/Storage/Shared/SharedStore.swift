package import BindingProtocol

/// Stores the commits of several hubs in one log that another system keeps, such as etcd.
///
/// The order of a model is made by its log, not by a hub: every hub may append to every model, and an append is stored
/// only if the model's head is still the one on which the batch was decided. A hub that slept, a hub that is cut off
/// and an answer that comes late are then all the same case: the comparison fails, and the answer tells what is there.
///
/// **Calls** return at once and never wait for the engine. They may come from any one thread at a time.
///
/// **Events** come through the closure that `begin` got, one at a time, on a thread of the store's. The store goes on
/// trying for as long as it is open, so an event that answers a call comes late while the engine cannot be reached
/// (`SharedEvent.connected` tells that) and never comes after `close`.
///
/// **What a hub does with a record**, wherever it comes from (`appended`, `followed`, `loaded`): it keeps each model's
/// last record with that record's revision. A record up to the last one is a repeat and is skipped; the next one is
/// applied; one beyond the next shows a gap, and the model is loaded. `SharedModelTail` is that rule.
///
/// The suite `SharedStoreContract` checks every store.
package protocol SharedStore: AnyObject, Sendable {
  /// The id of the log, which all its hubs share.
  var logID: LogID { get }
  /// The epoch of the log. It does not change while the store is open: another one ends the store (`failed`).
  var epoch: Epoch { get }
  /// How durably a stored batch is stored, as far as the store can prove it now. Changes are told by `grade`.
  var grade: SharedGrade { get }
  /// The largest batch that can be stored, in bytes as `Batch.write` writes it. A hub decides no batch beyond it.
  var maxBatchBytes: Int { get }
  /// The store's state, for the hub's status.
  var status: SharedStoreStatus { get }

  /// Begins to deliver events, first `connected` and `caughtUp`, and the tail from the position of the latter on. To be
  /// called once, before all other calls.
  func begin(_ deliver: @escaping @Sendable (SharedEvent) -> Void)

  /// Appends batches of different models. Each is stored completely or not at all, whatever becomes of the others, and
  /// each gets exactly one answer, in an `appended` with this number; answers of one call may come in several events.
  ///
  /// Several calls may be under way, but never two batches of one model. A batch that was answered `unknown` may be
  /// appended again as it was: if it landed after all, the answer is `stored`.
  ///
  /// A batch of the form `removal` leaves only the model's head, marked as removed.
  func append(_ number: UInt64, _ batches: [SharedBatch])

  /// Loads one model as it is at one revision that is no older than the call. The answer is `loaded`.
  func load(_ model: String)

  /// Loads of a model what a fold up to one of its records needs: the chunks in force, and the records up to that one.
  /// The answer is `foldable`.
  func loadToFold(_ model: String, upTo record: UInt64)

  /// Reads a model's head, no older than the call. The answer is `head`.
  func head(of model: String)

  /// Reads which heads have changed, no older than the call, and names in `changed` those of which the tail has not
  /// delivered the last change yet. Then `synced` comes with this number. Numbers rise; an answer may leave out lower
  /// ones, whose calls it answers too.
  func sync(_ number: UInt64)

  /// Lists models whose ids begin with `prefix` and come after `after` (empty: from the first), in the order of their
  /// bytes, removed ones left out, no older than the call. The answer is `listed`.
  /// - Parameter limit: the most models of one answer, 1 to 1,000.
  func list(prefix: String, after: String, limit: Int)

  /// Replaces a model's records up to one by chunks. The answer is `folded`. Appends go on meanwhile, and no record
  /// changes its number or revision by it. Only one hub should fold a model at a time; where two do, one of them wins.
  func fold(_ fold: SharedFold)

  /// Reads a page of a model's history, as far as records are kept. The answer is `history`.
  func history(_ query: HistoryQuery)

  /// Ends the store. No event comes after it has returned; what has no answer may be stored or not. It waits for an
  /// event under way, so it is not called from one.
  func close()
}

/// The number of a change of the whole log: it rises with each change, in all models, and never repeats. 0: before all.
package typealias SharedRevision = UInt64

/// A batch to be appended.
package struct SharedBatch: Sendable, Hashable {
  /// The batch; its `record` follows the record on which it was decided.
  package var batch: Batch
  /// The revision of the head on which it was decided; 0: the model never had one.
  package var after: SharedRevision

  /// A batch decided on the head of this revision.
  package init(_ batch: Batch, after: SharedRevision) { (self.batch, self.after) = (batch, after) }
}

/// A batch as it stands in the log.
package struct SharedRecord: Sendable, Hashable {
  /// The batch.
  package var batch: Batch
  /// The revision at which it was stored, which is the head's until the next record. Batches of different models may
  /// have the same.
  package var revision: SharedRevision

  /// A batch stored at this revision.
  package init(_ batch: Batch, revision: SharedRevision) { (self.batch, self.revision) = (batch, revision) }
}

/// The end of a model's log.
package struct SharedHead: Sendable, Hashable {
  /// The model's id.
  package var model: String
  /// The number of its last record; 0: it never had one.
  package var record: UInt64
  /// Its version after that record.
  package var version: Version
  /// The revision of that record, to be given as `SharedBatch.after`; 0: it never had one.
  package var revision: SharedRevision
  /// Whether that record removed it. A model of that id may be made again: its log goes on after this record and this
  /// version, so that neither ever repeats.
  package var isRemoved: Bool

  /// The end of a model's log; the defaults are that of a model that never was.
  package init(
    _ model: String, record: UInt64 = 0, version: Version = 0, revision: SharedRevision = 0, isRemoved: Bool = false
  ) {
    self.model = model
    self.record = record
    self.version = version
    self.revision = revision
    self.isRemoved = isRemoved
  }

  /// The end of a log whose last record is this one.
  package init(after record: SharedRecord) {
    let batch = record.batch
    self.init(
      batch.model, record: batch.record, version: batch.version, revision: record.revision,
      isRemoved: batch.form == .removal)
  }
}

/// A model's older records as chunks.
package struct SharedFold: Sendable {
  /// The model's id.
  package var model: String
  /// What `ModelCompactor` makes of all records up to `record`, in order.
  package var chunks: [[UInt8]]
  /// The last record that the chunks contain. It is kept beside them; those before it are deleted.
  package var record: UInt64
  /// The revision of that record.
  package var revision: SharedRevision

  /// Chunks that contain all up to this record.
  package init(_ model: String, chunks: [[UInt8]], upTo record: UInt64, revision: SharedRevision) {
    self.model = model
    self.chunks = chunks
    self.record = record
    self.revision = revision
  }

  /// Compacts a loaded model.
  /// - Returns: nil for a model without records.
  /// - Throws: `StoreError` for bytes that cannot be read, and for a missing record.
  package init?(compacting stored: StoredModel, head: SharedHead) throws(StoreError) {
    guard head.record > 0, !head.isRemoved else { return nil }
    try self.init(compacting: stored, upTo: head.record, revision: head.revision)
  }

  /// Compacts a loaded model up to one of its records, which was stored at this revision.
  /// - Returns: nil if the model does not end there then: it was folded further, or made anew.
  /// - Throws: `StoreError` for bytes that cannot be read, and for a missing record.
  package init?(
    compacting stored: StoredModel, upTo record: UInt64, revision: SharedRevision
  ) throws(StoreError) {
    var stored = stored
    stored.batches = Array(stored.batches.prefix { $0.record <= record })
    var compactor = try ModelCompactor(stored)
    guard compactor.record == record, !compactor.isRemoved else { return nil }
    self.init(stored.model, chunks: [], upTo: record, revision: revision)
    while let chunk = compactor.nextChunk() { chunks.append(chunk) }
  }
}

/// The state of a shared store, for people.
package struct SharedStoreStatus: Sendable, Hashable {
  /// The engine and where it is, such as `etcd://10.0.0.1:2379/bindbus`.
  package var address: String
  /// Whether the engine answers.
  package var isConnected: Bool
  /// What the engine has room for.
  package var room: SharedRoom
  /// What to do about the room, in one sentence; empty: nothing.
  package var roomReason: String
  /// The bytes that the engine uses and may use; 0: not known.
  package var bytes, quotaBytes: UInt64
  /// Why the grade is what it is, in one sentence; empty: nothing is to be said.
  package var gradeReason: String
  /// Revisions by which the tail was behind the log when last compared.
  package var lag: UInt64
  /// How often the tail lost its place or missed a change since the store was opened.
  package var losses: UInt64
  /// Its shards beside the root.
  package var shards: [Shard] = []

  /// A part of the log in an engine of its own.
  package struct Shard: Sendable, Hashable {
    package var address: String
    /// What the ids of its models begin with.
    package var prefixes: [String]
    package var isConnected = false
    package var bytes: UInt64 = 0
    package var quotaBytes: UInt64 = 0
    /// Why it is not open, in one sentence; empty: it is.
    package var trouble = ""

    fileprivate var json: JSON {
      .object([
        .init("address", .string(address)), .init("prefixes", .array(prefixes.map { .string($0) })),
        .init("connected", .bool(isConnected)), .init("bytes", .integer(Int64(clamping: bytes))),
        .init("quotaBytes", .integer(Int64(clamping: quotaBytes))), .init("trouble", .string(trouble)),
      ])
    }
  }

  /// A state; the defaults are those of a store that was not reached yet.
  package init(
    address: String, isConnected: Bool = false, room: SharedRoom = .enough, roomReason: String = "", bytes: UInt64 = 0,
    quotaBytes: UInt64 = 0, gradeReason: String = "", lag: UInt64 = 0, losses: UInt64 = 0
  ) {
    self.address = address
    self.isConnected = isConnected
    self.room = room
    self.roomReason = roomReason
    self.bytes = bytes
    self.quotaBytes = quotaBytes
    self.gradeReason = gradeReason
    self.lag = lag
    self.losses = losses
  }

  /// Adds the state of a shard, as far as it is that of all.
  mutating func add(_ part: SharedStoreStatus) {
    isConnected = isConnected && part.isConnected
    if part.room > room { (room, roomReason) = (part.room, part.roomReason) }
    if gradeReason.isEmpty { gradeReason = part.gradeReason }
    lag = max(lag, part.lag)
    losses += part.losses
  }

  /// The state as a JSON object. A test pins the names.
  var json: JSON {
    .object([
      .init("connected", .bool(isConnected)), .init("room", .string("\(room)")),
      .init("roomReason", .string(roomReason)), .init("quotaBytes", .integer(Int64(clamping: quotaBytes))),
      .init("gradeReason", .string(gradeReason)), .init("lag", .integer(Int64(clamping: lag))),
      .init("losses", .integer(Int64(clamping: losses))), .init("shards", .array(shards.map(\.json))),
    ])
  }
}

/// What a batch that is stored survives.
package enum SharedGrade: UInt8, Sendable, Comparable {
  /// Nothing: the log is in a process's memory.
  case memory
  /// The end of hubs, and of engine processes. Whether a power loss of all engine nodes is survived is not proven.
  case process
  /// The loss of any minority of the engine's nodes, and a power loss of all of them: at least three voting nodes, each
  /// proven to sync before it acknowledges.
  case replicated

  /// Rising: survives more.
  package static func < (left: SharedGrade, right: SharedGrade) -> Bool { left.rawValue < right.rawValue }
}

/// What an engine has room for, by how much of its quota is used.
package enum SharedRoom: UInt8, Sendable, Comparable {
  /// Less than 70 %.
  case enough
  /// 70 % and more: fold now, before it is full.
  case scarce
  /// 85 % and more: a batch is answered `full` unless it removes its model. Folding goes on.
  case full
  /// 95 % and more, or the engine itself refuses writes: only removals are stored.
  case onlyRemovals

  /// Rising: less room.
  package static func < (left: SharedRoom, right: SharedRoom) -> Bool { left.rawValue < right.rawValue }
}
