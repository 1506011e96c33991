package import BindingProtocol

/// Compacts the batches of one model into their result; a store keeps these bytes instead of the batches.
///
/// Load the chunks of the previous compaction, apply the batches since, then request chunks again, one at a time,
/// so that a store can work between two appends. Of a writer's outcomes only those remain that it can still ask
/// for: the hub decides nothing for a writer with more than `outcomesKept` unconfirmed ones.
package struct ModelCompactor {
  private let log: ModelLog
  private var written = Written()

  /// The outcomes kept of one writer, counted back from its last decided number.
  package static let outcomesKept: ProposalNumber = 1_024

  /// An empty compactor for a model's id.
  package init(_ model: String) { log = ModelLog(id: model, topic: Topics.none) }

  /// Compacts everything that a store has of a model.
  /// - Throws: `StoreError` for bytes that cannot be read, and for a missing record.
  package init(_ stored: StoredModel) throws(StoreError) {
    self.init(stored.model)
    for chunk in stored.chunks { try load(chunk) }
    for batch in stored.batches { try apply(batch) }
  }

  /// Makes room for N fields. Must precede `load` and `apply`.
  package mutating func reserve(fields: Int) { log.fields.reserve(fields) }

  /// The model's id.
  package var model: String { log.id }
  /// The last record applied.
  package var record: UInt64 { log.position.record }
  /// The model's version after that record.
  package var version: Version { log.version }
  /// Whether the last batch removed the model: nothing of it is to be kept.
  package private(set) var isRemoved = false
  /// The number of fields, deleted ones included.
  package var fieldCount: Int { log.fields.count }
  /// The last decided number of an identity; 0: nothing is known of it.
  package func lastStored(of tag: Tag) -> ProposalNumber { log.writers.lastStored(of: tag) }
  /// The names of the field ids, from 0.
  package var names: [String] { log.fields.slots.map(\.name) }

  /// Loads a chunk of the previous compaction. Chunks come in their order, before any batch.
  /// - Throws: `StoreError` for bytes that cannot be read.
  package mutating func load(_ chunk: [UInt8]) throws(StoreError) { try log.load(chunk) }

  /// Applies a batch; does nothing if its record was applied before.
  /// - Parameter time: when it was appended, by the store's own clock, which ages writers; nil: when its commits
  ///   were made, by the hub's wall clock.
  /// - Throws: `StoreError` when records between are missing, or the batch keeps a field that does not exist.
  package mutating func apply(_ batch: Batch, at time: UInt64? = nil) throws(StoreError) {
    let last = log.position.record
    guard batch.record > last else { return }
    // A model that was removed and made again begins after the floor of that time.
    guard batch.record == last + 1 || last == 0, !isRemoved else {
      throw StoreError("\(log.id): record \(batch.record) follows record \(last); the records between are missing")
    }
    if case .renumbering(let kept) = batch.form, let last = kept.last, Int(last) >= log.fields.count {
      throw StoreError("\(log.id): record \(batch.record) keeps field \(last) of \(log.fields.count)")
    }
    log.apply(batch, recentLimit: 0, decidedAt: time)
    isRemoved = batch.form == .removal
  }

  /// Drops the writers of these tags, and those that have written nothing since a time.
  /// - Parameter time: by the clock of `apply`, milliseconds.
  package mutating func forget(_ tags: Set<Tag>, silentSince time: UInt64) {
    log.forget(tags.union(log.writers.records.lazy.filter { $0.decidedAt < time }.map(\.origin.tag)))
  }

  /// The next chunk, of about N bytes; nil: that was the last. The compactor must not change between chunks.
  package mutating func nextChunk(ofBytes limit: Int = 65_536) -> [UInt8]? { log.chunk(after: &written, limit) }

  /// The chunks' progress.
  struct Written {
    var isHeadWritten = false
    var writers = 0
    var fields = 0
    var areSeenWritten = false
    var isOwnerWritten = false
  }
}
