import BindingProtocol

/// A call of `SharedStore` that is passed on to one shard, or waits for it.
package enum ShardCall: Sendable {
  case append(UInt64, [SharedBatch])
  case load(String)
  case loadToFold(String, upTo: UInt64)
  case head(of: String)
  case fold(SharedFold)
  case history(HistoryQuery)
  case sync(UInt64)
  case list(prefix: String, after: String, limit: Int)

  /// What is asked about one model and has one answer; nil: it is another call.
  var question: ShardQuestion? {
    switch self {
    case .load(let model): .load(model)
    case .loadToFold(let model, _): .loadToFold(model)
    case .head(let model): .head(model)
    case .history(let query): .history(query)
    case .append, .fold, .sync, .list: nil
    }
  }

  /// Makes the call.
  package func carryOut(on store: any SharedStore) {
    switch self {
    case .append(let number, let batches): store.append(number, batches)
    case .load(let model): store.load(model)
    case .loadToFold(let model, let record): store.loadToFold(model, upTo: record)
    case .head(let model): store.head(of: model)
    case .fold(let fold): store.fold(fold)
    case .history(let query): store.history(query)
    case .sync(let number): store.sync(number)
    case .list(let prefix, let after, let limit): store.list(prefix: prefix, after: after, limit: limit)
    }
  }
}

/// A question about one model. It is answered once, by the shard that has the model then.
enum ShardQuestion: Hashable, Sendable {
  case load(String)
  case loadToFold(String)
  case head(String)
  case history(HistoryQuery)

  /// The question that an event answers; nil: the event is no answer.
  init?(answeredBy event: SharedEvent) {
    switch event {
    case .loaded(let head, _): self = .load(head.model)
    case .foldable(let model, _): self = .loadToFold(model)
    case .head(let head): self = .head(head.model)
    case .history(let query, _): self = .history(query)
    default: return nil
    }
  }

  var model: String {
    switch self {
    case .load(let model), .loadToFold(let model), .head(let model): model
    case .history(let query): query.model
    }
  }
}

/// Revisions of a log with shards. Each shard counts its own, so a shard's number is in their upper bits: what was
/// decided on a head in one shard is never stored on a head of the same revision in another.
enum ShardRevision {
  private static let bits: UInt64 = 48

  /// A shard's revision as the hub sees it.
  static func here(_ revision: SharedRevision, of shard: UInt16) -> SharedRevision {
    revision == 0 ? 0 : revision | UInt64(shard) << bits
  }

  /// A revision as its shard has it.
  static func inShard(_ revision: SharedRevision) -> SharedRevision { revision & (1 << bits - 1) }

  /// Whether it is that of a head in this shard. One that never had a head is the same in all.
  static func isOf(_ shard: UInt16, _ revision: SharedRevision) -> Bool {
    revision == 0 || revision >> bits == UInt64(shard)
  }

  static func here(_ head: SharedHead, of shard: UInt16) -> SharedHead {
    var head = head
    head.revision = here(head.revision, of: shard)
    return head
  }

  static func here(_ records: [SharedRecord], of shard: UInt16) -> [SharedRecord] {
    guard shard != ShardMap.root else { return records }
    return records.map { SharedRecord($0.batch, revision: here($0.revision, of: shard)) }
  }

  static func here(_ answer: SharedAnswer, of shard: UInt16) -> SharedAnswer {
    guard shard != ShardMap.root else { return answer }
    var answer = answer
    answer.later = here(answer.later, of: shard)
    switch answer.result {
    case .stored(let revision): answer.result = .stored(here(revision, of: shard))
    case .moved(let records): answer.result = .moved(here(records, of: shard))
    case .folded(let head): answer.result = .folded(here(head, of: shard))
    case .unknown, .full, .tooLarge: break
    }
    return answer
  }
}
