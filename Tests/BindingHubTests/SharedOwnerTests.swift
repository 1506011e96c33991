import BindingProtocol
import Testing

@testable import BindingHub

@Suite("A model's owner where several hubs share the log")
struct SharedOwnerTests {
  private var owners = OwnerCell()

  // MARK: Taking a model

  @Test("a peer owns a model once the log says so, and all hubs read it there")
  mutating func claimed() {
    guard case .retryLater(.busy, _)? = owners.propose(0, .ann, 1, .set(Names.owner, "1")) else {
      Issue.record("it is decided before the log says so")
      return
    }
    #expect(owners.cell.recordedOwner(0) == nil)
    owners.cell.step()
    let owner = RecordedOwner(origin: Speaker.ann.origin, hub: OwnerCell.starts[0])
    #expect(owners.cell.recordedOwner(0) == owner && owners.cell.recordedOwner(1) == owner)
    #expect(owners.claim(0, .ann)?.isCommitted == true)
  }

  @Test("a model has one owner, at whichever hub")
  mutating func oneOwner() {
    #expect(owners.claim(0, .ann)?.isCommitted == true)
    #expect(owners.claim(1, .ben)?.refusal == .notOwner)
  }

  @Test("of two peers that ask at once at two hubs, one owns the model")
  mutating func bothAsk() {
    _ = owners.propose(0, .ann, 1, .set(Names.owner, "1"))
    _ = owners.propose(1, .ben, 1, .set(Names.owner, "1"))
    owners.cell.step()
    let outcomes = [owners.claim(0, .ann), owners.claim(1, .ben)]
    #expect(outcomes.filter { $0?.isCommitted == true }.count == 1)
    #expect(outcomes.filter { $0?.refusal == .notOwner }.count == 1)
  }

  @Test("a peer that asks once and is not heard of again keeps nobody from the model")
  mutating func claimEnds() {
    _ = owners.propose(0, .ann, 1, .set(Names.owner, "1"))
    owners.cell.step()
    #expect(owners.cell.recordedOwner(0) != nil)
    owners.cell.now += OwnerClaim.milliseconds
    owners.cell.tick(0)
    owners.cell.step()
    #expect(owners.cell.recordedOwner(0) == nil && owners.cell.recordedOwner(1) == nil)
    #expect(owners.cell.write(1, .ben, 1, "on", "1")[1] == .committed(1))
  }

  @Test("models have no owners where a hub knows no others, or one that does not ask owners")
  mutating func notAsked() {
    var alone = CellBench()
    alone.hello(0, .ann, capabilities: [Capability.users, Capability.ephemeral])
    alone.join(0, .ann)
    alone.step()
    alone.join(0, .ann, Join(request: 2, model: OwnerCell.ephemeral))
    alone.step()
    let topic = alone.topic(0, of: OwnerCell.ephemeral)
    let received = alone.send(0, .ann, .propose([.of(1, [.set(Names.owner, "1")], topic: topic)]))
    #expect(received.outcomes(.ann, topic: topic)[1]?.refusal == .notPermitted)
    owners.cell.reach(from: 0, start: 9, capabilities: [Capability.forward])
    #expect(owners.propose(0, .ann, 1, .set(Names.owner, "1"))?.refusal == .notPermitted)
  }

  @Test("what is written while the log says already who owns the model, and the hub not yet, waits for the owner")
  mutating func awaited() {
    owners.enter(0, .cat)
    _ = owners.propose(0, .ann, 1, .set(Names.owner, "1"))
    owners.cell.step()
    #expect(owners.cell.write(0, .cat, 1, "on", "1").isEmpty)
    #expect(owners.question(owners.writeElsewhere(1, "2")) == nil)
    let topic = owners.cell.topic(0, of: OwnerCell.ephemeral)
    let request = owners.question(owners.cell.send(0, .ann, .propose([.of(1, [.set(Names.owner, "1")], topic: topic)])))
    #expect(request?.origin == Speaker.cat.origin)
  }

  // MARK: Asking

  @Test("what is written at another hub is passed on, and the owner is asked about it")
  mutating func asked() {
    _ = owners.claim(0, .ann)
    let request = owners.question(owners.writeElsewhere(1, "true"))
    #expect(request?.origin == Speaker.ben.origin)
    #expect(request?.fields.map(\.name) == ["on"])
    #expect(owners.cell.head(1)?.version == 0)
    let received = owners.answer(request)
    #expect(received[1].outcomes(.ben)[1] == .committed(1) && owners.cell.head(1)?.version == 1)
    #expect(owners.cell.counters(1).passedOn == 1 && owners.cell.counters(1).movedBatches == 0)
  }

  @Test("what the owner refuses is refused at the other hub, with its reason")
  mutating func refused() {
    _ = owners.claim(0, .ann)
    let received = owners.answer(owners.question(owners.writeElsewhere(1, "true")), "not at night")
    guard case .refused(let refusal)? = received[1].outcomes(.ben)[1] else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .refusedByOwner && refusal.text == "lamp: ann says: not at night")
    #expect(owners.cell.head(1)?.version == 0)
    owners.answer(owners.question(owners.writeElsewhere(2, "false")))
    #expect(owners.cell.lastStored(1, .ben) == 2 && owners.cell.head(1)?.version == 1)
  }

  @Test("an owner that does not answer loses the model for all hubs")
  mutating func silent() {
    _ = owners.claim(0, .ann)
    #expect(owners.question(owners.writeElsewhere(1, "true")) != nil)
    owners.cell.now += 2_000
    owners.cell.tick(0)
    let received = owners.cell.step()
    #expect(received[1].outcomes(.ben)[1]?.refusal == .ownerSilent)
    #expect(owners.cell.recordedOwner(1) == nil)
    #expect(owners.cell.write(1, .ben, 2, "on", "1")[2] == .committed(1))
    #expect(owners.cell.counters(1).passedOn == 1)
  }

  @Test("a hub that has not seen yet who owns the model decides nothing without the owner")
  mutating func lateHub() {
    owners.cell.handle(1).setTailHeld(true)
    _ = owners.claim(0, .ann)
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    #expect(owners.cell.step()[1].outcomes(.ben).isEmpty)
    #expect(owners.cell.counters(1).movedBatches == 1)
    let request = owners.question(owners.cell.forward(from: 1, to: 0, as: OwnerCell.hub))
    #expect(owners.answer(request)[1].outcomes(.ben).isEmpty, "its tail is late")
    owners.cell.handle(1).setTailHeld(false)
    #expect(owners.cell.step()[1].outcomes(.ben)[1] == .committed(1))
  }

  @Test("what was lost on the way to the owner's hub is passed on again, and decided once")
  mutating func lostForward() {
    _ = owners.claim(0, .ann)
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    owners.cell.step()
    owners.cell.loseRequests(of: 1)
    owners.cell.now += 2_000 + ModelHome.answerMilliseconds
    owners.cell.tick(1)
    owners.cell.step()
    let request = owners.question(owners.cell.forward(from: 1, to: 0, as: OwnerCell.hub))
    #expect(owners.answer(request)[1].outcomes(.ben)[1] == .committed(1))
    #expect(owners.cell.head(0)?.version == 1 && owners.cell.counters(1).takenBack == 0)
  }
}
