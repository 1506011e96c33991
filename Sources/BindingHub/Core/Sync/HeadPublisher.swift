import BindingProtocol

/// Heartbeats, and the heads of models that changed lately: from these a peer learns that it lost the last message
/// (R7).
struct HeadPublisher {
  /// The number of the last heartbeat.
  private(set) var number: UInt64 = 0
  private var nextHeartbeat: UInt64
  /// By the index of a model that changed: how many heartbeats still publish its head.
  var left: [Int: Int] = [:]
  /// Heads that this heartbeat still has to publish, how many go at once, and when the next go.
  private var due: ArraySlice<Int> = []
  private var atOnce = 0
  private var nextHeads = UInt64.max

  /// Heads that are published in one go however many wait: fewer than the messages that may wait for a subscriber.
  static let fewHeads = 128

  init(nextHeartbeat: UInt64) { self.nextHeartbeat = nextHeartbeat }

  var nextDeadline: UInt64 { min(nextHeartbeat, nextHeads) }

  /// The next three heartbeats publish the model's head.
  mutating func add(_ index: Int) { left[index] = 3 }

  /// Publishes the model's head at once, and with the next three heartbeats.
  mutating func publishNow(_ index: Int, _ hub: inout HubContext, _ output: inout HubOutput) {
    add(index)
    HeadPublisher.publishHead(of: hub.models[index], &hub, &output)
  }

  mutating func forget(_ index: Int) { left[index] = nil }

  /// - Returns: whether a heartbeat is due, which is `beat` then.
  mutating func isDue(_ hub: inout HubContext, _ time: HubTime) -> Bool {
    guard time.monotonic >= nextHeartbeat else { return false }
    nextHeartbeat = max(nextHeartbeat + UInt64(hub.configuration.heartbeatMilliseconds), time.monotonic + 1)
    return true
  }

  /// Publishes a heartbeat, and the first heads that are due with it.
  mutating func beat(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    number += 1
    output.send(heartbeat(hub.epoch, time), to: .subscribers(.heartbeat), topic: Topics.heartbeat, start: hub.start)
    due = left.keys.sorted()[...]
    hub.models.reuseFreed()
    atOnce = max(HeadPublisher.fewHeads, (due.count + 31) / 32)
    publishHeads(&hub, time, &output)
  }

  /// Sends the heartbeat to sessions without a publish connection, on their request connections.
  func beatOnRequestConnections(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    var served: Set<ConnectionID> = []
    for session in hub.sessions.inOrder where session.subscriber == nil && !session.capabilities.onlyWrites {
      // Whoever cannot subscribe has no other sign of life, even before it joins a model.
      let cannotSubscribe = !hub.access.rights(of: session.connection).hasFanout
      guard !session.joins.isEmpty || cannotSubscribe,
        served.insert(session.connection).inserted
      else { continue }
      output.send(
        heartbeat(hub.epoch, time), to: .connection(session.connection), topic: Topics.heartbeat, start: hub.start)
    }
  }

  private func heartbeat(_ epoch: Epoch, _ time: HubTime) -> HubMessage {
    .heartbeat(Heartbeat(epoch: epoch, number: number, now: time.wall))
  }

  /// Publishes the next heads of this heartbeat, if it is time. Thousands of heads do not leave together, because a
  /// peer that follows all models would lose some, and commits with them. All leave within half a heartbeat.
  mutating func publishDue(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    if time.monotonic >= nextHeads { publishHeads(&hub, time, &output) }
  }

  private mutating func publishHeads(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    for index in due.prefix(atOnce) where !hub.models.isRemoved(index) {
      HeadPublisher.publishHead(of: hub.models[index], &hub, &output)
      left[index, default: 1] -= 1
      if left[index, default: 0] <= 0 { left[index] = nil }
    }
    due = due.dropFirst(atOnce)
    nextHeads = due.isEmpty ? .max : time.monotonic + UInt64(hub.configuration.heartbeatMilliseconds) / 64
  }

  private static func publishHead(of model: ModelLog, _ hub: inout HubContext, _ output: inout HubOutput) {
    let head = model.head(ifStored: hub.epoch)
    if let permit = model.permit {
      output.send(.head(head), to: .subscribers(permit), topic: model.topic, start: hub.start)
    }
    let routed = model.routed
    guard !routed.isEmpty else { return }
    var served: Set<ConnectionID> = []
    for id in routed.sorted() {
      guard let connection = hub.sessions[id]?.connection, served.insert(connection).inserted else { continue }
      hub.send(.head(head), to: id, &output, topic: model.topic)
    }
  }
}
