import BindingProtocol

/// What one handle of a log in memory has under way.
struct SharedMemoryState: Sendable {
  /// One try of an append.
  struct Try: Sendable {
    var number: UInt64
    var batches: [SharedBatch]
    var count: Int
    /// What was known of shards when it was passed on.
    var fence: UInt64
  }
  enum Work: Sendable {
    case send(Try, SharedMemoryStore.Fault)
    case answer(Try, [SharedMemoryLog.Outcome])
    case giveUp(Try)
    case ask(@Sendable (SharedMemoryLog) -> SharedEvent)
    case sync(UInt64)
  }
  struct Due: Sendable {
    var step: Int
    var work: Work
  }

  var deliver: (@Sendable (SharedEvent) -> Void)?
  var hasBegun = false
  var events: [SharedEvent] = []
  var appends = OpenAppends()
  /// In the order of being due.
  private(set) var work: Queue = Queue()
  var position: SharedRevision
  var isCut = false
  var isTailHeld = false
  var isLost: @Sendable (SharedRecord) -> Bool = { _ in false }
  private(set) var losses: UInt64 = 0
  var shards: Shards
  private var room = SharedRoom.enough
  private var now = 0
  private var tries = 0
  private var check: TailCheck

  /// - Parameter checked: up to where it is known already what changed.
  init(_ position: SharedRevision, checked: SharedRevision, fence: UInt64) {
    (self.position, shards) = (position, Shards(fence: fence))
    check = TailCheck(position: checked)
  }

  init(closedAt position: SharedRevision) { self.init(position, checked: position, fence: 0) }

  /// Work by the step at which it is due.
  struct Queue: Sendable {
    private var entries: [Due] = []
    var isEmpty: Bool { entries.allSatisfy { if case .giveUp = $0.work { true } else { false } } }

    fileprivate func isDue(at step: Int) -> Bool { entries.first.map { $0.step <= step } ?? false }

    fileprivate mutating func insert(_ due: Due) {
      entries.insert(due, at: entries.firstIndex { $0.step > due.step } ?? entries.endIndex)
    }

    fileprivate mutating func next(at step: Int) -> Due? {
      guard let first = entries.first, first.step <= step else { return nil }
      return entries.removeFirst()
    }
  }

  /// What the hub was told of shards, and what it is about to be told, as the log's fences.
  struct Shards: Sendable {
    private(set) var fence: UInt64
    private var noticed: [UInt64] = []

    fileprivate init(fence: UInt64) { self.fence = fence }

    /// - Returns: whether there is something to tell.
    fileprivate mutating func notice(_ fence: UInt64) -> Bool {
      guard fence != noticed.last ?? self.fence else { return false }
      noticed.append(fence)
      return true
    }

    /// The hub was told of it. What is passed on from now on counts as knowing it.
    mutating func told() { if !noticed.isEmpty { fence = noticed.removeFirst() } }
  }

  mutating func schedule(_ work: Work, after steps: Int) { self.work.insert(Due(step: now + steps, work: work)) }

  mutating func start(_ append: Try, _ faults: SharedMemoryStore.Faults) {
    let fault = faults(tries)
    tries += 1
    if case .lateRequest(let steps) = fault {
      schedule(.send(append, fault), after: 1 + steps)
    } else {
      schedule(.send(append, fault), after: 1)
    }
    schedule(.giveUp(append), after: SharedMemoryStore.patience)
  }

  /// Spends a step in which nothing is due and nothing is new, as most are.
  /// - Parameter log: how the log is now.
  /// - Returns: whether this is such a step.
  mutating func rest(_ log: SharedMemoryLog.Glance) -> Bool {
    guard events.isEmpty, !work.isDue(at: now + 1) else { return false }
    if !isCut {
      guard (now + 1) % SharedMemoryStore.checkInterval != 0, log.room == room else { return false }
      guard isTailHeld || position == log.revision else { return false }
    }
    now += 1
    return true
  }

  mutating func step(_ log: SharedMemoryLog, _ faults: SharedMemoryStore.Faults) {
    now += 1
    while let due = work.next(at: now) { run(due.work, log, faults) }
    guard !isCut else { return }
    if log.room != room {
      room = log.room
      events.append(.room(room))
    }
    if !isTailHeld { follow(log) }
    if now % SharedMemoryStore.checkInterval == 0 {
      noticeShards(of: log)
      compareHeads(log)
    }
  }

  /// Tells that what is in which shard has changed. As with an engine that is only seen when it answers something, that
  /// is not noticed at once.
  private mutating func noticeShards(of log: SharedMemoryLog) {
    let (map, fence) = log.shards
    if shards.notice(fence) { events.append(.resharded(map)) }
  }

  private mutating func run(_ work: Work, _ log: SharedMemoryLog, _ faults: SharedMemoryStore.Faults) {
    switch work {
    case .send(let append, let fault):
      if case .lostRequest = fault { return }
      guard !isCut else { return }
      let outcomes = log.append(append.batches, knowing: append.fence)
      switch fault {
      case .lostAnswer: break
      case .lateAnswer(let steps): schedule(.answer(append, outcomes), after: 1 + steps)
      case .repeatedAnswer:
        schedule(.answer(append, outcomes), after: 1)
        schedule(.answer(append, outcomes), after: 3)
      case .none, .lateRequest, .lostRequest: schedule(.answer(append, outcomes), after: 1)
      }
    case .answer(let append, let outcomes):
      guard !isCut else { return }
      if outcomes.contains(where: { if case .outdated = $0 { true } else { false } }) { noticeShards(of: log) }
      take(outcomes, to: append)
    case .giveUp(var append):
      append.batches.removeAll { !appends.isOpen(append.number, $0.batch.model) }
      guard !append.batches.isEmpty else { return }
      if append.count < SharedMemoryStore.maxTries {
        append.count += 1
        return start(append, faults)
      }
      var output = OpenAppends.Output()
      for batch in append.batches { appends.take(.unknown, to: append.number, of: batch.batch.model, into: &output) }
      deliver(output)
    case .ask(let answer):
      // While it is cut, the question waits.
      if isCut { return schedule(work, after: 1) }
      noticeShards(of: log)
      events.append(answer(log))
    case .sync(let number):
      if isCut { return schedule(work, after: 1) }
      noticeShards(of: log)
      let changed = check.untold(log.heads(changedAfter: check.position).heads, waiting: appends.waiting)
      if !changed.isEmpty { events.append(.changed(changed)) }
      events.append(.synced(number))
    }
  }

  private mutating func take(_ outcomes: [SharedMemoryLog.Outcome], to append: Try) {
    var output = OpenAppends.Output()
    for (batch, outcome) in zip(append.batches, outcomes) {
      let (number, model) = (append.number, batch.batch.model)
      switch outcome {
      case .stored(let revision): appends.take(.stored(revision), to: number, of: model, into: &output)
      case .full: appends.take(.full, to: number, of: model, into: &output)
      case .outdated: appends.take(.unknown, to: number, of: model, into: &output)
      case .stands(let records, let head): appends.take(records, head: head, to: number, of: model, into: &output)
      }
    }
    deliver(output)
  }

  private mutating func deliver(_ output: OpenAppends.Output) {
    events += output.events
    if !output.records.isEmpty { events.append(.followed(output.records, position)) }
  }

  // MARK: The tail

  private mutating func follow(_ log: SharedMemoryLog) {
    guard let page = log.records(after: position, limit: 64) else { return lose(log) }
    position = page.position
    let records = page.records.filter { !isLost($0) }
    check.note(records)
    var output = OpenAppends.Output()
    appends.take(followed: records, into: &output)
    deliver(output)
  }

  private mutating func lose(_ log: SharedMemoryLog) {
    losses += 1
    let (heads, revision) = log.heads(changedAfter: position)
    position = revision
    check.restart(at: revision)
    events += [.lost(revision), .changed(heads), .caughtUp(revision)]
  }

  private mutating func compareHeads(_ log: SharedMemoryLog) {
    let (heads, revision) = log.heads(changedAfter: check.position)
    let finding = check.compare(heads, asOf: revision)
    if !finding.missed.isEmpty {
      losses += UInt64(finding.missed.count)
      events.append(.changed(finding.missed))
    }
    if finding.isComplete {
      position = max(position, revision)
      events.append(.caughtUp(position))
    }
  }
}
