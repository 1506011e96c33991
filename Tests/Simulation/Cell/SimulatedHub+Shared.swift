import BindingHub
import BindingProtocol

/// A hub's way to a log that it shares with others.
struct WayToLog {
  /// The hubs with which it shares the log, which hold this one; nil: it has the log alone.
  unowned var cell: SimulatedCell?
  /// What the present process has of the log, and what has come from there.
  var handle: SimulatedHandle?
  var arrived: SimulatedCell.Inbox?
  /// The hub's number in its cell, from 0.
  var index = 0
  /// Counts its appends.
  var appends: UInt64 = 0
  /// Its links to the other hubs; nil: it has none, and passes nothing on.
  var links: SimulatedLinks?
  /// When the hub was found drained; nil: it is not.
  var drainedAt: UInt64?
}

/// A hub of a cell: what passes between its machine and the log that it shares.
extension SimulatedHub {
  var cell: SimulatedCell? { way.cell }
  var index: Int { way.index }
  var handle: SimulatedHandle? { way.handle }

  /// The process ends.
  func endWay() {
    if let handle { cell?.abandon(handle, of: self) }
    way.links?.lose()
    (way.handle, way.arrived, way.links, way.drainedAt) = (nil, nil, nil, nil)
  }

  /// A process begins.
  func enter(_ cell: SimulatedCell, _ machine: inout HubMachine) throws(Violation) {
    (way.handle, way.arrived) = cell.open()
    try invariants.observe(.opened(self))
    agenda.add(.hub(index, .stepLog(run: run)), at: now + 1)
    guard profile.cell.hasLinks else { return }
    let links = SimulatedLinks(of: self, in: cell, seed: cell.nextSeed())
    way.links = links
    machine.follow(siblings: links.count)
    agenda.add(.hub(index, .turnLinks(run: run)), at: now + 2)
  }

  func turnLinks(_ run: Int) throws(Violation) {
    guard self.run == run, isThere, let links = way.links else { return }
    let due = isPaused ? now + 50 : try links.turn()
    agenda.add(.hub(index, .turnLinks(run: run)), at: due)
  }

  /// A message of another hub arrives.
  func receive(_ frame: [UInt8], ofLink connection: ConnectionID, _ run: Int) throws(Violation) {
    guard self.run == run, isThere else { return }
    record("a hub → \(self)  \(FrameText.text(ofPeerFrame: frame))")
    if case (_, .forward(let forward))? = try? PeerMessage.decode(frame) { try invariants.observe(.forwarded(forward)) }
    frame.withUnsafeBytes { machine?.receive($0, on: connection, time: time, into: &output) }
    try settle()
  }

  /// Sends something to the hubs that have links to this one.
  func sendToLinks(_ frame: [UInt8], over connection: ConnectionID?, topic: Topic?) {
    for other in cell?.hubs ?? [] where other !== self {
      other.way.links?.receive(frame, from: self, over: connection, topic: topic)
    }
  }

  func stepLog(_ run: Int) throws(Violation) {
    guard self.run == run, isThere, let handle, let arrived = way.arrived, let cell else { return }
    if !isPaused {
      try cell.step(handle, of: self)
      let events = arrived.events
      arrived.events.removeAll()
      for event in events {
        record("log → \(self)  \(SimulatedHub.text(of: event))")
        count(event)
        try invariants.observe(.told(event, self))
        machine?.receive(event, time: time, into: &output)
        try settle()
      }
    }
    agenda.add(.hub(index, .stepLog(run: run)), at: now + profile.cell.pace)
  }

  /// Somebody asks for its end.
  func drain() {
    record("\(self) is drained")
    let request = DrainRequest(withinMilliseconds: UInt32(chance.within(100...3_000)), isAnyway: false)
    // No peer has that connection.
    receive(PeerMessage.drain(request).encode(session: 0, start: 0), on: 1)
  }

  /// Ends the process of a hub that has been drained, once its last messages are on their way.
  func endIfDrained() throws(Violation) {
    guard read({ $0.isDrained }) == true else { return }
    guard let drainedAt = way.drainedAt else {
      way.drainedAt = now
      machine?.close(into: &output)
      return try settle()
    }
    guard now >= drainedAt + 100 else { return }
    counts[.hubDrained] += 1
    kill()
    for peer in network.peers where peer.link.isConnected && peer.hub === self {
      peer.disconnect()
      try peer.settle()
    }
    agenda.add(.startHub(index), at: now + chance.within(50...1_500))
  }

  func healLog() {
    handle?.setCut(false)
    handle?.setTailHeld(false)
  }

  /// Passes on what the machine wants of the log.
  func passToLog(_ handle: SimulatedHandle) throws(Violation) {
    let batches = output.batches
    output.batches.removeAll()
    if !batches.isEmpty {
      try invariants.observe(.decided(batches))
      way.appends += 1
      let revisions = batches.map { batch in read { $0.revision(of: batch.model) } ?? 0 }
      let texts = batches.map { "\($0.model) record \($0.record) \($0.previous)…\($0.version)" }
      record("\(self) → log  \(texts) after \(revisions)")
      handle.append(way.appends, zip(batches, revisions).map { SharedBatch($0, after: $1) })
    }
    for model in output.reload { try ask(.load(model), handle) }
    output.reload.removeAll()
    if let next = output.list { try ask(.list(prefix: next.prefix, after: next.after, limit: 2), handle) }
    output.list = nil
    if let number = output.sync { try ask(.sync(number), handle) }
    output.sync = nil
    if let query = output.history { try ask(.history(query), handle) }
    output.history = nil
    if let failure = output.failure { throw Violation(.order, "\(self): \(failure)") }
  }

  private func ask(_ call: ShardCall, _ handle: SimulatedHandle) throws(Violation) {
    try invariants.observe(.asked(call, self))
    call.carryOut(on: handle)
  }

  private func count(_ event: SharedEvent) {
    switch event {
    case .appended(_, let answers):
      for answer in answers {
        switch answer.result {
        case .unknown: counts[.unknownAppend] += 1
        case .folded: counts[.movedByFold] += 1
        default: break
        }
      }
    case .followed(let records, _): counts[.followed] += UInt64(records.count)
    case .lost: counts[.tailLost] += 1
    case .changed: counts[.tailMissed] += 1
    default: break
    }
  }

  private static func text(of event: SharedEvent) -> String {
    switch event {
    case .connected(let isConnected): "connected \(isConnected)"
    case .appended(_, let answers): "appended \(answers.map { "\($0.model) \($0.record) \(words(of: $0.result))" })"
    case .loaded(let head, _): "loaded \(head.model) \(head.record) version \(head.version)"
    case .listed(_, let heads, let isLast): "listed \(heads.map(\.model)) \(isLast)"
    case .followed(let records, _): "followed \(records.map { "\($0.batch.model) \($0.batch.record)" })"
    case .changed(let heads): "changed \(heads.map { "\($0.model) \($0.record)" })"
    case .synced(let number): "synced \(number)"
    case .caughtUp: "caught up"
    case .lost: "lost its place"
    case .resharded: "other shards"
    default: "other"
    }
  }

  private static func words(of result: SharedAppended) -> String {
    switch result {
    case .stored(let revision): "stored at \(revision)"
    case .moved(let records): "moved by \(records.map(\.batch.record))"
    case .folded: "folded"
    case .unknown: "unknown"
    case .full: "full"
    case .tooLarge: "too large"
    }
  }
}

extension SimulatedHub: CustomStringConvertible {
  /// "hub" and, in a cell, its index.
  var description: String { cell == nil ? "hub" : "hub \(index)" }
}
