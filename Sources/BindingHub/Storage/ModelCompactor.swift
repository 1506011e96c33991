public import BindingProtocol

/// The batches of one model folded into what they make of it: for a store, which keeps its bytes instead of them.
///
/// A fold is given the chunks of the last one, then the batches since, then asked for chunks again, one at a time, so
/// that a store may do a little of it between two appends. Of a writer's outcomes only those stay that it can still
/// ask for: the hub decides nothing further for who has more of them unconfirmed than `outcomesKept`.
public struct ModelCompactor {
  private let log: ModelLog
  private var written = Written()

  /// Outcomes kept of one writer, counted back from its mark.
  public static let outcomesKept: ProposalNumber = 1_024

  public init(_ model: String) { log = ModelLog(id: model, topic: Topics.none) }

  /// All that a store has of a model.
  public init(_ stored: StoredModel) throws(StoreError) {
    self.init(stored.model)
    for chunk in stored.chunks { try load(chunk) }
    for batch in stored.batches { try apply(batch) }
  }

  /// Makes room for so many fields, before anything is taken in.
  public mutating func reserve(fields: Int) { log.fields.reserve(fields) }

  public var model: String { log.id }
  /// The last record that is in it.
  public var record: UInt64 { log.records }
  public var version: Version { log.version }
  /// Whether the last batch removed the model: nothing is to be kept of it.
  public private(set) var isRemoved = false
  public var fieldCount: Int { log.fields.count }
  /// How far the proposals of an identity are decided; 0: nothing is known of it.
  public func lastStored(of tag: Tag) -> ProposalNumber { log.writers.first { $0.origin.tag == tag }?.lastStored ?? 0 }
  /// The names of the field ids, from 0 on.
  public var names: [String] { log.fields.slots.map(\.name) }

  /// Takes in a chunk of an earlier fold. Chunks are given in their order, before any batch.
  public mutating func load(_ chunk: [UInt8]) throws(StoreError) { try log.load(chunk) }

  /// Takes in a batch; nothing, if it is in here already.
  /// - Parameter time: when it was appended, by the store's own clock, by which writers grow old; nil: when its commits
  ///   were made, by the wall clock of the hub.
  public mutating func apply(_ batch: Batch, at time: UInt64? = nil) throws(StoreError) {
    guard batch.record > log.records else { return }
    // A model that was removed and made again begins after the floor of that time.
    guard batch.record == log.records + 1 || log.records == 0, !isRemoved else {
      throw StoreError("\(log.id): record \(batch.record) follows record \(log.records); those between are missing")
    }
    if case .renumbering(let kept) = batch.form, let last = kept.last, Int(last) >= log.fields.count {
      throw StoreError("\(log.id): record \(batch.record) keeps field \(last) of \(log.fields.count)")
    }
    log.apply(batch, recentLimit: 0, decidedAt: time)
    isRemoved = batch.form == .removal
  }

  /// Drops writers that nobody will ask about: those of these tags, and those that have written nothing since a time.
  /// - Parameter time: by the clock of `apply`, milliseconds.
  public mutating func forget(_ tags: Set<Tag>, silentSince time: UInt64) {
    log.forget(tags.union(log.writers.lazy.filter { $0.decidedAt < time }.map(\.origin.tag)))
  }

  /// The next chunk, of about so many bytes; nil: that was all. What is in the fold must not change between them.
  public mutating func nextChunk(ofBytes limit: Int = 65_536) -> [UInt8]? { log.chunk(after: &written, limit) }

  /// How far the chunks have got.
  struct Written {
    var isHeadWritten = false
    var writers = 0
    var fields = 0
    var areSeenWritten = false
  }
}
