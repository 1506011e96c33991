import BindingHub
import BindingPeer
import BindingProtocol

/// Every page of history says what was committed: down to its horizon nothing is missing, doubled, or of another epoch
/// than was asked for (§5.5).
struct PastOracle: Invariant, SimulationPart {
  /// What the store's log holds of a model.
  private struct Log {
    var names: [String] = []
    var commits: [PastCommit] = []
    /// The version before each batch with commits.
    var starts: [Version] = []
    /// Field ids up to this version meant other fields.
    var from: Version = 0
  }
  let context: SimulationContext
  private var logs: [String: Log] = [:]
  /// The last request of each session.
  private var asked: [SessionID: HistoryRequest] = [:]

  init(context: SimulationContext) { self.context = context }

  mutating func observe(_ event: Observation) throws(Violation) {
    switch event {
    case .hubStarts(let hub, _):
      logs.removeAll()
      asked.removeAll()
      for batch in hub.store.log { try add(batch) }
    case .stored(let batch, _): try add(batch)
    case .received(let frame, let peer, _) where frame[0] == PeerMessageKind.history.rawValue:
      // A session that must say hello again is not heard.
      guard case (let header, .history(let request))? = try? PeerMessage.decode(frame),
        peer.hub.read({ $0.hasOpenSession(header.session) }) == true
      else { return }
      asked[header.session] = request
    case .sent(let frame, .past, _, let hub):
      guard case (let header, .past(let page))? = try? HubMessage.decode(frame) else {
        throw Violation(.past, "the hub sent a page of history that cannot be read")
      }
      try check(page, of: hub.name(of: header.topic), hub)
    case .historyEnded(let id, let end, let peer): try self.end(id, end, peer)
    default: break
    }
  }

  private mutating func add(_ batch: Batch) throws(Violation) {
    switch batch.form {
    case .removal: logs[batch.model] = nil
    case .renumbering(let kept):
      let names = logs[batch.model]?.names ?? []
      logs[batch.model, default: Log()].names = kept.map { names[Int($0)] }
      logs[batch.model]?.from = batch.version
    case .ordinary:
      guard !batch.body.isEmpty else { return }
      guard let group = try? CommitGroup.decode(batch.body) else {
        throw Violation(.order, "the store holds commits of \(batch.model) that cannot be read")
      }
      var log = logs[batch.model] ?? Log()
      log.starts.append(batch.previous)
      log.names.removeLast(max(log.names.count - Int(group.names.first), 0))
      log.names += group.names.names
      for (offset, commit) in group.commits.enumerated() {
        log.commits.append(
          PastCommit(
            epoch: group.epoch, version: group.previous + Version(offset) + 1, time: group.time,
            origin: group.origins[Int(commit.origin)], number: commit.number,
            changes: commit.changes.map { PastChange(field: log.names[Int($0.field)], value: $0.value) }))
      }
      logs[batch.model] = log
    }
  }

  // MARK: At the hub

  private func check(_ page: PastPage, of model: String?, _ hub: SimulatedHub) throws(Violation) {
    guard page.end == .more || page.end == .all else { return }
    guard let request = asked[page.session], request.request == page.request, let model, let log = logs[model] else {
      guard let model, logs[model] == nil, page.commits.isEmpty else {
        throw Violation(.past, "the hub answered a request that was replaced")
      }
      return
    }
    let through = request.through == 0 ? page.head : min(request.through, page.head)
    let isDone = page.end == .all
    let meant = log.commits.filter { commit in
      let isReached = isDone || (request.isOldestFirst ? commit.version <= page.next : commit.version > page.next)
      return commit.version > request.after && commit.version <= through && commit.version >= page.horizon && isReached
        && (request.epoch == 0 || commit.epoch == request.epoch)
        && (request.writers.isEmpty || request.writers.contains { commit.origin.isMeant(by: $0) })
    }
    var expected = meant.map { commit in
      var commit = commit
      if !request.fields.isEmpty { commit.changes.removeAll { !request.fields.contains($0.field) } }
      return commit
    }
    if !request.fields.isEmpty { expected.removeAll(where: \.changes.isEmpty) }
    if !request.isOldestFirst { expected.reverse() }
    guard page.commits == expected else {
      throw Violation(
        .past,
        "a page of \(model) through \(through) after \(request.after) has the versions "
          + "\(page.commits.map(\.version)), and the log has \(expected.map(\.version))")
    }
    guard request.count == 0 || page.commits.count <= Int(request.count) else {
      throw Violation(.past, "a page of \(model) has more commits than were asked for")
    }
    let oldest = log.starts.suffix(profile.keptBatches).first ?? page.head
    guard page.horizon <= min(max(oldest, log.from), page.head) + 1 else {
      throw Violation(.past, "the history of \(model) ends at version \(page.horizon), and the store has more")
    }
    counts[.pastPage] += 1
    if !isDone { counts[.pastGoesOn] += 1 }
    if page.reason == .renumbered { counts[.pastRenumbered] += 1 }
    if page.reason == .notKept { counts[.pastNotKept] += 1 }
    if request.epoch != 0, log.commits.contains(where: { $0.epoch != request.epoch }) { counts[.pastOfEpoch] += 1 }
  }

  // MARK: At its peer

  private func end(_ id: HistoryID, _ end: HistoryEnd, _ peer: SimulatedPeer) throws(Violation) {
    record("\(peer) ends its question about the past")
    guard let asked = peer.process.histories[id] else {
      throw Violation(.past, "a question of \(peer) about the past ended twice")
    }
    if now > asked.latestEnd(peer.process) {
      throw Violation(.past, "\(peer) asked until \(asked.deadline) ms and got the answer only now")
    }
    switch end {
    case .page(let page):
      let isAllowed = page.end == .more || page.end == .all || page.end == .notJoined
      guard isAllowed || page.end == .notPermitted && profile.hasRights else {
        throw Violation(.past, "\(peer) was answered \(page.end)")
      }
      var last = asked.last
      for commit in page.commits {
        if let last, asked.message.isOldestFirst ? commit.version <= last : commit.version >= last {
          throw Violation(.past, "\(peer) was told version \(commit.version) after version \(last)")
        }
        last = commit.version
      }
    case .noAnswer:
      counts[.pastUnanswered] += 1
      guard now >= asked.deadline else {
        throw Violation(.past, "a question of \(peer) ended without an answer before its time was over")
      }
    case .notJoined: break
    case .hubTooOld, .stopped: throw Violation(.past, "a question of \(peer) about the past ended as \(end)")
    }
  }

  func atRest(_ hub: SimulatedHub, _ peers: [SimulatedPeer]) throws(Violation) {
    for peer in peers where !peer.outbox.isOver {
      guard peer.process.histories.values.contains(where: { $0.latestEnd(peer.process) < now }) else { continue }
      throw Violation(.past, "\(peer) still waits for an answer about the past")
    }
  }
}

/// A question about the past, as the application knows it.
struct PeerHistory {
  let model: Int
  var message: HistoryRequest
  let deadline: UInt64
  /// How long its process had been stopped before.
  let slept: UInt64
  /// The version that it was told last.
  var last: Version?

  /// The latest time at which the end is reported.
  func latestEnd(_ process: PeerProcess) -> UInt64 { deadline + 300 + (process.slept - slept) }
}

extension SimulatedPeer {
  /// Asks for commits of a model, page by page.
  func askHistory(_ message: HistoryRequest, of model: Int, last: Version? = nil) throws(Violation) {
    guard session.joinedModels.contains(modelNames[model]) else { return }
    let id = session.askHistory(message, of: modelNames[model], timeoutMilliseconds: 6_000, now: clock)
    record("\(self) asks for the past of \(modelNames[model])")
    process.histories[id] = PeerHistory(
      model: model, message: message, deadline: now + 6_000, slept: process.slept, last: last)
  }

  /// A question has ended. Where there is more, the application goes on.
  func historyEnded(_ id: HistoryID, _ end: HistoryEnd) throws(Violation) {
    try invariants.observe(.historyEnded(id, end, self))
    guard let asked = process.histories.removeValue(forKey: id), case .page(let page) = end, page.end == .more else {
      return
    }
    var message = asked.message
    if message.isOldestFirst { message.after = page.next } else { message.through = page.next }
    // A page may end where the range does.
    guard message.through == 0 || message.after < message.through else { return }
    try askHistory(message, of: asked.model, last: page.commits.last?.version ?? asked.last)
  }
}

extension SimulatedStore {
  /// Reads a page of what it keeps: the last batches of the model.
  func history(_ query: HistoryQuery) -> HistoryAnswer {
    let all = log.filter { $0.model == query.model }
    let batches = all[(all.lastIndex { $0.form == .removal }.map { $0 + 1 } ?? 0)...]
    let bodies = batches.indices.filter { !batches[$0].body.isEmpty }
    guard let first = bodies.suffix(profile.keptBatches).first else { return .none(to: query) }
    let kept = batches[first...]
    var collector = HistoryCollector(query, oldest: (batches[first].previous, batches[first].record))
    if query.isOldestFirst {
      for batch in kept { if !collector.add(batch) { break } }
    } else {
      for batch in kept.reversed() { if !collector.add(batch) { break } }
    }
    return collector.answer
  }
}
