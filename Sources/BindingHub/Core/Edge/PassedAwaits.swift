import BindingProtocol

/// The barriers of an edge's peers. The hub above holds them, and asks the edge how many of its peers have a version.
struct PassedAwaits {
  private struct Await: Hashable {
    let session: SessionID
    let request: UInt32
  }
  private var byNumber: [UInt32: (await: Await, model: Int)] = [:]
  private var numbers: [Await: UInt32] = [:]
  private var lastNumber: UInt32 = 0

  var count: Int { byNumber.count }

  func count(of session: SessionID) -> Int { numbers.keys.count { $0.session == session } }

  /// - Returns: the number for the uplink, and that of an earlier request which this one replaces.
  mutating func add(_ request: UInt32, of session: SessionID, in model: Int) -> (number: UInt32, replaced: UInt32?) {
    lastNumber &+= 1
    let wait = Await(session: session, request: request)
    let replaced = numbers.updateValue(lastNumber, forKey: wait)
    if let replaced { byNumber[replaced] = nil }
    byNumber[lastNumber] = (wait, model)
    return (lastNumber, replaced)
  }

  /// A barrier has ended.
  mutating func end(_ number: UInt32) -> (session: SessionID, request: UInt32)? {
    guard let (wait, _) = byNumber.removeValue(forKey: number) else { return nil }
    numbers[wait] = nil
    return (wait.session, wait.request)
  }

  /// A session has left a model.
  /// - Returns: the numbers of its barriers there.
  mutating func forget(_ session: SessionID, in model: Int) -> [UInt32] {
    guard !byNumber.isEmpty else { return [] }
    let left = byNumber.filter { $0.value.await.session == session && $0.value.model == model }.keys.sorted()
    for number in left { _ = end(number) }
    return left
  }
}

extension HubMachine {
  /// The barriers of an edge's peers that wait upstream.
  package var passedBarriers: Int { edge?.awaits.count ?? 0 }

  /// Handles the request of a session to be told when others have applied a version.
  mutating func wait(
    _ wanted: AwaitApplied, of session: SessionID, _ time: HubTime, _ output: inout HubOutput
  ) {
    // The versions of an ephemeral model are this hub's own.
    if edge == nil || hub.models.index(of: wanted.topic).map({ hub.models[$0].ephemeral != nil }) == true {
      publisher.barriers.add(wanted, of: session, &hub, time, &output)
    } else {
      passOn(wanted, of: session, &output)
    }
  }

  /// Another hub has counted its peers.
  mutating func receive(_ count: AppliedCount, of session: SessionID) throws(WireError) {
    guard hub.trusts(sibling: session) || hub.counts(session) else {
      throw PeerMessageKind.counted.unnamed(Capability.counts)
    }
    publisher.barriers.receive(count, of: session)
  }

  /// Passes a barrier of a peer on to the hub above.
  private mutating func passOn(_ wanted: AwaitApplied, of session: SessionID, _ output: inout HubOutput) {
    func refuse(_ end: Awaited.End) {
      hub.send(.awaited(Awaited(session: session, request: wanted.request, end: end)), to: session, &output)
    }
    guard let index = hub.models.index(of: wanted.topic), hub.models[index].members.sessions.contains(session),
      let awaits = edge?.awaits
    else { return refuse(.notJoined) }
    guard wanted.epoch == hub.epoch else { return refuse(.otherEpoch) }
    guard awaits.count < hub.configuration.maxBarriers,
      awaits.count(of: session) < hub.configuration.maxBarriersPerSession
    else {
      hub.counters.barriersRefused += 1
      return refuse(.tooMany)
    }
    hub.counters.barriers += 1
    guard let (number, replaced) = edge?.awaits.add(wanted.request, of: session, in: index) else { return }
    if let replaced { edge?.requests.append(.stopWaiting(replaced)) }
    var passed = wanted
    passed.request = number
    edge?.requests.append(.await(passed, model: hub.models[index].id))
  }

  /// Tells a peer how its barrier has ended.
  mutating func answer(_ number: UInt32, _ awaited: Awaited, _ output: inout HubOutput) {
    guard let (session, request) = edge?.awaits.end(number) else { return }
    if awaited.end == .incomplete { hub.counters.barriersMissed += 1 }
    var answer = awaited
    (answer.session, answer.request) = (session, request)
    hub.send(.awaited(answer), to: session, &output)
  }

  /// A session has left a model, or ended.
  mutating func stopWaiting(_ session: SessionID, in model: Int) {
    for number in edge?.awaits.forget(session, in: model) ?? [] { edge?.requests.append(.stopWaiting(number)) }
  }

  /// Tells other hubs how many peers here have applied a version.
  mutating func tellHubs(_ counted: [(link: Int, count: AppliedCount)]) {
    guard edge != nil else { return siblings.tell(counted) }
    edge?.requests += counted.map { .counted($0.count) }
  }
}
