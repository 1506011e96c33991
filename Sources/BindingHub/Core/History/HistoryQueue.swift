import BindingProtocol

/// The requests for earlier commits: at most one a session, answered in turn. The store reads one page at a time, and a
/// drain asks for one at most, so whoever asks without end only waits longer.
struct HistoryQueue {
  private struct Asked: Hashable {
    let session: SessionID
    let request: HistoryRequest
  }
  /// In the order in which they are served.
  private var waiting: [Asked] = []
  /// What the store reads now; without `asked`, nobody wants the answer any more.
  private var reading: (asked: Asked?, query: HistoryQuery)?
  private var lastNumber: UInt64 = 0
  /// Of an edge, which keeps no history: what the hub above is asked, by the uplink's number.
  private var passed: [UInt32: Asked] = [:]
  private var lastPassed: UInt32 = 0
  private var abandoned: [UInt32] = []
  /// When to look again for a session that may be sent more.
  private(set) var nextDeadline = UInt64.max

  /// How often the hub looks whether a name at its rate may be sent a page, milliseconds.
  private static let pauseMilliseconds: UInt64 = 100

  /// The number of requests that wait.
  var count: Int { waiting.count }

  /// Whether another drain would have a page read.
  func isDue(_ congested: CongestedConnections, _ sessions: SessionTable) -> Bool {
    reading == nil && nextDeadline == .max && waiting.contains { !congested.contains($0.session, sessions) }
  }

  /// Handles a request, which replaces an earlier one of its session.
  /// - Throws: `WireError` where the session did not name the capability.
  mutating func receive(
    _ request: HistoryRequest, _ session: SessionID, _ hub: inout HubContext, _ output: inout HubOutput
  ) throws(WireError) {
    guard let record = hub.sessions[session] else { return }
    guard record.capabilities.asksHistory else {
      throw WireError(
        message: "history", place: "kind",
        problem: "belongs to the capability \(Capability.history), which the hello did not name", code: .unknownKind)
    }
    let asked = Asked(session: session, request: request)
    // The peer asks again, and the hub above has not answered yet.
    if passed.values.contains(asked) { return }
    forget(session)
    if let end = refusal(of: asked, record, hub) {
      hub.send(
        .past(PastPage(session: session, request: request.request, end: end)), to: session, &output,
        topic: request.topic)
    } else {
      waiting.append(asked)
    }
  }

  /// Why a request gets no page; nil: it does.
  private func refusal(of asked: Asked, _ record: SessionRecord, _ hub: HubContext) -> PastPage.End? {
    guard record.joins[asked.request.topic] != nil, let index = hub.models.index(of: asked.request.topic) else {
      return .notJoined
    }
    let model = hub.models[index]
    if model.ephemeral != nil { return PastPage.End.none }
    let rights = hub.access.rights(in: record.id, on: record.connection)
    return rights.mayReadHistory(of: model.id) ? nil : .notPermitted
  }

  /// Asks the store for the page of the session that has waited longest.
  mutating func readNext(
    _ congested: CongestedConnections, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard !waiting.isEmpty, reading == nil else { return }
    nextDeadline = .max
    for position in waiting.indices {
      let asked = waiting[position]
      guard !congested.contains(asked.session, hub.sessions) else { continue }
      if let usage = hub.sessions[asked.session]?.usage, !usage.mayReceive(at: time.monotonic) {
        nextDeadline = time.monotonic + HistoryQueue.pauseMilliseconds
        continue
      }
      waiting.remove(at: position)
      guard let index = hub.models.index(of: asked.request.topic) else { return }
      lastNumber += 1
      let query = HistoryQuery(asked.request, of: hub.models[index], number: lastNumber)
      reading = (asked, query)
      output.history = query
      nextDeadline = .max
      return
    }
  }

  /// Sends a page that the store has read, or says that it could not.
  mutating func answered(
    _ query: HistoryQuery, _ result: Result<HistoryAnswer, StoreError>, _ hub: inout HubContext,
    _ output: inout HubOutput
  ) {
    guard let (asked, present) = reading, present.number == query.number else { return }
    reading = nil
    if case .failure(let error) = result {
      output.notices.append(.unreadableHistory(model: query.model, problem: error.description))
    }
    // After a renumbering the topic is another one.
    guard let asked, let record = hub.sessions[asked.session], let index = hub.models.index(of: asked.request.topic),
      record.joins[asked.request.topic] != nil
    else { return }
    let model = hub.models[index]
    var page = PastPage(session: asked.session, request: asked.request.request, end: .unreadable)
    if case .success(let answer) = result, model.id == query.model { page.fill(from: answer, to: query, of: model) }
    let before = output.byteCount
    hub.send(.past(page), to: asked.session, &output, topic: model.topic)
    record.usage?.charge(bytes: output.byteCount - before)
    hub.counters.historyPages += 1
  }

  /// Passes what the peers of an edge ask on to the hub above.
  mutating func passOn(_ models: ModelTable) -> [UplinkRequest] {
    guard !waiting.isEmpty || !abandoned.isEmpty else { return [] }
    var requests = abandoned.map(UplinkRequest.stopAsking)
    abandoned.removeAll()
    for asked in waiting {
      guard let index = models.index(of: asked.request.topic) else { continue }
      lastPassed &+= 1
      passed[lastPassed] = asked
      var request = asked.request
      request.request = lastPassed
      requests.append(.history(request, model: models[index].id))
    }
    waiting.removeAll()
    return requests
  }

  /// Sends a peer of an edge the page that the hub above has read.
  mutating func answered(_ number: UInt32, _ page: PastPage, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard let asked = passed.removeValue(forKey: number), let record = hub.sessions[asked.session] else { return }
    var answer = page
    (answer.session, answer.request) = (asked.session, asked.request.request)
    let before = output.byteCount
    hub.send(.past(answer), to: asked.session, &output, topic: asked.request.topic)
    record.usage?.charge(bytes: output.byteCount - before)
    hub.counters.historyPages += 1
  }

  /// A session has ended, or asks for something else.
  mutating func forget(_ session: SessionID, in topic: Topic? = nil) {
    let isMeant = { (asked: Asked) in
      asked.session == session && (topic == nil || asked.request.topic == topic)
    }
    waiting.removeAll(where: isMeant)
    if let asked = reading?.asked, isMeant(asked) { reading?.asked = nil }
    let ended = passed.filter { isMeant($0.value) }.keys.sorted()
    for number in ended { passed[number] = nil }
    abandoned += ended
  }
}

extension HistoryQuery {
  /// What a request means in a model.
  fileprivate init(_ request: HistoryRequest, of model: ModelLog, number: UInt64) {
    self.init(model: model.id, record: model.position.record, head: model.version)
    self.number = number
    from = model.position.deltasFrom
    isOldestFirst = request.isOldestFirst
    (epoch, after, since, until) = (request.epoch, request.after, request.since, request.until)
    if request.through > 0 { through = min(request.through, head) }
    if request.count > 0 { count = min(Int(request.count), HistoryQuery.maxCommits) }
    if !request.fields.isEmpty { fields = Set(request.fields.compactMap { model.fields.id(of: $0) }) }
    writers = request.writers
  }
}

extension PastPage {
  /// Fills in what the store has read.
  fileprivate mutating func fill(from answer: HistoryAnswer, to query: HistoryQuery, of model: ModelLog) {
    end = answer.next == nil ? .all : .more
    next = answer.next ?? 0
    head = query.head
    // What the names of fields were before them is not known.
    let isRenumbered = query.from > answer.oldest
    horizon = min(isRenumbered ? query.from : answer.oldest, head) + 1
    let isFirst = answer.oldestRecord == 1 || answer.oldestRecord == model.position.beginning.record + 1
    let hasCommits = query.head > model.position.beginning.version
    if isRenumbered {
      reason = .renumbered
    } else if answer.oldestRecord == 0 {
      reason = answer.mayLackStart ? .start : hasCommits ? .notKept : .beginning
    } else if isFirst {
      reason = answer.mayLackStart ? .start : .beginning
    } else {
      reason = .notKept
    }
    commits = answer.commits.map { commit in
      PastCommit(
        epoch: commit.epoch, version: commit.version, time: commit.time, origin: commit.origin, number: commit.number,
        changes: commit.changes.compactMap { change in
          guard Int(change.field) < model.fields.count else { return nil }
          let isRemoved = change.value?.bytes == RemovedValue.bytes
          return PastChange(
            field: model.fields[change.field].name, value: isRemoved ? nil : change.value, isRemoved: isRemoved)
        })
    }
  }
}

extension HubMachine {
  /// Handles a page of history that the store has read, or could not read.
  package mutating func answered(
    _ query: HistoryQuery, _ result: Result<HistoryAnswer, StoreError>, into output: inout HubOutput
  ) {
    history.answered(query, result, &hub, &output)
  }
}
