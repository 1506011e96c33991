import BindingProtocol
import Dispatch
import Synchronization

/// Copies the models of a log that several hubs share, out of it and into it. It blocks, for tools; one thread at a
/// time.
package final class SharedLogCopy: Sendable {
  private let store: any SharedStore
  private let events = Mutex<[SharedEvent]>([])
  private let arrived = DispatchSemaphore(value: 0)
  private let appends = Mutex<UInt64>(0)

  /// Models that are read or written at once, and bytes of those that are written.
  private static let modelsAtOnce = 32
  private static let bytesAtOnce = 8 << 20
  /// Without an event for so long the copy ends, seconds.
  private static let patience = 30.0

  /// - Parameter store: on which `begin` was not called yet. The caller closes it.
  package init(_ store: any SharedStore) {
    self.store = store
    // SAFETY of the capture: the store is closed before its copy ends, and no event comes after that.
    store.begin { [weak self] event in
      guard let self else { return }
      events.withLock { $0.append(event) }
      arrived.signal()
    }
  }

  // MARK: Out of the log

  /// Passes every model to `each`, in the order of their ids, each as it is at one moment. Hubs may go on.
  /// - Throws: `StoreError`, also where the engine does not answer.
  package func read(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {
    var (after, isLast) = ("", false)
    while !isLast {
      store.list(prefix: "", after: after, limit: SharedLogCopy.modelsAtOnce)
      let (heads, last): ([SharedHead], Bool) = try next { event throws(StoreError) in
        if case .listed(_, let heads, let isLast) = event { (heads, isLast) } else { nil }
      }
      for head in heads { store.load(head.model) }
      var found: [String: StoredModel] = [:]
      for _ in heads {
        // One that was removed meanwhile is left out.
        let model: StoredModel? = try next { event throws(StoreError) in
          if case .loaded(_, let result) = event { .some(try result.get()) } else { nil }
        }
        if let model { found[model.model] = model }
      }
      for head in heads { if let model = found[head.model] { try each(model) } }
      (after, isLast) = (heads.last?.model ?? after, last)
    }
  }

  // MARK: Into the log

  /// Models on their way into the log.
  package struct Writing {
    fileprivate var models: [StoredModel] = []
    fileprivate var bytes = 0

    package init() {}
  }

  /// Puts a model into an empty log, together with the next ones of `writing`; `finish` writes the last ones.
  /// - Throws: `StoreError`, also where the engine has no room.
  package func add(_ model: StoredModel, to writing: inout Writing) throws(StoreError) {
    writing.models.append(model)
    writing.bytes += model.chunks.reduce(0) { $0 + $1.count }
    let isFull = writing.models.count == SharedLogCopy.modelsAtOnce || writing.bytes > SharedLogCopy.bytesAtOnce
    if isFull { try finish(&writing) }
  }

  /// Writes what is left.
  package func finish(_ writing: inout Writing) throws(StoreError) {
    defer { writing = Writing() }
    guard !writing.models.isEmpty else { return }
    // One more record marks the place up to which everything is in the chunks.
    var models: [(stored: StoredModel, batch: Batch)] = []
    for var model in writing.models {
      let compactor = try ModelCompactor(model)
      let batch = Batch(
        model: model.model, record: compactor.record + 1, epoch: store.epoch, previous: compactor.version,
        version: compactor.version, body: [], decisions: [])
      model.batches.append(batch)
      models.append((model, batch))
    }
    let revisions = try append(models.map(\.batch))
    for (model, batch) in models {
      guard let revision = revisions[batch.model],
        let fold = try SharedFold(compacting: model, upTo: batch.record, revision: revision)
      else { throw StoreError("\(batch.model) is changed while it is written: stop the hubs of this log") }
      store.fold(fold)
    }
    for _ in models {
      let (model, result): (String, SharedFolded) = try next { event throws(StoreError) in
        if case .folded(let model, let result) = event { (model, result) } else { nil }
      }
      switch result {
      case .folded: continue
      case .outrun: throw StoreError("\(model) is changed while it is written: stop the hubs of this log")
      case .refused(let reason): throw StoreError("\(model) cannot be written: \(reason)")
      }
    }
  }

  private func append(_ batches: [Batch]) throws(StoreError) -> [String: SharedRevision] {
    let number = appends.withLock { number in
      number += 1
      return number
    }
    store.append(number, batches.map { SharedBatch($0, after: 0) })
    var revisions: [String: SharedRevision] = [:]
    while revisions.count < batches.count {
      let answers: [SharedAnswer] = try next { event throws(StoreError) in
        if case .appended(_, let answers) = event { answers } else { nil }
      }
      for answer in answers {
        switch answer.result {
        case .stored(let revision): revisions[answer.model] = revision
        case .full: throw StoreError("etcd has no room: raise its quota, or compact and defragment it")
        case .unknown: throw StoreError("etcd does not answer")
        case .moved, .folded, .tooLarge:
          throw StoreError("\(answer.model) is in the log already: restore to a prefix that nobody uses")
        }
      }
    }
    return revisions
  }

  // MARK: Events

  /// Waits for the next event that `pick` takes; others are dropped.
  private func next<Found>(
    _ pick: (SharedEvent) throws(StoreError) -> Found?
  ) throws(StoreError) -> Found {
    while true {
      guard arrived.wait(timeout: .now() + SharedLogCopy.patience) == .success else {
        throw StoreError("etcd does not answer", .cannotOpen)
      }
      let event = events.withLock { $0.removeFirst() }
      if case .failed(let error) = event { throw error }
      if let found = try pick(event) { return found }
    }
  }
}
