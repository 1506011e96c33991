/// What is to be retained under which topic, and what the broker retains as far as known: the difference is published,
/// of each topic one message at a time, the newest payload only.
struct RetainedTopics {
  /// So many messages are sent without an acknowledgement.
  static let mostInFlight = 32

  private struct Topic {
    /// An empty payload: nothing is to be retained.
    var wanted: [UInt8] = []
    var known: [UInt8] = []
    var sent: [UInt8]?
    /// It is published although the broker has it: somebody may show something else.
    var isForced = false

    var isDue: Bool { sent == nil && (isForced || wanted != known) }
  }

  private var topics: [String: Topic] = [:]
  /// Topics that may be due, in the order in which they became so.
  private var queue: ArraySlice<String> = []
  private var queued: Set<String> = []
  private var inFlight: [UInt16: String] = [:]

  /// Whether nothing is left to publish, and all is acknowledged.
  var isDone: Bool { inFlight.isEmpty && !topics.values.contains(where: \.isDue) }

  mutating func want(_ payload: [UInt8], under topic: String) {
    guard !payload.isEmpty || topics[topic] != nil else { return }
    topics[topic, default: Topic()].wanted = payload
    look(at: topic)
  }

  /// Publishes it once more.
  mutating func repeatState(of topic: String) {
    guard topics[topic]?.wanted.isEmpty == false else { return }
    topics[topic]?.isForced = true
    look(at: topic)
  }

  /// A connection has begun: this is all that the broker retains.
  mutating func begin(_ retained: [String: [UInt8]]) {
    end()
    for topic in topics.keys { topics[topic]?.known = retained[topic] ?? [] }
    // In one order, so that every run with the same calls is the same.
    for topic in topics.keys.sorted() { look(at: topic) }
  }

  /// The broker retains something of which nothing was known.
  mutating func foundOrphan(_ topic: String, _ payload: [UInt8]) {
    topics[topic, default: Topic()].known = payload
    look(at: topic)
  }

  /// The connection is lost.
  mutating func end() {
    for (_, topic) in inFlight { topics[topic]?.sent = nil }
    inFlight.removeAll()
    queue.removeAll()
    queued.removeAll()
  }

  /// Whether something is wanted, or was, under a topic.
  func has(_ topic: String) -> Bool { topics[topic] != nil }

  /// The next message; nil: none is due, or enough are on their way.
  mutating func next(id: UInt16) -> MQTTMessage? {
    guard inFlight.count < RetainedTopics.mostInFlight else { return nil }
    while let name = queue.popFirst() {
      queued.remove(name)
      guard var topic = topics[name], topic.isDue else { continue }
      topic.sent = topic.wanted
      topic.isForced = false
      topics[name] = topic
      inFlight[id] = name
      return MQTTMessage(name, topic.wanted, isRetained: true)
    }
    return nil
  }

  func isInUse(_ id: UInt16) -> Bool { inFlight[id] != nil }

  mutating func acknowledged(_ id: UInt16) {
    guard let name = inFlight.removeValue(forKey: id), var topic = topics[name], let sent = topic.sent else { return }
    topic.known = sent
    topic.sent = nil
    topics[name] = topic
    // What is retained nowhere, and is to be nowhere, is forgotten.
    if topic.wanted.isEmpty, sent.isEmpty, !topic.isForced { topics[name] = nil } else { look(at: name) }
  }

  private mutating func look(at topic: String) {
    guard topics[topic]?.isDue == true, queued.insert(topic).inserted else { return }
    queue.append(topic)
  }
}
