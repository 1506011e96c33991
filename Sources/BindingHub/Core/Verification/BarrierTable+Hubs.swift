import BindingProtocol

/// Barriers over several hubs: each counts its own peers.
extension BarrierTable {
  /// Asks siblings and edges how many of their peers have the version of a barrier.
  func askElsewhere(
    _ barrier: Barrier, _ model: String, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    // Each question is repeated with the heartbeat; the other hub may miss some.
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

  /// A session of another hub has ended: its peers count as gone.
  mutating func part(from session: SessionID) {
    for model in byModel.keys {
      for at in byModel[model]?.indices ?? 0..<0 {
        if byModel[model]?[at].elsewhere.removeValue(forKey: session) != nil { isChanged = true }
      }
    }
  }

  /// The barriers that wait for what another hub counts over a session.
  func numbers(countedBy session: SessionID) -> [UInt32] {
    guard !isEmpty else { return [] }
    return byModel.values.flatMap { $0.filter { $0.elsewhere.keys.contains(session) }.map(\.number) }.sorted()
  }

  /// An edge has a new session, and still has the peers for which barriers asked its earlier one. It answers for models
  /// that it no longer follows too.
  mutating func goOn(
    _ numbers: [UInt32], with edge: SessionID, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    for number in numbers {
      guard let model = places[number], let at = byModel[model]?.firstIndex(where: { $0.number == number }) else {
        continue
      }
      byModel[model]?[at].elsewhere.updateValue(nil, forKey: edge)
      if let barrier = byModel[model]?[at] { askElsewhere(barrier, hub.models[model].id, hub, time, &output) }
    }
  }

  /// The session of an edge has joined a model: its peers are awaited too.
  mutating func meet(
    edge: SessionID, in model: Int, _ hub: HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard var list = byModel[model] else { return }
    for at in list.indices {
      list[at].waiting.remove(edge)
      list[at].elsewhere.updateValue(nil, forKey: edge)
      askElsewhere(list[at], hub.models[model].id, hub, time, &output)
    }
    byModel[model] = list
  }

  /// A sibling or an edge has counted.
  mutating func receive(_ count: AppliedCount, of session: SessionID) {
    guard let model = places[count.request],
      let at = byModel[model]?.firstIndex(where: { $0.number == count.request }),
      byModel[model]?[at].elsewhere.keys.contains(session) == true
    else { return }
    byModel[model]?[at].elsewhere.updateValue(count, forKey: session)
    isChanged = true
  }

  /// Another hub asks for a barrier of one of its sessions, or asks again.
  mutating func count(
    _ wanted: CountApplied, over link: Int, _ hub: inout HubContext, _ time: HubTime, _ output: inout HubOutput
  ) {
    guard wanted.epoch == hub.epoch else { return }
    guard let index = hub.models.index(named: wanted.model) else {
      return counted.append((link, AppliedCount(request: wanted.request, applied: 0, of: 0)))
    }
    let asker = Barrier.Asker.hub(link: link, request: wanted.request)
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
    var barrier = Barrier(
      of: asker, number: nextNumber(), version: wanted.version, count: wanted.isOfAll ? nil : Int(UInt32.max),
      deadline: deadline)
    begin(&barrier, index, &hub, time, &output)
  }

  /// A link has another session: the hub there asks anew, and it may have been restarted.
  mutating func forget(link: Int) {
    let isOfLink = { (barrier: Barrier) -> Bool in
      if case .hub(link, _) = barrier.asker { true } else { false }
    }
    for model in byModel.keys where byModel[model]?.contains(where: isOfLink) == true {
      byModel[model]?.removeAll(where: isOfLink)
      recordChange()
    }
  }

  /// Tells other hubs that asked what has changed.
  mutating func tellChanged(of model: Int, _ hub: HubContext) {
    for at in byModel[model]?.indices ?? 0..<0 {
      guard let news = byModel[model]?[at].news(hub) else { continue }
      byModel[model]?[at].told = news.count
      counted.append(news)
    }
  }

  /// Takes what other hubs are to be told.
  mutating func takeCounted() -> [(link: Int, count: AppliedCount)] {
    defer { if !counted.isEmpty { counted.removeAll() } }
    return counted
  }
}
