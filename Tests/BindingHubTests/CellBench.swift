import BindingProtocol
import Testing

@testable import BindingHub

/// Hubs over one log in memory, without sockets: the test says which hub gets a message, and when the log works.
struct CellBench {
  // SAFETY: a handle calls back only from `step`, on the test's thread.
  private final class Inbox: @unchecked Sendable {
    var events: [SharedEvent] = []
  }
  private struct Member {
    var machine: HubMachine
    let handle: SharedMemoryStore
    let inbox: Inbox
    var appends: UInt64 = 0
  }
  let log = SharedMemoryLog(logID: 3, epoch: HubBench.epoch)
  private var members: [Member] = []
  var now: UInt64 = 1_000
  /// What each hub's wall clock is ahead of the first one's, milliseconds.
  var clocks: [UInt64] = []

  init(hubs: Int = 2, _ configure: (inout HubMachineConfiguration) -> Void = { _ in }) {
    for _ in 0..<hubs { open(configure) }
    step()
  }

  /// Hubs with these numbers of their starts, which know each other.
  init(starts: [StartNumber], _ configure: (inout HubMachineConfiguration) -> Void) {
    for start in starts { open(start: start, siblings: starts.filter { $0 != start }, configure) }
    step()
  }

  /// Starts one more hub.
  mutating func open(
    start: StartNumber = HubBench.start, siblings: [StartNumber] = [],
    _ configure: (inout HubMachineConfiguration) -> Void = { _ in }
  ) {
    var configuration = HubMachineConfiguration()
    configuration.isShared = true
    configure(&configuration)
    let birth = HubBirth(logID: 3, epoch: HubBench.epoch, start: start, tailProven: true)
    var machine = HubMachine(
      configuration: configuration, birth: birth, time: HubTime(monotonic: now, wall: 500_000), epochSeed: 11)
    if !siblings.isEmpty { machine.follow(siblings: siblings.count) }
    let (handle, inbox) = (SharedMemoryStore(log), Inbox())
    handle.begin { inbox.events.append($0) }
    members.append(Member(machine: machine, handle: handle, inbox: inbox))
    clocks.append(0)
    for (link, sibling) in siblings.enumerated() {
      reach(
        from: members.count - 1, over: link, start: sibling, capabilities: [Capability.forward, Capability.owners])
    }
  }

  /// A hub reaches another one over a link.
  mutating func reach(
    from hub: Int, over link: Int = 0, start: StartNumber, capabilities: [String], log: LogID = 3
  ) {
    let welcome = Welcome(
      session: 1, logID: log, epoch: HubBench.epoch, durability: .disk, heartbeatMilliseconds: 1_000,
      leaseMilliseconds: 10_000, now: 0, hub: "hub", endpoints: [], capabilities: capabilities)
    act(hub) { machine, time, output in
      machine.handle(
        .reached(UpstreamHub(welcome, epoch: HubBench.epoch, start: start)), ofSibling: link, time: time,
        into: &output)
    }
  }

  /// When a hub wants to be called next.
  func nextDeadline(_ hub: Int) -> UInt64 { members[hub].machine.nextDeadline }

  func counters(_ hub: Int) -> HubCounters { members[hub].machine.counters }

  func handle(_ hub: Int) -> SharedMemoryStore { members[hub].handle }

  /// The owner of a model as a hub has read it in the log.
  func recordedOwner(_ hub: Int, _ model: String = "lamp") -> RecordedOwner? {
    let models = members[hub].machine.hub.models
    return models.index(named: model).flatMap { models[$0].approval.recorded }
  }

  func head(_ hub: Int, _ model: String = "lamp") -> (version: Version, digest: UInt64)? {
    members[hub].machine.head(of: model)
  }

  /// The numbers that a hub has of a writer.
  func lastStored(_ hub: Int, _ peer: Speaker, _ model: String = "lamp") -> ProposalNumber? {
    let models = members[hub].machine.hub.models
    return models.index(named: model).flatMap { index in
      models[index].writers.index(of: peer.identity.tag).map { models[index].writers.records[$0].lastStored }
    }
  }

  /// Who a hub takes a writer for.
  func writer(_ hub: Int, _ peer: Speaker, _ model: String = "lamp") -> Origin? {
    let models = members[hub].machine.hub.models
    return models.index(named: model).flatMap { index in
      models[index].writers.index(of: peer.identity.tag).map { models[index].writers.records[$0].origin }
    }
  }

  // MARK: Links

  /// A hub says hello to another one.
  @discardableResult
  mutating func greet(_ hub: Int, _ sibling: Speaker, counts: Bool = false) -> Received {
    let capabilities = [Capability.users, Capability.sibling] + (counts ? [Capability.counts] : [])
    let hello = Hello(identity: sibling.identity, leaseMilliseconds: 60_000, capabilities: capabilities)
    return send(hub, sibling, .hello(hello)) + step()[hub]
  }

  /// What a hub wants to pass on is lost.
  mutating func loseRequests(of hub: Int) { _ = takeRequests(of: hub) }

  mutating func takeRequests(of hub: Int, over link: Int = 0) -> [UplinkRequest] {
    members[hub].machine.takeRequests(ofSibling: link)
  }

  /// Delivers what a hub passes on; what the other one sends then.
  @discardableResult
  mutating func forward(from: Int, over link: Int = 0, to: Int, as sibling: Speaker) -> Received {
    var received = Received(HubOutput())
    for request in takeRequests(of: from, over: link) {
      guard case .forward(let forwarded) = request else { continue }
      var writer = WireWriter()
      PeerHeader(kind: .forward, session: sibling.session, start: members[to].machine.start).write(to: &writer)
      forwarded.head.write(to: &writer)
      writer.u16(UInt16(forwarded.proposals.count))
      for proposal in forwarded.proposals { proposal.write(to: &writer, topic: Topics.firstModel) }
      let frame = writer.bytes
      received =
        received
        + act(to) { machine, time, output in
          frame.withUnsafeBytes { machine.receive($0, on: sibling.connection, time: time, into: &output) }
        }
    }
    return received
  }

  /// A hub passes a proposal on, made by hand.
  mutating func forward(
    _ proposal: NumberedProposal, of writer: Speaker, in model: String = "lamp", after record: UInt64, to hub: Int,
    as sibling: Speaker
  ) {
    let head = ForwardHead(model: model, record: record, identity: writer.identity, user: nil)
    send(hub, sibling, .forward(Forward(head, [proposal])))
  }

  /// A hub loses its first link.
  @discardableResult
  mutating func cut(from hub: Int) -> Received {
    act(hub) { machine, time, output in machine.handle(.cut(nil), ofSibling: 0, time: time, into: &output) }
  }

  mutating func tick(_ hub: Int) { act(hub) { $0.tick(time: $1, into: &$2) } }

  // MARK: Driving

  @discardableResult
  mutating func act(_ hub: Int, _ body: (inout HubMachine, HubTime, inout HubOutput) -> Void) -> Received {
    var output = HubOutput()
    let time = HubTime(monotonic: now, wall: 499_000 + now + clocks[hub])
    body(&members[hub].machine, time, &output)
    members[hub].machine.finishDrain(time: time, into: &output)
    while members[hub].machine.isStreaming { members[hub].machine.finishDrain(time: time, into: &output) }
    let handle = members[hub].handle
    if !output.batches.isEmpty {
      members[hub].appends += 1
      let batches = output.batches.map { SharedBatch($0, after: members[hub].machine.revision(of: $0.model)) }
      handle.append(members[hub].appends, batches)
    }
    for model in output.reload { handle.load(model) }
    if let next = output.list { handle.list(prefix: next.prefix, after: next.after, limit: 2) }
    if let number = output.sync { handle.sync(number) }
    if let failure = output.failure { Issue.record("\(failure)") }
    return Received(output)
  }

  /// Lets the log work for so many steps at all hubs; what each of them sent.
  @discardableResult
  mutating func step(_ count: Int = 12) -> [Received] {
    var received = members.map { _ in Received(HubOutput()) }
    for _ in 0..<count {
      for hub in members.indices {
        members[hub].handle.step()
        let events = members[hub].inbox.events
        members[hub].inbox.events.removeAll()
        for event in events {
          received[hub] = received[hub] + act(hub) { $0.receive(event, time: $1, into: &$2) }
        }
      }
    }
    return received
  }

  @discardableResult
  mutating func send(_ hub: Int, _ peer: Speaker, _ messages: PeerMessage...) -> Received {
    act(hub) { machine, time, output in
      for message in messages {
        message.encode(session: peer.session, start: machine.start).withUnsafeBytes {
          machine.receive($0, on: peer.connection, time: time, into: &output)
        }
      }
    }
  }

  @discardableResult
  mutating func subscribe(_ hub: Int, _ peer: Speaker, _ topics: [UInt8]...) -> Received {
    act(hub) { machine, time, output in
      for topic in topics {
        topic.withUnsafeBytes { machine.subscribed($0, by: peer.subscriber, time: time, into: &output) }
      }
    }
  }

  /// A hello, and its answer once the log has told whether it knows the peer.
  @discardableResult
  mutating func hello(
    _ hub: Int, _ peer: Speaker, isResuming: Bool = false, capabilities: [String] = [Capability.users]
  ) -> Received {
    let hello = Hello(
      identity: peer.identity, isResuming: isResuming, leaseMilliseconds: 60_000, capabilities: capabilities)
    let received = send(hub, peer, .hello(hello)) + step()[hub]
    return received
      + subscribe(hub, peer, Topics.sessionTopic(peer.session), Topics.bytes(Topics.heartbeat))
  }

  /// Joins and subscribes, before the log works.
  @discardableResult
  mutating func join(_ hub: Int, _ peer: Speaker, _ join: Join = Join(request: 1, model: "lamp")) -> Received {
    send(hub, peer, .join([join])) + subscribe(hub, peer, Topics.bytes(topic(hub)))
  }

  /// The topic of a model at a hub.
  func topic(_ hub: Int, of model: String = "lamp") -> Topic {
    members[hub].machine.topic(of: model) ?? HubBench.lamp
  }

  @discardableResult
  mutating func live(_ hub: Int, _ peer: Speaker) -> Received { hello(hub, peer) + join(hub, peer) + step()[hub] }

  /// Proposes one `set` and lets the log work; the outcomes.
  @discardableResult
  mutating func write(
    _ hub: Int, _ peer: Speaker, _ number: ProposalNumber, _ field: String, _ value: String
  ) -> [ProposalNumber: WireOutcome.Rest] {
    let topic = topic(hub)
    let received = send(hub, peer, .propose([.of(number, [.set(field, value)], topic: topic)]))
    return (received + step()[hub]).outcomes(peer, topic: topic)
  }

  /// Folds a model as it is now, so that its records are gone.
  mutating func fold(_ model: String) throws {
    let (head, stored) = log.load(model)
    guard let fold = try stored.flatMap({ try SharedFold(compacting: $0, head: head) }) else {
      Issue.record("\(model) has nothing to fold")
      return
    }
    handle(0).fold(fold)
    step()
  }

  /// The peer has seen its outcomes up to this number.
  mutating func confirm(_ hub: Int, _ peer: Speaker, _ number: ProposalNumber) {
    let entry = AliveEntry(topic: HubBench.lamp, confirmed: number, applied: 0)
    send(hub, peer, .alive(Alive(heartbeat: 0, entries: [entry])))
  }
}
