package import BindingPeer
package import BindingProtocol

/// A bridge between models and an MQTT broker, without sockets and time. Each field's committed value is retained under
/// its state topic; what comes under its set topic is written, and acknowledged to the broker once the write has an
/// outcome. A value that is not taken is answered with the reason and with the state once more.
package struct MQTTBridgeMachine {
  /// What the shell has to do, in order.
  package enum Effect: Equatable, Sendable {
    case send(MQTTPacket)
    /// Answered by `decided`.
    case write(Int, model: String, field: String, FieldValue)
  }

  /// A field as the hub has it.
  package struct Field: Sendable {
    package var name: String
    package var value: FieldValue?

    package init(_ name: String, _ value: FieldValue?) { (self.name, self.value) = (name, value) }
  }

  fileprivate struct Model {
    var values: [String: FieldValue] = [:]
    var description = ModelDescription()
    /// The topics that announce its fields.
    var announced: Set<String> = []
  }

  private let topics: BridgeTopics
  private let selection: ModelSelection
  /// What Home Assistant is told; nil: nothing.
  package let home: HomeAssistant?
  private var models: [String: Model] = [:]
  private var retained = RetainedTopics()
  private var sets = ReceivedSets()
  private var isConnected = false
  private var hasHub = false
  private var isClosing = false
  /// What the broker retained when the connection began, of the bridge's own topics.
  private var found: [String: [UInt8]] = [:]
  /// Whether every model is here that is to be: what the broker retains of others is old.
  private var isComplete = false
  private var lastID: UInt16 = 0
  private var effects: [Effect] = []
  /// What was counted.
  package private(set) var counters = Counters()

  /// Counts since the start.
  package struct Counters: Equatable, Sendable {
    /// States and announcements that the broker has acknowledged or will.
    package var published: UInt64 = 0
    /// Values that came, without repetitions.
    package var received: UInt64 = 0
    /// Those that were not taken.
    package var refused: UInt64 = 0
    /// Those that a broker had kept: nobody has sent them now.
    package var ignoredRetained: UInt64 = 0
    /// Those that came again and had become writes before.
    package var repeated: UInt64 = 0
  }

  package init(topics: BridgeTopics, models: [String] = [""], home: HomeAssistant? = nil) {
    (self.topics, selection, self.home) = (topics, ModelSelection(models), home)
  }

  /// Whether the broker has all states.
  package var isSettled: Bool { isConnected && retained.isDone && sets.undecided == 0 }

  package mutating func takeEffects() -> [Effect] {
    defer { effects.removeAll() }
    return effects
  }

  // MARK: The broker

  /// A message that the broker retains, found before the connection began.
  /// - Returns: whether it is of this bridge: another one may have the other models.
  package func isOwn(_ topic: String) -> Bool {
    guard let id = topics.field(of: topic, end: "state")?.model ?? home?.model(of: topic) else {
      return topic == topics.availability
    }
    return selection.contains(id)
  }

  /// The connection has begun.
  /// - Parameters:
  ///   - hasSession: whether the broker has kept the subscriptions, and what came for them.
  ///   - retained: all own topics that the broker retains.
  package mutating func connected(hasSession: Bool, retained found: [String: [UInt8]]) {
    isConnected = true
    self.found = found
    if !hasSession { sets.forget() }
    retained.begin(found)
    removeOrphans()
    announceAvailability()
    let filters = models.keys.sorted().map { topics.sets(of: $0) }
    for start in stride(from: 0, to: filters.count, by: 100) {
      effects.append(.send(.subscribe(nextID(), Array(filters[start..<min(start + 100, filters.count)]))))
    }
    flush()
  }

  package mutating func lost() {
    isConnected = false
    retained.end()
    sets.end()
  }

  package mutating func received(_ packet: MQTTPacket) {
    switch packet {
    case .publish(let message, let id): receive(message, id)
    case .published(let id): retained.acknowledged(id)
    default: break
    }
    flush()
  }

  private mutating func receive(_ message: MQTTMessage, _ id: UInt16) {
    guard let (model, field) = topics.field(of: message.topic, end: "set") else { return acknowledge(id) }
    if message.isRetained {
      counters.ignoredRetained += 1
      return acknowledge(id)
    }
    let write: Int
    switch sets.take(message, id: id) {
    case .write(let number): write = number
    case .known:
      counters.repeated += 1
      return acknowledge()
    case .acknowledged:
      counters.repeated += 1
      return acknowledge(id)
    }
    counters.received += 1
    guard let present = models[model], let name = present.stored(field) else {
      return decided(write, model, field, problem: "\(model) has no field \(field)")
    }
    do throws(BridgeText.Fault) {
      let rule = present.description.fields[name]
      let value = try BridgeText.value(of: message.payload, as: rule?.type, present: present.values[name])
      effects.append(.write(write, model: model, field: name, value))
    } catch {
      decided(write, model, field, problem: "\(field): \(error.words)")
    }
  }

  /// A write has its outcome.
  /// - Parameter problem: why it was not applied; nil: it was, or had nothing to change.
  package mutating func decided(_ write: Int, _ model: String, _ field: String, problem: String?) {
    sets.decided(write)
    if let problem {
      counters.refused += 1
      if isConnected {
        effects.append(.send(.publish(MQTTMessage(topics.refused(model, field), Array(problem.utf8)), id: 0)))
      }
      retained.repeatState(of: topics.state(model, field))
    }
    acknowledge()
    flush()
  }

  private mutating func acknowledge(_ id: UInt16) {
    if id != 0 { effects.append(.send(.published(id))) }
  }

  private mutating func acknowledge() {
    for id in sets.takeAcknowledged() where isConnected { effects.append(.send(.published(id))) }
  }

  // MARK: The hub

  /// Whether the peer has a hub now.
  package mutating func hub(isLive: Bool) {
    guard hasHub != isLive else { return }
    hasHub = isLive
    announceAvailability()
    flush()
  }

  /// What the hub has committed in a model.
  package mutating func update(_ id: String, _ fields: [Field], _ description: ModelDescription) {
    let isNew = models[id] == nil
    var model = models[id] ?? Model()
    if isNew, isConnected { effects.append(.send(.subscribe(nextID(), [topics.sets(of: id)]))) }
    for field in fields { model.values[field.name] = field.value }
    var changed = Set(fields.map(\.name))
    if isNew || model.description != description {
      model.description = description
      // What is secret or a list since then is retained no more; and the other way round.
      changed.formUnion(model.values.keys)
      announce(id, &model)
    }
    for name in changed.sorted() {
      let value = model.isBridged(name) ? model.values[name] : nil
      retained.want(value.map(BridgeText.payload) ?? [], under: topics.state(id, name))
    }
    models[id] = model
    flush()
  }

  /// The fields that a model has, as far as was told.
  package func fields(of id: String) -> Set<String> { Set(models[id]?.values.keys ?? [:].keys) }

  /// Every model that there is has been told.
  package mutating func complete() {
    isComplete = true
    removeOrphans()
    flush()
  }

  /// States and announcements of what is no more: the bridge was not there when it went.
  private mutating func removeOrphans() {
    guard isComplete, isConnected else { return }
    for (topic, payload) in found.sorted(by: { $0.key < $1.key }) where !retained.has(topic) {
      retained.foundOrphan(topic, payload)
    }
    found.removeAll()
  }

  private mutating func announce(_ id: String, _ model: inout Model) {
    guard let home else { return }
    var present: Set<String> = []
    for (name, rule) in model.description.fields where model.isBridged(name) {
      guard let (topic, payload) = home.announcement(id, name, rule) else { continue }
      present.insert(topic)
      retained.want(payload, under: topic)
    }
    for topic in model.announced.subtracting(present).sorted() { retained.want([], under: topic) }
    model.announced = present
  }

  private mutating func announceAvailability() {
    let words = hasHub && !isClosing ? "online" : "offline"
    retained.want(Array(words.utf8), under: topics.availability)
  }

  /// The bridge ends: it says so.
  package mutating func close() {
    isClosing = true
    announceAvailability()
    flush()
  }

  // MARK: Sending

  private mutating func flush() {
    guard isConnected else { return }
    while true {
      let id = nextID()
      guard let message = retained.next(id: id) else { return }
      counters.published += 1
      effects.append(.send(.publish(message, id: id)))
    }
  }

  private mutating func nextID() -> UInt16 {
    repeat { lastID = lastID == .max ? 1 : lastID + 1 } while retained.isInUse(lastID)
    return lastID
  }
}

extension MQTTBridgeMachine.Model {
  /// Whether a field has topics: not what the protocol keeps for itself, nor elements of lists, nor what is secret.
  func isBridged(_ name: String) -> Bool {
    !name.contains("@") && description.fields[name]?.isSecret != true && description.fields[name]?.policy != "list"
  }

  /// The name under which a field is stored, if there is such a field with topics.
  func stored(_ field: String) -> String? {
    let name = description.aliases[field] ?? field
    let isThere = values[name] != nil || description.fields[name] != nil
    return isThere && isBridged(name) ? name : nil
  }
}
