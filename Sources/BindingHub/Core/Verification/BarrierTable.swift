import BindingProtocol

/// The barriers of a hub: requests to be notified when other peers have applied a version.
struct BarrierTable {
  /// By the model's index.
  private var byModel: [Int: [Barrier]] = [:]
  private var bySession: [SessionID: Int] = [:]
  /// The model's index, by the number of the barrier.
  private var places: [UInt32: Int] = [:]
  private var lastNumber: UInt32 = 0
  private(set) var count = 0
  /// When the first of them times out.
  private(set) var nextDeadline = UInt64.max
  private var isChanged = false
  /// The number of siblings that this hub reached last.
  private var lastReached = 0
  /// For siblings that asked, in order.
  private var counted: [(link: Int, count: AppliedCount)] = []

  var isEmpty: Bool { count == 0 }

  /// Handles a session's request.
  mutating func add(
    _ wanted: AwaitApplied, of session: SessionID, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    func refuse(_ end: Awaited.End) {
      hub.send(.awaited(Awaited(session: session, request: wanted.request, end: end)), to: session, &output)
    }
    guard let index = hub.models.index(of: wanted.topic), hub.models[index].members.sessions.contains(session) else {
      return refuse(.notJoined)
    }
    let model = hub.models[index]
    guard wanted.epoch == model.epoch(ifStored: hub.epoch) else { return refuse(.otherEpoch) }
    guard count < hub.configuration.maxBarriers,
      bySession[session] ?? 0 < hub.configuration.maxBarriersPerSession
    else {
      hub.counters.barriersRefused += 1
      return refuse(.tooMany)
    }
    hub.counters.barriers += 1
    let timeout = min(UInt64(wanted.timeoutMilliseconds), hub.configuration.maxBarrierMilliseconds)
    var barrier = Barrier(
      of: .session(session, request: wanted.request), number: nextNumber(), version: wanted.version,
      count: wanted.count == 0 ? nil : Int(wanted.count), deadline: time.monotonic + timeout,
      waiting: model.members.sessions,
      // The versions of ephemeral models are each hub's own.
      isOfAllHubs: model.ephemeral == nil && hub.configuration.isShared)
    if barrier.isOfAllHubs {
      for sibling in hub.sessions.siblings where hub.trusts(sibling: sibling) {
        barrier.elsewhere.updateValue(nil, forKey: sibling)
      }
    }
    begin(barrier, index, &hub, &output)
    askElsewhere(barrier, model.id, hub, time, &output)
  }

  private mutating func nextNumber() -> UInt32 {
    lastNumber &+= 1
    return lastNumber
  }

  /// Adds a barrier, which replaces one that the same asker has repeated, and asks the sessions here.
  private mutating func begin(
    _ barrier: Barrier, _ index: Int, _ hub: inout HubContext, _ output: inout HubOutput
  ) {
    byModel[index, default: []].removeAll { $0.asker == barrier.asker }
    byModel[index, default: []].append(barrier)
    recordChange()
    let model = hub.models[index]
    for id in model.members.sessions {
      guard let session = hub.sessions[id], !session.capabilities.reports,
        let applied = session.joins[model.topic]?.applied
      else {
        continue
      }
      reached(applied, of: index, by: id)
    }
    hub.ask(index, version: barrier.version, &output)
  }

  /// Repeats the open questions: a question or its answer may have been lost.
  func askAgain(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    for (index, list) in byModel.sorted(by: { $0.key < $1.key }) {
      if let version = list.lazy.map(\.version).min() { hub.ask(index, version: version, &output) }
      for barrier in list { askElsewhere(barrier, hub.models[index].id, hub, time, &output) }
    }
  }

  /// A session has applied this version of a model.
  mutating func reached(_ version: Version, of model: Int, by session: SessionID) {
    guard var list = byModel[model] else { return }
    for index in list.indices where list[index].version <= version && !list[index].applied.contains(session) {
      guard list[index].waiting.remove(session) != nil || list[index].count != nil else { continue }
      list[index].applied.insert(session)
      isChanged = true
    }
    byModel[model] = list
  }

  /// A session has ended or left a model: it no longer waits and is no longer awaited.
  mutating func forget(_ session: SessionID, in model: Int) {
    guard !isEmpty else { return }
    if var list = byModel[model] {
      list.removeAll { $0.session == session }
      for at in list.indices {
        list[at].waiting.remove(session)
        list[at].applied.remove(session)
      }
      byModel[model] = list
    }
    recordChange()
  }

  /// A model is removed. Its sessions have left it before.
  mutating func forget(_ model: Int) {
    if byModel.removeValue(forKey: model) != nil { recordChange() }
  }

  /// Answers the barriers that are complete or have timed out.
  /// - Parameter reached: the number of siblings that this hub reaches.
  mutating func endDue(
    siblings reached: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    if reached < lastReached { isChanged = true }
    lastReached = reached
    guard isChanged || nextDeadline <= time.monotonic else { return }
    var ended: [Barrier] = []
    for model in byModel.keys.sorted() {
      tellChanged(of: model, hub)
      let isOver = { (barrier: Barrier) -> Bool in
        barrier.session != nil && barrier.isComplete(siblings: reached) || barrier.deadline <= time.monotonic
      }
      ended += byModel[model]?.filter(isOver) ?? []
      byModel[model]?.removeAll(where: isOver)
    }
    recordChange()
    isChanged = false
    for barrier in ended {
      send(barrier.isComplete(siblings: reached) ? .complete : .incomplete, of: barrier, &hub, &output)
    }
  }

  /// Answers all barriers when another epoch begins: versions of the old one have no meaning any more.
  mutating func endAll(_ hub: inout HubContext, _ output: inout HubOutput) {
    let ended = byModel.sorted { $0.key < $1.key }.flatMap(\.value)
    let (number, reached) = (lastNumber, lastReached)
    self = BarrierTable()
    (lastNumber, lastReached) = (number, reached)
    for barrier in ended { send(.otherEpoch, of: barrier, &hub, &output) }
  }

  private mutating func recordChange() {
    isChanged = true
    byModel = byModel.filter { !$0.value.isEmpty }
    bySession.removeAll()
    places.removeAll()
    (count, nextDeadline) = (0, .max)
    for (model, list) in byModel {
      for barrier in list {
        if let session = barrier.session { bySession[session, default: 0] += 1 }
        places[barrier.number] = model
        nextDeadline = min(nextDeadline, barrier.deadline)
        count += 1
      }
    }
  }

  private func send(_ end: Awaited.End, of barrier: Barrier, _ hub: inout HubContext, _ output: inout HubOutput) {
    guard case .session(let session, let request) = barrier.asker else { return }
    if end == .incomplete { hub.counters.barriersMissed += 1 }
    hub.send(
      .awaited(
        Awaited(
          session: session, request: request, applied: UInt32(clamping: barrier.appliedInAll),
          of: UInt32(clamping: barrier.wanted), end: end, missing: barrier.missing(hub, siblings: lastReached))),
      to: session, &output)
  }

  // MARK: Several hubs

  /// Asks siblings how many of their peers have the version of a barrier of a session here.
  private func askElsewhere(
    _ barrier: Barrier, _ model: String, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    // Each question is repeated with the heartbeat; a sibling may miss some.
    let patience = 4 * UInt64(hub.configuration.heartbeatMilliseconds)
    let timeout = min(barrier.deadline - min(time.monotonic, barrier.deadline), patience)
    for session in barrier.elsewhere.keys.sorted() where hub.sessions[session]?.capabilities.counts == true {
      let question = CountApplied(
        session: session, request: barrier.number, model: model, epoch: hub.epoch, version: barrier.version,
        isOfAll: barrier.count == nil, timeoutMilliseconds: UInt32(clamping: timeout))
      hub.send(.count(question), to: session, &output)
    }
  }

  /// A session of a sibling has begun: its peers are awaited too.
  mutating func meet(_ sibling: SessionID, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput) {
    for model in byModel.keys.sorted() where hub.models[model].ephemeral == nil {
      guard var list = byModel[model] else { continue }
      for at in list.indices where list[at].session != nil {
        list[at].elsewhere.updateValue(nil, forKey: sibling)
        askElsewhere(list[at], hub.models[model].id, hub, time, &output)
      }
      byModel[model] = list
    }
  }

  /// A session of a sibling has ended: its peers count as gone.
  mutating func part(from sibling: SessionID) {
    for model in byModel.keys {
      for at in byModel[model]?.indices ?? 0..<0 {
        if byModel[model]?[at].elsewhere.removeValue(forKey: sibling) != nil { isChanged = true }
      }
    }
  }

  /// A sibling has counted.
  mutating func receive(_ count: AppliedCount, of sibling: SessionID) {
    guard let model = places[count.request],
      let at = byModel[model]?.firstIndex(where: { $0.number == count.request }),
      byModel[model]?[at].elsewhere.keys.contains(sibling) == true
    else { return }
    byModel[model]?[at].elsewhere.updateValue(count, forKey: sibling)
    isChanged = true
  }

  /// A sibling asks for a barrier of one of its sessions, or asks again.
  mutating func count(
    _ wanted: CountApplied, over link: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard wanted.epoch == hub.epoch else { return }
    guard let index = hub.models.index(named: wanted.model) else {
      return counted.append((link, AppliedCount(request: wanted.request, applied: 0, of: 0)))
    }
    let asker = Barrier.Asker.sibling(link: link, request: wanted.request)
    let timeout = min(UInt64(wanted.timeoutMilliseconds), hub.configuration.maxBarrierMilliseconds)
    let deadline = time.monotonic + timeout
    if let at = byModel[index]?.firstIndex(where: { $0.asker == asker }) {
      byModel[index]?[at].deadline = deadline
      byModel[index]?[at].told = nil
      return recordChange()
    }
    guard count < hub.configuration.maxBarriers else {
      hub.counters.barriersRefused += 1
      return
    }
    let barrier = Barrier(
      of: asker, number: nextNumber(), version: wanted.version, count: wanted.isOfAll ? nil : Int(UInt32.max),
      deadline: deadline, waiting: hub.models[index].members.sessions)
    begin(barrier, index, &hub, &output)
  }

  /// A link has another session: the hub there asks anew, and it may have been restarted.
  mutating func forget(link: Int) {
    let isOfLink = { (barrier: Barrier) -> Bool in
      if case .sibling(link, _) = barrier.asker { true } else { false }
    }
    for model in byModel.keys where byModel[model]?.contains(where: isOfLink) == true {
      byModel[model]?.removeAll(where: isOfLink)
      recordChange()
    }
  }

  /// Tells siblings that asked what has changed.
  private mutating func tellChanged(of model: Int, _ hub: HubContext) {
    for at in byModel[model]?.indices ?? 0..<0 {
      guard let barrier = byModel[model]?[at], case .sibling(let link, let request) = barrier.asker else { continue }
      let (applied, waiting) = (UInt32(clamping: barrier.applied.count), UInt32(clamping: barrier.waiting.count))
      guard barrier.told?.applied != applied || barrier.told?.of != applied + waiting else { continue }
      let now = AppliedCount(
        request: request, applied: applied, of: applied + waiting, missing: barrier.missing(hub))
      byModel[model]?[at].told = now
      counted.append((link, now))
    }
  }

  /// Takes what siblings are to be told.
  mutating func takeCounted() -> [(link: Int, count: AppliedCount)] {
    defer { if !counted.isEmpty { counted.removeAll() } }
    return counted
  }
}
