import BindingHub
import BindingProtocol

/// What a shared store promises to each of its hubs: no answer is older than its question, and a sync is answered after
/// all that was stored before it was told.
final class SharedStoreOracle: Invariant {
  /// The last record of each model, whether it is there, and how often it has been removed.
  private struct Standing {
    var record: UInt64
    var isRemoved: Bool
    var removals: Int
  }
  /// What one process of a hub has asked, and was told.
  private struct Hub {
    /// By model: the record at the oldest question without an answer.
    var loads: [String: UInt64] = [:]
    /// By number: all records at the call.
    var syncs: [(number: UInt64, log: [String: Standing])] = []
    /// The pages without an answer, in their order.
    var lists: [(prefix: String, after: String, log: [String: Standing])] = []
    var told: [String: UInt64]

    mutating func tell(_ model: String, _ record: UInt64) { told[model] = max(told[model] ?? 0, record) }

    mutating func tell(_ answer: SharedAnswer) {
      let last: UInt64? =
        switch answer.result {
        case .stored: answer.record
        case .moved(let records): records.last?.batch.record
        case .folded(let head): head.record
        case .unknown, .full, .tooLarge: nil
        }
      for record in [last, answer.later.last?.batch.record].compactMap(\.self) { tell(answer.model, record) }
    }
  }
  @exclusivity(unchecked) private var log: [String: Standing] = [:]
  /// By the hub's number.
  @exclusivity(unchecked) private var hubs: [Int: Hub] = [:]

  func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .stored(let batch, _):
      let isRemoved = batch.form == .removal
      let removals = (log[batch.model]?.removals ?? 0) + (isRemoved ? 1 : 0)
      log[batch.model] = Standing(record: batch.record, isRemoved: isRemoved, removals: removals)
    case .opened(let hub): hubs[hub.index] = Hub(told: log.mapValues(\.record))
    case .asked(let call, let hub): ask(call, &hubs[hub.index, default: Hub(told: [:])])
    case .told(let event, let hub): try hear(event, hub, &hubs[hub.index, default: Hub(told: [:])])
    default: break
    }
  }

  private func ask(_ call: ShardCall, _ hub: inout Hub) {
    switch call {
    case .load(let model): if hub.loads[model] == nil { hub.loads[model] = log[model]?.record ?? 0 }
    case .sync(let number): hub.syncs.append((number, log))
    case .list(let prefix, let after, _): hub.lists.append((prefix, after, log))
    case .append, .loadToFold, .head, .fold, .history: break
    }
  }

  private func hear(_ event: SharedEvent, _ name: SimulatedHub, _ hub: inout Hub) throws(Violation) {
    switch event {
    case .followed(let records, _): for record in records { hub.tell(record.batch.model, record.batch.record) }
    case .changed(let heads): for head in heads { hub.tell(head.model, head.record) }
    case .appended(_, let answers): for answer in answers { hub.tell(answer) }
    case .loaded(let head, .success):
      hub.tell(head.model, head.record)
      guard let floor = hub.loads.removeValue(forKey: head.model), head.record < floor else { return }
      throw Violation(
        .freshAnswer, "\(name) is given record \(head.record) of \(head.model), which had \(floor) when it asked")
    case .synced(let number):
      let done = hub.syncs.filter { $0.number <= number }
      hub.syncs.removeAll { $0.number <= number }
      for (model, standing) in done.last?.log ?? [:] where hub.told[model] ?? 0 < standing.record {
        throw Violation(
          .freshAnswer,
          "\(name) is answered sync \(number), but was told \(hub.told[model] ?? 0) of \(standing.record) records "
            + "of \(model) before it")
      }
    case .listed(_, let heads, let isLast): try hear(heads.map(\.model), isLast: isLast, name, &hub)
    default: break
    }
  }

  /// A page comes: no model is left out that has been there ever since the question.
  private func hear(_ page: [String], isLast: Bool, _ name: SimulatedHub, _ hub: inout Hub) throws(Violation) {
    guard !hub.lists.isEmpty else { return }
    let (prefix, after, before) = hub.lists.removeFirst()
    for (model, standing) in before where model.hasPrefix(prefix) && after < model && !page.contains(model) {
      let isStillThere = !standing.isRemoved && log[model]?.removals == standing.removals
      guard isStillThere, isLast || model < page.last ?? "" else { continue }
      throw Violation(.freshAnswer, "\(name) is given a list below \"\(prefix)\" without \(model), which is there")
    }
  }
}
