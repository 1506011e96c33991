import BindingProtocol

/// The barriers of a hub: requests to be notified when other peers have applied a version.
struct BarrierTable {
  /// By the model's index.
  var byModel: [Int: [Barrier]] = [:]
  private var bySession: [SessionID: Int] = [:]
  /// The model's index, by the number of the barrier.
  var places: [UInt32: Int] = [:]
  private var lastNumber: UInt32 = 0
  private(set) var count = 0
  /// When the first of them times out.
  private(set) var nextDeadline = UInt64.max
  var isChanged = false
  /// Whether this hub reaches a sibling that has no session here.
  private var lacksHub = false
  /// For other hubs that asked, in order.
  var counted: [(link: Int, count: AppliedCount)] = []

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
    // An edge asks for all its peers.
    let most = hub.counts(session) ? hub.configuration.maxBarriers : hub.configuration.maxBarriersPerSession
    guard count < hub.configuration.maxBarriers, bySession[session] ?? 0 < most else {
      hub.counters.barriersRefused += 1
      return refuse(.tooMany)
    }
    hub.counters.barriers += 1
    let timeout = min(UInt64(wanted.timeoutMilliseconds), hub.configuration.maxBarrierMilliseconds)
    var barrier = Barrier(
      of: .session(session, request: wanted.request), number: nextNumber(), version: wanted.version,
      count: wanted.count == 0 ? nil : Int(wanted.count), deadline: time.monotonic + timeout,
      // The versions of ephemeral models are each hub's own.
      isOfAllHubs: model.ephemeral == nil && hub.configuration.isShared)
    if barrier.isOfAllHubs {
      for sibling in hub.sessions.siblings where hub.trusts(sibling: sibling) {
        barrier.elsewhere.updateValue(nil, forKey: sibling)
      }
    }
    begin(&barrier, index, &hub, time, &output)
  }

  mutating func nextNumber() -> UInt32 {
    lastNumber &+= 1
    return lastNumber
  }

  /// Adds a barrier, which replaces one that the same asker has repeated, and asks the sessions here and other hubs.
  mutating func begin(
    _ barrier: inout Barrier, _ index: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    for id in hub.models[index].members.sessions {
      if hub.counts(id) {
        barrier.elsewhere.updateValue(nil, forKey: id)
      } else if !hub.isCountedByEdge(id) {
        barrier.waiting.insert(id)
      }
    }
    byModel[index, default: []].removeAll { $0.asker == barrier.asker }
    byModel[index, default: []].append(barrier)
    recordChange()
    let model = hub.models[index]
    for id in model.members.sessions {
      guard let session = hub.sessions[id], !session.capabilities.reports, !hub.isCountedByEdge(id),
        let applied = session.joins[model.topic]?.applied
      else { continue }
      reached(applied, of: index, by: id)
    }
    hub.ask(index, version: barrier.version, &output)
    askElsewhere(barrier, model.id, hub, time, &output)
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
      if list[index].elsewhere.keys.contains(session) { continue }
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
        list[at].elsewhere.removeValue(forKey: session)
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
    let lacks = reached > hub.sessions.siblings.count { hub.trusts(sibling: $0) }
    if lacksHub, !lacks { isChanged = true }
    lacksHub = lacks
    guard isChanged || nextDeadline <= time.monotonic else { return }
    var ended: [Barrier] = []
    for model in byModel.keys.sorted() {
      tellChanged(of: model, hub)
      let isOver = { (barrier: Barrier) -> Bool in
        barrier.session != nil && barrier.isComplete(lacksHub: lacks) || barrier.deadline <= time.monotonic
      }
      ended += byModel[model]?.filter(isOver) ?? []
      byModel[model]?.removeAll(where: isOver)
    }
    recordChange()
    isChanged = false
    for barrier in ended {
      send(barrier.isComplete(lacksHub: lacks) ? .complete : .incomplete, of: barrier, &hub, &output)
    }
  }

  /// Answers all barriers when another epoch begins: versions of the old one have no meaning any more.
  mutating func endAll(_ hub: inout HubContext, _ output: inout HubOutput) {
    let ended = byModel.sorted { $0.key < $1.key }.flatMap(\.value)
    let (number, lacks) = (lastNumber, lacksHub)
    self = BarrierTable()
    (lastNumber, lacksHub) = (number, lacks)
    for barrier in ended { send(.otherEpoch, of: barrier, &hub, &output) }
  }

  mutating func recordChange() {
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
          of: UInt32(clamping: barrier.wanted), end: end, missing: barrier.missing(hub, lacksHub: lacksHub))),
      to: session, &output)
  }
}
