import BindingProtocol

/// Which models of a shared log this hub folds, and up to which record.
///
/// The hub that stores a model's every 256th record folds the model: so one hub does it as a rule, though none knows of
/// the others. Where it ends before it has done so, the next 256th record makes up for it. The last records stay, for
/// the model's history and for hubs that catch up.
///
/// Where room is scarce a fold leaves nothing. Many models of few records each would fill the store before any of them
/// has 256; so each hub then folds, one after the other, those to which it has appended the most.
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

  /// Bytes of appends from which a fold frees more than it writes, where room is scarce; and not less than the last
  /// fold of the model had.
  static let worthwhile = 4_096

  /// Of each model, the last records whose numbers are multiples of the interval.
  private var marks: [String: [Order]] = [:]
  /// Of each model, the last record that this hub has stored.
  private var last: [String: Order] = [:]
  /// Of each model, the bytes of batches since the last fold that was ordered here.
  private var bytes: [String: Int] = [:]
  /// Of each model, the bytes of its last fold, as far as it is known.
  private var sizes: [String: Int] = [:]
  private var waiting: [Order] = []
  /// Models to fold as long as room is scarce, the largest last; those that have grown since that list was made; and
  /// all of these.
  private var largest: [String] = []
  private var grown: [String] = []
  private var listed: Set<String> = []
  /// The one being folded.
  private(set) var underWay: Order?
  /// Where room is scarce, folds leave nothing.
  var isRoomScarce = false {
    didSet {
      (largest, grown, listed) = ([], [], [])
      if isRoomScarce { for model in bytes.keys { noteGrown(model) } }
    }
  }

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
    last[model] = Order(model: model, record: record, revision: revision)
    if bytes[model] ?? 0 > FoldQueue.maxBytes {
      order(Order(model: model, record: record, revision: revision))
    } else if record % FoldQueue.interval == 0 {
      let kept = isRoomScarce ? 0 : FoldQueue.kept
      if let last = marks[model]?.last(where: { $0.record + kept <= record }) { order(last) }
    }
    if isRoomScarce { noteGrown(model) }
  }

  /// A model was loaded: so many records after a fold.
  /// - Parameters:
  ///   - bytes: of these records.
  ///   - size: the bytes of the fold.
  mutating func loaded(_ head: SharedHead, records: Int, bytes: Int = 0, size: Int = 0) {
    if head.isRemoved || head.record == 0 { return forget(head.model) }
    sizes[head.model] = size
    if records > FoldQueue.overdue || isRoomScarce && bytes >= max(FoldQueue.worthwhile, size) {
      order(Order(model: head.model, record: head.record, revision: head.revision))
    }
  }

  /// A model was removed.
  mutating func forget(_ model: String) {
    marks[model] = nil
    bytes[model] = nil
    last[model] = nil
    sizes[model] = nil
  }

  private func isWorthwhile(_ model: String) -> Bool {
    bytes[model] ?? 0 >= max(FoldQueue.worthwhile, sizes[model] ?? 0)
  }

  /// Lists a model once a fold of it frees more than it writes.
  private mutating func noteGrown(_ model: String) {
    if last[model] != nil, isWorthwhile(model), listed.insert(model).inserted { grown.append(model) }
  }

  /// Orders the model to which this hub has appended the most since its last fold.
  private mutating func orderLargest() {
    if largest.isEmpty, !grown.isEmpty {
      largest = grown.sorted { (bytes[$0] ?? 0, $1) < (bytes[$1] ?? 0, $0) }
      grown.removeAll()
    }
    while let model = largest.popLast() {
      listed.remove(model)
      if isWorthwhile(model), let last = last[model] { return order(last) }
    }
  }

  private mutating func order(_ order: Order) {
    bytes[order.model] = nil
    waiting.removeAll { $0.model == order.model }
    waiting.append(order)
  }

  /// Takes the next order, if none is under way.
  mutating func begin() -> Order? {
    guard underWay == nil else { return nil }
    if waiting.isEmpty, isRoomScarce { orderLargest() }
    guard !waiting.isEmpty else { return nil }
    underWay = waiting.removeFirst()
    return underWay
  }

  /// The one under way is a fold of this size.
  mutating func compacted(to size: Int) { if let model = underWay?.model { sizes[model] = size } }

  /// The one under way has ended, whatever became of it.
  mutating func end() { underWay = nil }
}
