import BindingProtocol

/// A session's request to be notified when other peers have applied a version of a model.
struct Barrier {
  let session: SessionID
  let request: UInt32
  let version: Version
  /// The number of sessions that must have the version; nil: all that had joined the model at the request and are
  /// still there.
  let count: Int?
  let deadline: UInt64
  /// Sessions that had joined at the request and have not reported the version.
  var waiting: Set<SessionID>
  var applied: Set<SessionID> = []

  /// The number of sessions that it waits for.
  var wanted: Int { count ?? waiting.count + applied.count }

  var isComplete: Bool { applied.count >= wanted }
}

/// The barriers of a hub: requests to be notified when other peers have applied a version.
struct BarrierTable {
  /// By the model's index.
  private var byModel: [Int: [Barrier]] = [:]
  private var bySession: [SessionID: Int] = [:]
  private(set) var count = 0
  /// When the first of them times out.
  private(set) var nextDeadline = UInt64.max
  private var isChanged = false

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
    add(
      Barrier(
        session: session, request: wanted.request, version: wanted.version,
        count: wanted.count == 0 ? nil : Int(wanted.count), deadline: time.monotonic + timeout,
        waiting: model.members.sessions), to: index)
    for id in model.members.sessions {
      guard let session = hub.sessions[id], !session.capabilities.reports,
        let applied = session.joins[model.topic]?.applied
      else {
        continue
      }
      reached(applied, of: index, by: id)
    }
    hub.ask(index, version: wanted.version, &output)
  }

  /// Repeats the open questions: a question or its answer may have been lost.
  func askAgain(_ hub: inout HubContext, _ output: inout HubOutput) {
    for (model, list) in byModel.sorted(by: { $0.key < $1.key }) {
      if let version = list.lazy.map(\.version).min() { hub.ask(model, version: version, &output) }
    }
  }

  /// Adds a barrier. It replaces one of the same session and request number, which the session has repeated.
  private mutating func add(_ barrier: Barrier, to model: Int) {
    byModel[model, default: []].removeAll { $0.session == barrier.session && $0.request == barrier.request }
    byModel[model, default: []].append(barrier)
    recordChange()
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

  /// Answers the barriers that are complete or have timed out.
  mutating func endDue(_ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput) {
    guard !isEmpty, isChanged || nextDeadline <= time.monotonic else { return }
    var ended: [Barrier] = []
    for model in byModel.keys.sorted() {
      ended += byModel[model]?.filter { $0.isComplete || $0.deadline <= time.monotonic } ?? []
      byModel[model]?.removeAll { $0.isComplete || $0.deadline <= time.monotonic }
    }
    recordChange()
    isChanged = false
    for barrier in ended { send(barrier.isComplete ? .complete : .incomplete, of: barrier, &hub, &output) }
  }

  /// Answers all barriers when another epoch begins: versions of the old one have no meaning any more.
  mutating func endAll(_ hub: inout HubContext, _ output: inout HubOutput) {
    let ended = byModel.sorted { $0.key < $1.key }.flatMap(\.value)
    self = BarrierTable()
    for barrier in ended { send(.otherEpoch, of: barrier, &hub, &output) }
  }

  private mutating func recordChange() {
    isChanged = true
    byModel = byModel.filter { !$0.value.isEmpty }
    bySession.removeAll()
    (count, nextDeadline) = (0, .max)
    for barrier in byModel.values.joined() {
      bySession[barrier.session, default: 0] += 1
      nextDeadline = min(nextDeadline, barrier.deadline)
      count += 1
    }
  }

  private func send(_ end: Awaited.End, of barrier: Barrier, _ hub: inout HubContext, _ output: inout HubOutput) {
    if end == .incomplete { hub.counters.barriersMissed += 1 }
    let missing = barrier.waiting.sorted().compactMap { hub.sessions[$0]?.identity.name }
    hub.send(
      .awaited(
        Awaited(
          session: barrier.session, request: barrier.request, applied: UInt32(clamping: barrier.applied.count),
          of: UInt32(clamping: barrier.wanted), end: end, missing: Array(missing.prefix(255)))),
      to: barrier.session, &output)
  }
}
