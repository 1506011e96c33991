import BindingHub
import BindingProtocol

/// A store that keeps every batch and allows several writers: a writer with an old head gets the batches that it
/// missed.
final class LogStore: Store {
  let logID: LogID = 3
  private(set) var epoch: Epoch = HubBench.epoch
  var durability: Durability { .memory }
  private(set) var floor = LogFloor.none
  private var logs: [String: [Batch]] = [:]

  func append(_ batches: [Batch]) throws(StoreError) -> [Appended] {
    batches.map { batch in
      let log = logs[batch.model] ?? []
      guard log.last.map({ $0.record + 1 == batch.record }) ?? floor.mayBegin(batch.record) else {
        return .moved(log.filter { $0.record >= batch.record })
      }
      if batch.form == .removal {
        floor.raise(over: batch)
        logs[batch.model] = nil
      } else {
        logs[batch.model, default: []].append(batch)
      }
      return .stored
    }
  }

  func load(_ each: (StoredModel) throws(StoreError) -> Void) throws(StoreError) {
    for (model, batches) in logs.sorted(by: { $0.key < $1.key }) {
      try each(StoredModel(model: model, batches: batches))
    }
  }

  func load(_ model: String) throws(StoreError) -> StoredModel? {
    logs[model].map { StoredModel(model: model, batches: $0) }
  }

  func history(_ query: HistoryQuery) -> HistoryReading {
    let batches = logs[query.model] ?? []
    return HistoryReading {
      guard let first = batches.first(where: { !$0.body.isEmpty }) else { return .none(to: query) }
      var collector = HistoryCollector(query, oldest: (first.previous, first.record))
      for batch in query.isOldestFirst ? batches : batches.reversed() where !collector.add(batch) { break }
      return collector.answer
    }
  }

  func start(_ epoch: Epoch) throws(StoreError) { self.epoch = epoch }
}

extension Store {
  /// Loads all models into one array.
  func loadAll() throws(StoreError) -> [StoredModel] {
    var models: [StoredModel] = []
    try load { models.append($0) }
    return models
  }
}
