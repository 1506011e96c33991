import BindingHub
import BindingProtocol

/// What the hub's machine wants stored and sent.
extension SimulatedHub {
  /// Passes decided batches to the store, returns the results to the hub, and sends the frames.
  func settle() throws(Violation) {
    guard isThere else { return }
    finishDrain()
    repeat {
      try beginNewEpoch()
      recordTopicOfEphemeralModel()
      try observeFrames()
    } while try passToStore()
    try invariants.observe(.hubSettled)
    guard output.frameCount > 0 else { return output.removeAll() }
    // Sent frames arrive later: nothing re-enters the hub while its output is being visited.
    forEachFrame { destination, bytes in
      let frame = Array(bytes)
      switch destination {
      case .connection(let connection) where SimulatedLinks.connections.contains(connection):
        sendToLinks(frame, over: connection, topic: nil)
      case .connection(let connection):
        guard let peer = network.peer(on: connection) else { return }
        network.send(frame, to: peer, isPublished: false)
      case .publish:
        guard let topic = SimulatedHub.topic(of: frame.prefix(4)) else { return }
        if cell != nil { sendToLinks(frame, over: nil, topic: topic) }
        for peer in network.peers where peer.hub === self && peer.link.topics.contains(topic) {
          network.send(frame, to: peer, isPublished: true)
        }
      }
    }
    output.removeAll()
    observedFrames = 0
  }

  /// A peer has proven to the hub that commits are missing.
  private func beginNewEpoch() throws(Violation) {
    guard let new = output.newEpoch else { return }
    output.newEpoch = nil
    record("the hub believes that commits are missing: epoch \(new >> 32)")
    counts[.provenLoss] += 1
    epoch = new
    store.beginRecovery()
    try invariants.observe(.epochBegins(self))
  }

  /// The hub itself may publish under a topic not yet announced to any peer: a renumbering does.
  private func recordTopicOfEphemeralModel() {
    guard let ephemeral = invariants.ephemeral, let topic = read({ $0.topic(of: ephemeral.name) }) ?? nil else {
      return
    }
    topicNames[topic] = ephemeral.name
  }

  /// The topic of a four-byte subscription or frame prefix; nil for other lengths, which are session topics.
  static func topic(of bytes: some Collection<UInt8>) -> Topic? {
    bytes.count == 4 ? bytes.reduce(0 as Topic) { $0 << 8 | Topic($1) } : nil
  }

  // MARK: Frames

  /// Visits the frames in place; `body` must not add frames.
  private func forEachFrame(_ body: (HubOutput.Destination, UnsafeRawBufferPointer) -> Void) {
    func look(_ output: inout HubOutput) { output.forEachFrame(body) }
    look(&output)
  }

  private func observeFrames() throws(Violation) {
    guard output.frameCount > observedFrames else { return }
    var violation: Violation?
    var number = 0
    forEachFrame { destination, bytes in
      number += 1
      guard number > observedFrames, violation == nil, bytes.count > 4 else { return }
      do throws(Violation) { try observe(bytes, to: destination) } catch { violation = error }
    }
    observedFrames = number
    if let violation { throw violation }
  }

  private func observe(_ frame: UnsafeRawBufferPointer, to destination: HubOutput.Destination) throws(Violation) {
    guard let kind = HubMessageKind(rawValue: frame[4]) else { return }
    // Between hubs nothing is promised but what the log says.
    if case .connection(let other) = destination, SimulatedLinks.connections.contains(other) { return }
    try invariants.observe(.sent(frame, kind, destination, self))
    if kind == .topic, case (_, .topic(let assigned))? = try? HubMessage.decode(frame) {
      topicNames[assigned.topic] = assigned.model
    }
    network.isolateSometimes(frame, kind, destination)
  }

  // MARK: The store

  /// Passes on what the hub wants stored or reloaded; the store answers immediately or later.
  /// - Returns: whether anything was answered immediately.
  private func passToStore() throws(Violation) -> Bool {
    if let handle {
      try passToLog(handle)
      return false
    }
    let (batches, models) = (output.batches, output.reload)
    if !batches.isEmpty { try invariants.observe(.decided(batches)) }
    output.batches.removeAll()
    output.reload.removeAll()
    let longest = profile.storeDelay
    let query = output.history
    output.history = nil
    if longest > 0 {
      if let query { agenda.add(.hub(index, .history(query, run: run)), at: now + chance.within(1...longest)) }
      if !batches.isEmpty {
        store.underway += batches
        agenda.add(.hub(index, .appended(batches, run: run)), at: now + chance.within(1...longest))
      }
      for model in models {
        agenda.add(.hub(index, .reload(model, run: run)), at: now + chance.within(1...longest))
      }
      return false
    }
    if !batches.isEmpty { try append(batches) }
    for model in models { try load(model) }
    if let query { read(query) }
    return !batches.isEmpty || !models.isEmpty || query != nil
  }

  func finishAppend(_ batches: [Batch]) throws(Violation) {
    store.underway.removeAll { batches.contains($0) }
    try append(batches)
    try settle()
  }

  func finishReading(_ query: HistoryQuery) throws(Violation) {
    read(query)
    try settle()
  }

  func reload(_ model: String) throws(Violation) {
    try load(model)
    try settle()
  }
}
