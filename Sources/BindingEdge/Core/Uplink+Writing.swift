import BindingHub
import BindingPeer
import BindingProtocol

/// The sessions of peers that write. Nothing is decided here: what cannot be passed on now is answered with
/// `retryLater`, and its peer repeats it.
extension Uplink {
  mutating func handleWriter(_ request: UplinkRequest, now: UInt64) {
    switch request {
    case .greet(let id, let hello):
      let isNew = writers[id] == nil
      writers.add(id, hello, now: now)
      if isNew, hello.isResuming { writers.with(id) { $0.isAwaited = true } }
      advance(id, now: now)
    case .join(let id, let join):
      writers.with(id) { writer in
        writer.lastUsedAt = now
        writer.models[join.model, default: UplinkJoin()].wanted = join
        writer.models[join.model]?.unacknowledged = join.unacknowledged
        writer.models[join.model]?.progress = .none
      }
      advance(id, now: now)
    case .attend(let id, let model):
      writers.with(id) { if $0.models[model] == nil { $0.models[model] = UplinkJoin() } }
      advance(id, now: now)
    case .propose(let id, let model, let proposals): pass(proposals, of: id, in: model, now: now)
    case .alive(let id, let progress): confirm(progress, of: id, now: now)
    case .leave(let id, let model):
      let topic = writers.with(id) { $0.models.removeValue(forKey: model)?.topic } ?? nil
      guard let topic else { return }
      writers.with(id) { $0.topics[topic] = nil }
      send(.leave(Leave(topics: [topic])), for: id, now: now)
    case .approval(let id, let model, var approval):
      guard let topic = writers[id]?.models[model]?.topic else { return }
      approval.topic = topic
      send(.approval(approval), for: id, now: now)
    case .end(let id, let end):
      leave(id, end, now: now)
      _ = writers.remove(id)
    case .follow, .unfollow, .list, .forward, .counted, .await, .stopWaiting, .history, .stopAsking: break
    }
  }

  /// Tells the upstream hub that a peer is gone, if it is. One that is present there would be so for another lease.
  private mutating func leave(_ id: SessionID, _ end: EdgeEnd, now: UInt64) {
    guard let writer = writers[id], writer.phase == .open else { return }
    switch end {
    case .left: send(.leave(Leave()), for: id, now: now)
    case .lost where writer.isPresent && !writer.topics.isEmpty:
      send(.leave(Leave(topics: writer.topics.keys.sorted())), for: id, now: now)
    case .lost, .replaced: break
    }
  }

  // MARK: Opening

  /// Opens a session if it has something to do, and goes on with its joins.
  /// - Parameter isAgain: whether it is not its peer that asks.
  mutating func advance(_ id: SessionID, now: UInt64, isAgain: Bool = false) {
    guard let writer = writers[id], isOpen else { return }
    switch writer.phase {
    case .closed:
      guard writer.hasWork else { return }
      guard now >= writer.greetsFrom else {
        writers.nextDeadline = min(writers.nextDeadline, writer.greetsFrom)
        return
      }
      greet(id, writer, now: now, isAgain: isAgain && !writer.isAwaited)
    case .greeting: break
    case .open: joinDue(id, now: now)
    }
  }

  mutating func advanceWriters(now: UInt64) {
    for id in writers.records.keys.sorted() { advance(id, now: now, isAgain: true) }
  }

  private mutating func greet(_ id: SessionID, _ writer: UplinkWriter, now: UInt64, isAgain: Bool) {
    counters.openedWriters += 1
    writers.bind(id, to: generator.nextNonZero())
    writers.with(id) {
      $0.phase = .greeting
      $0.lastUsedAt = now
    }
    var hello = writer.hello
    hello.isResuming = hello.isResuming || writer.wasWelcomed
    hello.leaseMilliseconds = 0
    // What this connection itself reads, that the edge counts its peers, and the peer's own ways of writing.
    let written = writer.hello.capabilities.filter {
      $0 == Capability.recovery || $0.hasPrefix("draft-") || $0 == Capability.again
    }
    let opening = HelloPlace(of: writer.hello).opening ?? session.opening
    hello.capabilities =
      [Capability.writes, Capability.counts, Capability.users, Capability.lists, opening.text]
      + [session.opening.textOfEdge] + written + (isAgain ? [Capability.again] : [])
    send(.hello(hello), for: id, now: now)
    writers.nextDeadline = min(writers.nextDeadline, now + 1_000)
  }

  private mutating func joinDue(_ id: SessionID, now: UInt64) {
    guard let writer = writers[id] else { return }
    var joins: [Join] = []
    for (model, place) in writer.models.sorted(by: { $0.key < $1.key }) {
      guard place.progress == .none, place.wanted != nil || !place.queue.isEmpty || writer.isPresent else { continue }
      writers.lastRequest += 1
      let request = writers.lastRequest
      writers.with(id) { $0.models[model]?.progress = .asked(request: request, at: now) }
      let (epoch, version) = place.wanted.map { ($0.epoch, $0.version) } ?? session.version(of: model)
      joins.append(
        Join(
          request: request, model: model, epoch: epoch, version: version, namesKnown: .max,
          unacknowledged: place.unacknowledged))
    }
    guard !joins.isEmpty else { return }
    for start in stride(from: 0, to: joins.count, by: 500) {
      send(.join(Array(joins[start..<min(start + 500, joins.count)])), for: id, now: now)
    }
    writers.nextDeadline = min(writers.nextDeadline, now + UplinkWriters.joinMilliseconds)
  }

  // MARK: Proposals

  private mutating func pass(_ proposals: [PassedProposal], of id: SessionID, in model: String, now: UInt64) {
    guard let writer = writers[id] else { return }
    guard isOpen, now >= writer.greetsFrom else { return putOff(proposals.map(\.number), of: id, in: model) }
    let queued = writer.models.values.reduce(0) { $0 + $1.queue.count }
    writers.with(id) { $0.lastUsedAt = now }
    if writer.phase == .open, let place = writer.models[model], place.progress == .joined {
      return send(proposals, of: id, in: model, now: now)
    }
    let room = max(UplinkWriters.mostQueued - queued, 0)
    writers.with(id) { writer in
      var place = writer.models[model] ?? UplinkJoin()
      if place.queue.isEmpty, place.wanted == nil, let first = proposals.first {
        place.unacknowledged = max(place.unacknowledged, first.confirmed + 1)
      }
      place.queue += proposals.prefix(room)
      writer.models[model] = place
    }
    putOff(proposals.dropFirst(room).map(\.number), of: id, in: model)
    advance(id, now: now)
  }

  mutating func send(_ proposals: [PassedProposal], of id: SessionID, in model: String, now: UInt64) {
    guard let topic = writers[id]?.models[model]?.topic, let start = welcomeStart else { return }
    counters.proposals += UInt64(proposals.count)
    writers.with(id) { writer in
      for proposal in proposals {
        writer.models[model]?.inFlight.removeAll { $0.number == proposal.number }
        writer.models[model]?.inFlight.append((proposal.number, proposal.refusal))
      }
    }
    for part in Uplink.parts(of: proposals) {
      var writer = WireWriter()
      PeerHeader(kind: .propose, session: writers[id]?.upstream ?? 0, start: start).write(to: &writer)
      writer.proposals(part, topic: topic)
      send(frame: writer.bytes, for: id, now: now)
    }
  }

  /// Proposals by messages.
  static func parts(of proposals: [PassedProposal]) -> [ArraySlice<PassedProposal>] {
    var parts: [ArraySlice<PassedProposal>] = []
    var rest = proposals[...]
    while !rest.isEmpty {
      var (count, bytes) = (0, 0)
      while count < rest.count, count < 4_096,
        count == 0 || bytes + rest[rest.startIndex + count].byteCount <= UplinkWriters.messageBytes
      {
        bytes += rest[rest.startIndex + count].byteCount
        count += 1
      }
      parts.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return parts
  }

  /// Answers proposals that cannot be passed on now. Their peers repeat them after a pause, in order.
  mutating func putOff(_ numbers: [ProposalNumber], of id: SessionID, in model: String) {
    guard !numbers.isEmpty else { return }
    counters.deferred += UInt64(numbers.count)
    let pause = isOpen ? UInt32.random(in: 5...20, using: &generator) : UInt32.random(in: 250...500, using: &generator)
    let reason = isOpen ? RetryReason.busy : .upstream
    // The edge puts its own topic in place of this one.
    let outcomes = numbers.map {
      WireOutcome(topic: Topics.firstModel, number: $0, .retryLater(reason, pauseMilliseconds: pause))
    }
    events.append(.outcomes(id, model: model, session.epoch ?? 0, outcomes))
  }

  private mutating func confirm(_ progress: [EdgeProgress], of id: SessionID, now: UInt64) {
    guard let writer = writers[id], writer.phase == .open else { return }
    let entries = progress.compactMap { entry in
      writer.models[entry.model]?.topic.map {
        AliveEntry(topic: $0, confirmed: entry.confirmed, applied: entry.applied)
      }
    }
    if !entries.isEmpty { send(.alive(Alive(heartbeat: 0, entries: entries)), for: id, now: now) }
  }

  // MARK: Losses and time

  mutating func loseWriter(_ id: SessionID, now: UInt64) {
    writers.unbind(id)
    let lost = writers.with(id) { $0.lose() } ?? []
    for (model, numbers) in lost { putOff(numbers, of: id, in: model) }
    advance(id, now: now, isAgain: true)
  }

  /// The connection is gone, and with it every session.
  mutating func loseWriters(now: UInt64) {
    for id in writers.records.keys.sorted() {
      writers.unbind(id)
      let lost = writers.with(id) { $0.lose() } ?? []
      for (model, numbers) in lost { putOff(numbers, of: id, in: model) }
    }
  }

  /// Keeps sessions alive that are in use, repeats joins, and lets go of idle ones: their leases end them upstream.
  mutating func tickWriters(now: UInt64) {
    guard now >= writers.nextDeadline else { return }
    writers.nextDeadline = writers.records.isEmpty ? .max : now + 1_000
    let lease = UInt64(welcome?.leaseMilliseconds ?? 10_000)
    for id in writers.records.keys.sorted() {
      guard let writer = writers[id] else { continue }
      if writer.phase == .open {
        if writer.isIdle, now >= writer.lastUsedAt + UplinkWriters.idleMilliseconds {
          counters.idleWriters += 1
          writers.unbind(id)
          _ = writers.with(id) { $0.lose() }
          continue
        }
        for (model, place) in writer.models {
          guard case .asked(_, let at) = place.progress, now >= at + UplinkWriters.joinMilliseconds else { continue }
          writers.with(id) { $0.models[model]?.progress = .none }
        }
        if now >= writer.lastSentAt + lease / 3 { send(.alive(Alive(heartbeat: 0)), for: id, now: now) }
      }
      advance(id, now: now, isAgain: true)
    }
  }

  // MARK: Sending

  var welcomeStart: StartNumber? { session.startNumber }

  private mutating func send(_ message: PeerMessage, for id: SessionID, now: UInt64) {
    guard let upstream = writers[id]?.upstream, upstream != 0, let start = welcomeStart else { return }
    send(frame: message.encode(session: upstream, start: message.kind == .hello ? 0 : start), for: id, now: now)
  }

  private mutating func send(frame: [UInt8], for id: SessionID, now: UInt64) {
    writers.with(id) { $0.lastSentAt = now }
    actions.append(.send(frame))
  }
}

extension WireWriter {
  mutating func proposals(_ proposals: ArraySlice<PassedProposal>, topic: Topic) {
    u16(UInt16(proposals.count))
    for proposal in proposals { proposal.write(to: &self, topic: topic) }
  }
}
