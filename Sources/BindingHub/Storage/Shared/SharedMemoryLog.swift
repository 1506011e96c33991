package import BindingProtocol

/// A log in memory that several hubs of one process share: their engine. It lives as long as the process.
/// It may be used from any thread.
package final class SharedMemoryLog: Sendable {
  struct Model: Sendable {
    var head: SharedHead
    /// By rising record; those before the last folded one are gone.
    var records: [SharedRecord] = []
    var chunks: [[UInt8]] = []
    var folds: SharedRevision = 0
  }
  struct State: Sendable {
    var logID: LogID
    var epoch: Epoch
    var revision: SharedRevision = 1
    var models: [String: Model] = [:]
    /// What the tail reads, by rising revision.
    var recent: [SharedRecord] = []
    /// The tail cannot be read after an earlier revision.
    var compacted: SharedRevision = 1
    var room = SharedRoom.enough
    /// Where models are; nil: this is a shard, and its root says.
    var map: ShardMap?
    /// Rises when that changes, and when something was moved out of this log.
    var fence: UInt64 = 0
  }
  private let state: HubLock<State>

  /// An empty log, or an empty shard of one.
  package init(logID: LogID, epoch: Epoch, isShard: Bool = false) {
    state = HubLock(State(logID: logID, epoch: epoch, map: isShard ? nil : ShardMap()))
  }

  // MARK: What hubs do, each at one moment

  /// What a handle looks at in each step.
  struct Glance {
    let logID: LogID
    let epoch: Epoch
    let revision: SharedRevision
    let room: SharedRoom
  }

  var glance: Glance {
    state.withLock { Glance(logID: $0.logID, epoch: $0.epoch, revision: $0.revision, room: $0.room) }
  }

  /// The revision now.
  package var revision: SharedRevision { state.withLock { $0.revision } }

  /// - Parameter fence: the highest one that was known when these were passed on.
  func append(_ batches: [SharedBatch], knowing fence: UInt64) -> [Outcome] {
    state.withLock { state in
      guard fence == state.fence else { return batches.map { _ in .outdated } }
      // The batches that fit go into the log together, as in one transaction.
      let revision = state.revision + 1
      var stored: [SharedRecord] = []
      let outcomes = batches.map { append -> Outcome in
        let batch = append.batch
        var model = state.models[batch.model] ?? Model(head: SharedHead(batch.model))
        // As an engine does that knows nothing of records: it is the revision that tells them apart.
        guard model.head.revision == append.after else {
          return .stands(model.records.filter { $0.batch.record >= batch.record }, model.head)
        }
        guard state.room < .full || batch.form == .removal else { return .full }
        let record = SharedRecord(batch, revision: revision)
        model.add(record)
        state.models[batch.model] = model
        stored.append(record)
        return .stored(revision)
      }
      if !stored.isEmpty {
        state.revision = revision
        state.recent += stored
      }
      return outcomes
    }
  }

  /// What an engine answers to a batch.
  enum Outcome: Sendable {
    case stored(SharedRevision)
    /// Not stored: these records stand from its place on, at this head.
    case stands([SharedRecord], SharedHead)
    case full
    /// Not stored: its model may be in another shard now.
    case outdated
  }

  func head(of model: String) -> SharedHead { state.withLock { $0.models[model]?.head ?? SharedHead(model) } }

  func load(_ model: String) -> (SharedHead, StoredModel?) {
    state.withLock { state in
      guard let found = state.models[model] else { return (SharedHead(model), nil) }
      guard !found.head.isRemoved else { return (found.head, nil) }
      return (found.head, StoredModel(model: model, chunks: found.chunks, batches: found.records.map(\.batch)))
    }
  }

  func list(prefix: String, after: String, limit: Int) -> (heads: [SharedHead], isLast: Bool) {
    state.withLock { state in
      let found = state.models.values.lazy.map(\.head)
        .filter { !$0.isRemoved && $0.model.hasPrefix(prefix) && after.utf8.lexicographicallyPrecedes($0.model.utf8) }
        .sorted { $0.model.utf8.lexicographicallyPrecedes($1.model.utf8) }
      return (Array(found.prefix(limit)), found.count <= limit)
    }
  }

  func fold(_ fold: SharedFold, over seen: SharedRevision) -> SharedFolded {
    state.withLock { state in
      guard state.room < .onlyRemovals else { return .refused("the log has room for nothing but removals") }
      guard let model = state.models[fold.model], model.folds == seen,
        let last = model.records.firstIndex(where: { $0.batch.record == fold.record }),
        model.records[last].revision == fold.revision, !model.head.isRemoved
      else { return .outrun }
      state.revision += 1
      state.models[fold.model]?.folds = state.revision
      state.models[fold.model]?.chunks = fold.chunks
      state.models[fold.model]?.records.removeFirst(last)
      return .folded
    }
  }

  /// The fold in force; 0: none.
  func folds(of model: String) -> SharedRevision { state.withLock { $0.models[model]?.folds ?? 0 } }

  /// The records after a revision, whole revisions only, and the revision up to which these are all; nil: they are
  /// compacted.
  package func records(
    after position: SharedRevision, limit: Int
  ) -> (records: [SharedRecord], position: SharedRevision)? {
    state.withLock { state in
      guard position >= state.compacted else { return nil }
      // Hubs look far more often than anything is new.
      guard position < state.revision else { return ([], state.revision) }
      let first = state.recent.firstIndex { $0.revision > position } ?? state.recent.endIndex
      let rest = state.recent[first...]
      guard rest.count > limit, let cut = rest.dropFirst(limit).first?.revision else {
        return (Array(rest), state.revision)
      }
      let whole = rest.prefix { $0.revision < cut }
      guard let last = whole.last else { return (Array(rest.prefix { $0.revision == cut }), cut) }
      return (Array(whole), last.revision)
    }
  }

  /// The heads that changed after a revision, and the revision now.
  func heads(changedAfter position: SharedRevision) -> (heads: [SharedHead], revision: SharedRevision) {
    state.withLock { state in
      let heads = state.models.values.map(\.head).filter { $0.revision > position }
      return (heads.sorted { ($0.revision, $0.model) < ($1.revision, $1.model) }, state.revision)
    }
  }

  func history(_ query: HistoryQuery) -> HistoryAnswer {
    let batches = state.withLock { $0.models[query.model]?.records.map(\.batch) ?? [] }
    return HistoryAnswer(query, of: batches)
  }

  var room: SharedRoom { state.withLock { $0.room } }

  /// Where models are, and the number that tells whether that is known.
  var shards: (map: ShardMap?, fence: UInt64) { state.withLock { ($0.map, $0.fence) } }

  func with<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  // MARK: What tests do

  /// How many records of a model there are beside its chunks.
  package func records(of model: String) -> Int { state.withLock { $0.models[model]?.records.count ?? 0 } }

  /// Forgets what the tail reads, as an engine does that keeps no more.
  package func compact() {
    state.withLock { state in
      state.compacted = state.revision
      state.recent.removeAll()
    }
  }

  /// Sets how much room there is.
  package func setRoom(_ room: SharedRoom) { state.withLock { $0.room = room } }

  /// Makes it the same log in another epoch, as restoring a backup does.
  package func begin(_ epoch: Epoch) {
    state.withLock { state in
      state.epoch = epoch
      state.revision += 1
    }
  }
}

extension SharedMemoryLog.Model {
  fileprivate mutating func add(_ record: SharedRecord) {
    head = SharedHead(after: record)
    if head.isRemoved {
      // The removal stays: it answers whoever decided on an earlier record.
      (records, chunks, folds) = ([record], [], 0)
    } else {
      // Of a model that was removed and is made again only the new life is loaded.
      if records.last?.batch.form == .removal { records.removeAll() }
      records.append(record)
    }
  }
}

extension HistoryAnswer {
  /// A page of what these batches, all that are kept of a model, say.
  package init(_ query: HistoryQuery, of batches: [Batch]) {
    guard let first = batches.first(where: { !$0.body.isEmpty }) else {
      self = .none(to: query)
      return
    }
    var collector = HistoryCollector(query, oldest: (first.previous, first.record))
    for batch in query.isOldestFirst ? batches : batches.reversed() where !collector.add(batch) { break }
    self = collector.answer
  }
}
