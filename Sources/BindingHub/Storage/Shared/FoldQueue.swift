import BindingProtocol

/// Which models of a shared log this hub folds, and up to which record.
///
/// The hub that stores a model's every 256th record folds the model: so one hub does it as a rule, though none knows of
/// the others. Where it ends before it has done so, the next 256th record makes up for it. The last records stay, for
/// the model's history and for hubs that catch up.
struct FoldQueue {
  /// A model to be folded up to a record, which was stored at this revision.
  struct Order: Equatable {
    var model: String
    var record: UInt64
    var revision: SharedRevision
  }
  /// Records between two folds of a model.
  static let interval: UInt64 = 256
  /// Records that a fold leaves, where there is room.
  static let kept: UInt64 = 1_024
  /// Records of a model that was just loaded at which nobody seems to have folded it.
  static let overdue = 4_096
  /// Bytes that this hub appends to a model until it folds all of it: otherwise few but large records would take long
  /// to load.
  static let maxBytes = 16 << 20

  /// Of each model, the last records whose numbers are multiples of the interval.
  private var marks: [String: [Order]] = [:]
  /// Of each model, the bytes of batches since the last fold that was ordered here.
  private var bytes: [String: Int] = [:]
  private var waiting: [Order] = []
  /// The one being folded.
  private(set) var underWay: Order?
  /// Where room is scarce, folds leave nothing.
  var isRoomScarce = false

  /// A batch of this size leaves for the log.
  mutating func append(_ size: Int, to model: String) { bytes[model, default: 0] += size }

  /// A record stands in the log.
  mutating func note(_ record: UInt64, of model: String, at revision: SharedRevision) {
    guard record % FoldQueue.interval == 0 else { return }
    var known = marks[model] ?? []
    guard record > known.last?.record ?? 0 else { return }
    known.append(Order(model: model, record: record, revision: revision))
    if known.count > Int(FoldQueue.kept / FoldQueue.interval) + 1 { known.removeFirst() }
    marks[model] = known
  }

  /// This hub has stored a record.
  mutating func stored(_ record: UInt64, of model: String, at revision: SharedRevision) {
    note(record, of: model, at: revision)
    if bytes[model] ?? 0 > FoldQueue.maxBytes {
      order(Order(model: model, record: record, revision: revision))
    } else if record % FoldQueue.interval == 0 {
      let kept = isRoomScarce ? 0 : FoldQueue.kept
      if let last = marks[model]?.last(where: { $0.record + kept <= record }) { order(last) }
    }
  }

  /// A model was loaded.
  mutating func loaded(_ head: SharedHead, records: Int) {
    if head.isRemoved || head.record == 0 { return forget(head.model) }
    if records > FoldQueue.overdue {
      order(Order(model: head.model, record: head.record, revision: head.revision))
    }
  }

  /// A model was removed.
  mutating func forget(_ model: String) {
    marks[model] = nil
    bytes[model] = nil
  }

  private mutating func order(_ order: Order) {
    bytes[order.model] = nil
    waiting.removeAll { $0.model == order.model }
    waiting.append(order)
  }

  /// Takes the next order, if none is under way.
  mutating func begin() -> Order? {
    guard underWay == nil, !waiting.isEmpty else { return nil }
    underWay = waiting.removeFirst()
    return underWay
  }

  /// The one under way has ended, whatever became of it.
  mutating func end() { underWay = nil }
}
