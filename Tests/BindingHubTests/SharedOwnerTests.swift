import BindingProtocol
import Testing

@testable import BindingHub

@Suite("A model's owner where several hubs share the log")
struct SharedOwnerTests {
  /// ann may own "lamp" at the first hub; ben writes at the second.
  private var cell = CellBench(starts: [SharedOwnerTests.starts[0], SharedOwnerTests.starts[1]]) { _ in }
  private static let starts: [StartNumber] = [HubBench.start, 7]
  private static let hub = Speaker(40, "hub 1")
  private static let ephemeral = Names.ephemeral("lamp")

  init() {
    enter(0, .ann)
    enter(1, .ben)
    cell.greet(0, SharedOwnerTests.hub)
  }

  private mutating func enter(_ hub: Int, _ peer: Speaker) {
    cell.hello(hub, peer, capabilities: [Capability.users, Capability.ephemeral])
    cell.join(hub, peer)
    cell.step()
    cell.join(hub, peer, Join(request: 2, model: Self.ephemeral))
    cell.step()
  }

  private mutating func propose(
    _ hub: Int, _ peer: Speaker, _ number: ProposalNumber, _ operation: WireOperation
  ) -> WireOutcome.Rest? {
    let topic = cell.topic(hub, of: Self.ephemeral)
    let received = cell.send(hub, peer, .propose([.of(number, [operation], topic: topic)]))
    return received.outcomes(peer, topic: topic)[number]
  }

  /// A peer asks until the hub has answered.
  private mutating func claim(_ hub: Int, _ peer: Speaker, _ number: ProposalNumber = 1) -> WireOutcome.Rest? {
    var outcome: WireOutcome.Rest?
    for _ in 0..<5 {
      outcome = propose(hub, peer, number, .set(Names.owner, "1"))
      guard case .retryLater? = outcome else { return outcome }
      cell.step()
    }
    return outcome
  }

  private func question(_ received: Received, to peer: Speaker = .ann) -> ApprovalRequest? {
    received.messages(to: peer).lazy.compactMap { if case .approve(let request) = $0 { request } else { nil } }.first
  }

  @discardableResult
  private mutating func answer(_ request: ApprovalRequest?, _ reason: String? = nil) -> [Received] {
    guard let request else {
      Issue.record("nobody was asked")
      return cell.step()
    }
    let approval = Approval(
      topic: request.topic, token: request.token, isAccepted: reason == nil, text: reason ?? "")
    let received = cell.send(0, .ann, .approval(approval))
    var all = cell.step()
    all[0] = received + all[0]
    return all
  }

  /// ben writes, and the second hub passes it on to the first one.
  private mutating func writeElsewhere(_ number: ProposalNumber, _ value: String) -> Received {
    cell.send(1, .ben, .propose([.of(number, [.set("on", value)])]))
    cell.step()
    return cell.forward(from: 1, to: 0, as: Self.hub)
  }

  // MARK: Taking a model

  @Test("a peer owns a model once the log says so, and all hubs read it there")
  mutating func claimed() {
    guard case .retryLater(.busy, _)? = propose(0, .ann, 1, .set(Names.owner, "1")) else {
      Issue.record("it is decided before the log says so")
      return
    }
    #expect(cell.recordedOwner(0) == nil)
    cell.step()
    let owner = RecordedOwner(origin: Speaker.ann.origin, hub: Self.starts[0])
    #expect(cell.recordedOwner(0) == owner && cell.recordedOwner(1) == owner)
    #expect(claim(0, .ann)?.isCommitted == true)
  }

  @Test("a model has one owner, at whichever hub")
  mutating func oneOwner() {
    #expect(claim(0, .ann)?.isCommitted == true)
    #expect(claim(1, .ben)?.refusal == .notOwner)
  }

  @Test("of two peers that ask at once at two hubs, one owns the model")
  mutating func bothAsk() {
    _ = propose(0, .ann, 1, .set(Names.owner, "1"))
    _ = propose(1, .ben, 1, .set(Names.owner, "1"))
    cell.step()
    let outcomes = [claim(0, .ann), claim(1, .ben)]
    #expect(outcomes.filter { $0?.isCommitted == true }.count == 1)
    #expect(outcomes.filter { $0?.refusal == .notOwner }.count == 1)
  }

  @Test("a peer that asks once and is not heard of again keeps nobody from the model")
  mutating func claimEnds() {
    _ = propose(0, .ann, 1, .set(Names.owner, "1"))
    cell.step()
    #expect(cell.recordedOwner(0) != nil)
    cell.now += OwnerClaim.milliseconds
    cell.tick(0)
    cell.step()
    #expect(cell.recordedOwner(0) == nil && cell.recordedOwner(1) == nil)
    #expect(cell.write(1, .ben, 1, "on", "1")[1] == .committed(1))
  }

  @Test("models have no owners where a hub knows no others, or one that does not ask owners")
  mutating func notAsked() {
    var alone = CellBench()
    alone.hello(0, .ann, capabilities: [Capability.users, Capability.ephemeral])
    alone.join(0, .ann)
    alone.step()
    alone.join(0, .ann, Join(request: 2, model: Self.ephemeral))
    alone.step()
    let topic = alone.topic(0, of: Self.ephemeral)
    let received = alone.send(0, .ann, .propose([.of(1, [.set(Names.owner, "1")], topic: topic)]))
    #expect(received.outcomes(.ann, topic: topic)[1]?.refusal == .notPermitted)
    cell.reach(from: 0, start: 9, capabilities: [Capability.forward])
    #expect(propose(0, .ann, 1, .set(Names.owner, "1"))?.refusal == .notPermitted)
  }

  @Test("what is written while the log says already who owns the model, and the hub not yet, waits for the owner")
  mutating func awaited() {
    enter(0, .cat)
    _ = propose(0, .ann, 1, .set(Names.owner, "1"))
    cell.step()
    #expect(cell.write(0, .cat, 1, "on", "1").isEmpty)
    #expect(question(writeElsewhere(1, "2")) == nil)
    let topic = cell.topic(0, of: Self.ephemeral)
    let request = question(cell.send(0, .ann, .propose([.of(1, [.set(Names.owner, "1")], topic: topic)])))
    #expect(request?.origin == Speaker.cat.origin)
  }

  // MARK: Asking

  @Test("what is written at another hub is passed on, and the owner is asked about it")
  mutating func asked() {
    _ = claim(0, .ann)
    let request = question(writeElsewhere(1, "true"))
    #expect(request?.origin == Speaker.ben.origin)
    #expect(request?.fields.map(\.name) == ["on"])
    #expect(cell.head(1)?.version == 0)
    let received = answer(request)
    #expect(received[1].outcomes(.ben)[1] == .committed(1) && cell.head(1)?.version == 1)
    #expect(cell.counters(1).passedOn == 1 && cell.counters(1).movedBatches == 0)
  }

  @Test("what the owner refuses is refused at the other hub, with its reason")
  mutating func refused() {
    _ = claim(0, .ann)
    let received = answer(question(writeElsewhere(1, "true")), "not at night")
    guard case .refused(let refusal)? = received[1].outcomes(.ben)[1] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .refusedByOwner && refusal.text == "lamp: ann says: not at night")
    #expect(cell.head(1)?.version == 0)
    answer(question(writeElsewhere(2, "false")))
    #expect(cell.lastStored(1, .ben) == 2 && cell.head(1)?.version == 1)
  }

  @Test("an owner that does not answer loses the model for all hubs")
  mutating func silent() {
    _ = claim(0, .ann)
    #expect(question(writeElsewhere(1, "true")) != nil)
    cell.now += 2_000
    cell.tick(0)
    let received = cell.step()
    #expect(received[1].outcomes(.ben)[1]?.refusal == .ownerSilent)
    #expect(cell.recordedOwner(1) == nil)
    #expect(cell.write(1, .ben, 2, "on", "1")[2] == .committed(1))
    #expect(cell.counters(1).passedOn == 1)
  }

  @Test("a hub that has not seen yet who owns the model decides nothing without the owner")
  mutating func lateHub() {
    cell.handle(1).setTailHeld(true)
    _ = claim(0, .ann)
    cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    #expect(cell.step()[1].outcomes(.ben).isEmpty)
    #expect(cell.counters(1).movedBatches == 1)
    let request = question(cell.forward(from: 1, to: 0, as: Self.hub))
    #expect(answer(request)[1].outcomes(.ben).isEmpty, "its tail is late")
    cell.handle(1).setTailHeld(false)
    #expect(cell.step()[1].outcomes(.ben)[1] == .committed(1))
  }

  @Test("what was lost on the way to the owner's hub is passed on again, and decided once")
  mutating func lostForward() {
    _ = claim(0, .ann)
    cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    cell.step()
    cell.loseRequests(of: 1)
    cell.now += 2_000 + ModelHome.answerMilliseconds
    cell.tick(1)
    cell.step()
    let request = question(cell.forward(from: 1, to: 0, as: Self.hub))
    #expect(answer(request)[1].outcomes(.ben)[1] == .committed(1))
    #expect(cell.head(0)?.version == 1 && cell.counters(1).takenBack == 0)
  }

  // MARK: Losing it

  @Test("an owner that gives the model up is asked no more")
  mutating func givenUp() {
    _ = claim(0, .ann)
    _ = propose(0, .ann, 2, .delete(Names.owner))
    cell.step()
    #expect(cell.recordedOwner(0) == nil && cell.recordedOwner(1) == nil)
    #expect(cell.write(1, .ben, 1, "on", "1")[1] == .committed(1))
    #expect(claim(1, .ben)?.isCommitted == true)
  }

  @Test("what waited for an owner that has given the model up is decided where it was written")
  mutating func waitedForNobody() {
    _ = claim(0, .ann)
    cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    cell.step()
    _ = propose(0, .ann, 2, .delete(Names.owner))
    #expect(cell.step()[1].outcomes(.ben)[1] == .committed(1))
    cell.forward(from: 1, to: 0, as: Self.hub)
    cell.step()
    #expect(cell.head(0)?.version == 1 && cell.lastStored(0, .ben) == 1, "it came too late")
  }

  @Test("what is written while the owner's hub is out of reach waits as long as a lease, then nobody owns the model")
  mutating func lostHub() {
    _ = claim(0, .ann)
    cell.cut(from: 1)
    cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    cell.now += 9_999
    cell.tick(1)
    #expect(cell.step()[1].outcomes(.ben).isEmpty && cell.recordedOwner(1) != nil)
    cell.now += 1
    cell.tick(1)
    #expect(cell.step(24)[1].outcomes(.ben)[1] == .committed(1))
    #expect(cell.recordedOwner(0) == nil)
    // The hub that was out of reach asks nobody either.
    #expect(cell.write(0, .ann, 1, "on", "2")[1] == .committed(2))
    #expect(claim(1, .ben)?.isCommitted == true)
  }

  @Test("an owner that goes to another hub is asked there")
  mutating func moved() {
    _ = claim(0, .ann)
    let ann = Speaker.ann.again(21)
    enter(1, ann)
    #expect(claim(1, ann)?.isCommitted == true)
    #expect(cell.recordedOwner(0)?.hub == Self.starts[1])
    cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    let received = cell.send(1, .ben, .propose([.of(2, [.set("on", "false")])]))
    #expect(received.outcomes(.ben).isEmpty && cell.counters(1).approvals == 1)
    #expect(cell.counters(1).passedOn == 0)
  }

  @Test("who owns a model outlives a fold of its records")
  mutating func folded() throws {
    cell.write(0, .ann, 1, "on", "1")
    _ = claim(0, .ann)
    try cell.fold("lamp")
    cell.open(start: 9, siblings: Self.starts)
    cell.step()
    enter(2, .cat)
    #expect(cell.recordedOwner(2) == RecordedOwner(origin: Speaker.ann.origin, hub: Self.starts[0]))
    cell.send(2, .cat, .propose([.of(1, [.set("on", "2")])]))
    #expect(cell.step()[2].outcomes(.cat).isEmpty && cell.counters(2).passedOn == 1)
  }

  @Test("a hub that does not have the owner decides nothing that is passed on to it")
  mutating func wrongHub() {
    _ = claim(0, .ann)
    cell.greet(1, Self.hub)
    cell.forward(.of(1, [.set("on", "1")]), of: .cat, after: 9, to: 1, as: Self.hub)
    cell.step()
    #expect(cell.head(1)?.version == 0 && cell.lastStored(1, .cat) == nil)
  }
}

extension WireOutcome.Rest {
  fileprivate var isCommitted: Bool { if case .committed = self { true } else { false } }
}
