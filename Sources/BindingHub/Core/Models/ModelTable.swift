import BindingProtocol

/// The models by index, name and topic, and those to settle at the end of the drain. The index of a removed model is
/// reused; its topic is not.
struct ModelTable: RandomAccessCollection {
  private var logs: [ModelLog] = []
  private var byName: [String: Int] = [:]
  private var topics: TopicTable
  /// Free indices, and those that may still be referred to until the next heartbeat.
  private var free: [Int] = []
  private var freed: [Int] = []
  /// Where the log of a new model begins: beyond all removed ones. Ephemeral models have an epoch of their own.
  var floor = LogFloor.none
  private(set) var ephemeralFloor: Version = 0
  /// Models to settle: a decision was made, a join waits, or an answer is due.
  private(set) var touched: [Int] = []
  private var isTouched: [Bool] = []
  /// Which models may be published.
  private var policy: AccessPolicy?
  private let pool = BatchPool()
  /// A placeholder at the index of a removed model.
  private let removed = ModelLog(id: "", topic: Topics.none)

  init(_ topics: TopicNumbers) { self.topics = TopicTable(topics) }

  var startIndex: Int { 0 }
  var endIndex: Int { logs.count }

  subscript(index: Int) -> ModelLog { logs[index] }

  /// The number of models, without the indices of removed ones.
  var namedCount: Int { byName.count }

  /// Whether a topic is left for another model.
  var hasTopics: Bool { topics.hasRoom }

  func index(named name: String) -> Int? { byName[name] }

  func index(of topic: Topic) -> Int? { topics[topic] }

  /// The topics assigned after `topic` that have a model, in the order of their assignment.
  func topics(after topic: Topic) -> some Sequence<Topic> { topics.topics(after: topic) }

  /// Whether it is to be settled at the end of the drain.
  func isTouched(_ index: Int) -> Bool { isTouched[index] }

  func isRemoved(_ index: Int) -> Bool { logs[index] === removed }

  // MARK: Making and removing

  /// - Parameter beginning: where the model's log begins; a restored model's own records say so.
  mutating func make(_ id: String, ephemeral: EphemeralState? = nil, from beginning: LogFloor) -> Int {
    let index = free.popLast() ?? logs.count
    let model = ModelLog(
      id: id, topic: topics.assign(index), ephemeral: ephemeral, beginning: beginning, pool: pool)
    model.permit = PublishPermit(for: id, by: policy)
    if index < logs.count {
      logs[index] = model
    } else {
      logs.append(model)
      isTouched.append(false)
    }
    byName[id] = index
    return index
  }

  /// Another policy says which models may be published.
  mutating func apply(_ policy: AccessPolicy?) {
    self.policy = policy
    for model in logs where model !== removed { model.permit = PublishPermit(for: model.id, by: policy) }
  }

  mutating func remove(_ index: Int) {
    let model = logs[index]
    byName[model.id] = nil
    topics.release(model.topic)
    if model.ephemeral != nil { ephemeralFloor = Swift.max(ephemeralFloor, model.version) }
    logs[index] = removed
    freed.append(index)
  }

  /// Nothing refers to the indices of removed models any more.
  mutating func reuseFreed() {
    free += freed
    freed.removeAll()
  }

  /// Gives a model the next topic.
  mutating func changeTopic(of index: Int) {
    topics.release(logs[index].topic)
    logs[index].topic = topics.assign(index)
  }

  // MARK: Settling

  /// A session has left the model, or an identity was forgotten: the end of the drain checks whether the model is
  /// gone.
  mutating func touchIfLeft(_ index: Int) {
    if logs[index].members.sessions.isEmpty, !isRemoved(index) { touch(index) }
  }

  mutating func touch(_ index: Int) {
    guard !isTouched[index] else { return }
    isTouched[index] = true
    touched.append(index)
  }

  /// The model has nothing to settle, unless it is touched again.
  mutating func isSettled(_ index: Int) { isTouched[index] = false }

  /// Ends the drain; these models are touched still.
  mutating func keepTouched(_ still: [Int]) { touched = still }
}
