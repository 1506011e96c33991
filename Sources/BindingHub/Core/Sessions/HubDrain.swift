import BindingProtocol

/// Sends a hub's peers to the other hubs of its log, a slice at a time, and then lets the hub end: all of them at once
/// would come upon the others in one moment.
struct HubDrain {
  /// A slice is begun this often.
  static let sliceMilliseconds: UInt64 = 20
  /// The least that one slice sends away. A slice should be over before the next: what one peer waits is then little
  /// more than its own change of hubs, which costs two cores 1.5 ms.
  static let leastSlice = 10

  /// Those who asked for it, who learn how it ended.
  private(set) var askers: [(session: SessionID, connection: ConnectionID)] = []
  /// The sessions that stay until a later slice, the next one last. Nobody is welcomed any more.
  private var waiting: [SessionID]
  /// The sessions that are sent away once what they wrote is decided. What they write from now on is for another hub.
  private(set) var leaving: Set<SessionID> = []
  private(set) var moved = 0
  private let beganAt: UInt64
  private(set) var endsAt: UInt64
  private(set) var nextAt: UInt64
  /// The sessions that each slice sends away: all have gone after half of the time.
  private var slice = HubDrain.leastSlice

  /// - Parameter sessions: in the order in which they are sent away.
  init(_ sessions: [SessionID], now: UInt64) {
    waiting = sessions.reversed()
    (beganAt, nextAt, endsAt) = (now, now, .max)
  }

  /// Somebody asks for it, who wants it to end in this time.
  mutating func ask(_ session: SessionID, _ connection: ConnectionID, endsAt: UInt64, now: UInt64) {
    if askers.count < 16 { askers.append((session, connection)) }
    self.endsAt = min(self.endsAt, endsAt)
    let slices = (self.endsAt - min(now, self.endsAt)) / 2 / HubDrain.sliceMilliseconds
    slice = max(HubDrain.leastSlice, waiting.count / Int(max(slices, 1)) + 1)
  }

  /// Lets the sessions leave whose turn it is now.
  mutating func beginSlice(now: UInt64) {
    guard now >= nextAt else { return }
    nextAt = now + HubDrain.sliceMilliseconds
    leaving.formUnion(waiting.suffix(slice))
    waiting.removeLast(min(slice, waiting.count))
  }

  mutating func isGone(_ session: SessionID) { leaving.remove(session) }

  mutating func hasMoved() { moved += 1 }

  /// Whether all sessions are gone, or the time is over.
  func isOver(now: UInt64) -> Bool { waiting.isEmpty && leaving.isEmpty || now >= endsAt }

  var left: Int { waiting.count + leaving.count }

  /// The answer to those who asked. A test pins the names.
  func report(now: UInt64) -> JSON {
    .object([
      .init("moved", .integer(Int64(moved))), .init("left", .integer(Int64(left))),
      .init("milliseconds", .integer(Int64(clamping: now - beganAt))),
    ])
  }
}

/// What a hub knows of the other hubs of its log.
struct OtherHubsState {
  /// Where they listen; empty: there are none.
  let addresses: [HubAddress]
  /// Sends the peers there; nil: nobody has asked.
  var drain: HubDrain?
  /// The drain is over: the hub ends.
  var isDrained = false

  /// When the drain continues.
  var nextDeadline: UInt64 {
    guard let drain, !isDrained else { return .max }
    return min(drain.nextAt, drain.endsAt)
  }

  /// For `bindhub status`.
  var json: [JSON.Member] {
    var members: [JSON.Member] = []
    if !addresses.isEmpty { members.append(.init("hubs", .array(addresses.map { .string($0.description) }))) }
    if let drain { members.append(.init("draining", .object([.init("left", .integer(Int64(drain.left)))]))) }
    return members
  }
}

extension HubMachine {
  /// Whether the hub sends its peers away, or has.
  package var isDraining: Bool { others.drain != nil }

  /// Whether the hub has been drained and is to end.
  package var isDrained: Bool { others.isDrained }

  /// Tells a session, or one that is not begun, where the other hubs of the log are, if it can read it.
  func sendOthers(_ session: SessionID, _ connection: ConnectionID, knowsHubs: Bool, _ output: inout HubOutput) {
    guard knowsHubs, !others.addresses.isEmpty else { return }
    output.send(
      .hubs(OtherHubs(session: session, addresses: others.addresses)), to: .connection(connection), start: hub.start)
  }

  /// Sends a session, or one that asks to begin, to the other hubs.
  mutating func turnAway(_ session: SessionID, _ connection: ConnectionID, knowsHubs: Bool, _ output: inout HubOutput) {
    sendOthers(session, connection, knowsHubs: knowsHubs, &output)
    hub.error(.closing, closingWords, session, connection, &output)
  }

  /// Why sessions end, for people.
  private var closingWords: String {
    "the hub is shutting down" + (others.addresses.isEmpty ? "" : "; other hubs serve its log")
  }

  /// Tells every session that the hub is going down.
  package mutating func close(into output: inout HubOutput) {
    for session in hub.sessions.inOrder {
      hub.error(.closing, closingWords, session.id, session.connection, &output)
    }
  }

  /// Handles a request to drain the hub.
  mutating func drain(
    _ reader: inout WireReader, _ header: PeerHeader, _ connection: ConnectionID, _ time: HubTime,
    _ output: inout HubOutput
  ) throws(WireError) {
    let request = try DrainRequest(from: &reader)
    try reader.end()
    guard isAdmin(header, connection, &output) else { return }
    let session = header.session
    func refuse(_ text: String) { hub.error(.overLimit, text, session, connection, isFatal: false, &output) }
    guard !hub.configuration.isInsecure else {
      return hub.deny(
        "anybody could ask a hub without keys to end; end its process instead (SIGTERM), or give it keys", session,
        connection, &output)
    }
    guard !others.addresses.isEmpty || request.isAnyway else {
      return refuse(
        "this hub knows no other hub of its log, so its peers would have nowhere to go. Name them: "
          + "bindhub serve --sibling ADDRESS. To end it without: bindhub drain --anyway")
    }
    if others.drain == nil {
      let local = HubMachine.firstInProcessConnection
      // Pages live in this process and end with it.
      let sessions = hub.sessions.inOrder.filter { $0.connection < local }.map(\.id)
      others.drain = HubDrain(sessions, now: time.monotonic)
      output.notices.append(.draining(sessions: sessions.count))
    }
    let now = time.monotonic
    others.drain?.ask(session, connection, endsAt: now + UInt64(request.withinMilliseconds), now: now)
    others.drain?.isGone(session)
  }

  /// Sends away the sessions whose turn it is and whose writes are decided, and ends the drain once none is left.
  mutating func continueDrain(_ time: HubTime, _ output: inout HubOutput) {
    guard !others.isDrained, others.drain != nil else { return }
    others.drain?.beginSlice(now: time.monotonic)
    for id in others.drain?.leaving.sorted() ?? [] {
      guard
        let (connection, isAwaited, knowsHubs) = hub.sessions.with(
          id, { ($0.connection, $0.unacknowledged > 0, $0.capabilities.knowsHubs) })
      else {
        others.drain?.isGone(id)
        continue
      }
      if isAwaited { continue }
      hub.sendOutcomes(&output)
      turnAway(id, connection, knowsHubs: knowsHubs, &output)
      // Siblings show what it has until it is at one of them.
      end(id, time, forgetting: false, releasing: siblings.isEmpty, &output)
      hub.counters.drainedSessions += 1
      others.drain?.hasMoved()
      others.drain?.isGone(id)
    }
    guard let drain = others.drain, drain.isOver(now: time.monotonic) else { return }
    others.isDrained = true
    let report = FieldValue(json: drain.report(now: time.monotonic))
    for asker in drain.askers {
      output.send(
        .statusReport(StatusReport(session: asker.session, json: report)), to: .connection(asker.connection),
        start: hub.start)
    }
  }
}
