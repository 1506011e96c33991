import BindingProtocol
import Testing

@testable import BindingHub

@Suite("The end of an owner where several hubs share the log")
struct LostOwnerTests {
  private var owners = OwnerCell()

  @Test("an owner that gives the model up is asked no more")
  mutating func givenUp() {
    _ = owners.claim(0, .ann)
    _ = owners.propose(0, .ann, 2, .delete(Names.owner))
    owners.cell.step()
    #expect(owners.cell.recordedOwner(0) == nil && owners.cell.recordedOwner(1) == nil)
    #expect(owners.cell.write(1, .ben, 1, "on", "1")[1] == .committed(1))
    #expect(owners.claim(1, .ben)?.isCommitted == true)
  }

  @Test("what waited for an owner that has given the model up is decided where it was written")
  mutating func waitedForNobody() {
    _ = owners.claim(0, .ann)
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    owners.cell.step()
    _ = owners.propose(0, .ann, 2, .delete(Names.owner))
    #expect(owners.cell.step()[1].outcomes(.ben)[1] == .committed(1))
    owners.cell.forward(from: 1, to: 0, as: OwnerCell.hub)
    owners.cell.step()
    #expect(owners.cell.head(0)?.version == 1 && owners.cell.lastStored(0, .ben) == 1, "it came too late")
  }

  @Test("what is written while the owner's hub is out of reach waits as long as a lease, then nobody owns the model")
  mutating func lostHub() {
    _ = owners.claim(0, .ann)
    owners.cell.cut(from: 1)
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    owners.cell.now += 9_999
    owners.cell.tick(1)
    #expect(owners.cell.step()[1].outcomes(.ben).isEmpty && owners.cell.recordedOwner(1) != nil)
    owners.cell.now += 1
    owners.cell.tick(1)
    #expect(owners.cell.step(24)[1].outcomes(.ben)[1] == .committed(1))
    #expect(owners.cell.recordedOwner(0) == nil)
    // The hub that was out of reach asks nobody either.
    #expect(owners.cell.write(0, .ann, 1, "on", "2")[1] == .committed(2))
    #expect(owners.claim(1, .ben)?.isCommitted == true)
  }

  @Test("a hub that is cut from the log waits for it, and is not called again and again for a lost owner")
  mutating func cutOff() {
    _ = owners.claim(0, .ann)
    owners.cell.cut(from: 1)
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    owners.cell.handle(1).setCut(true)
    owners.cell.now += 10_000
    owners.cell.tick(1)
    owners.cell.tick(1)
    #expect(owners.cell.nextDeadline(1) > owners.cell.now)
    owners.cell.handle(1).setCut(false)
    #expect(owners.cell.step(40)[1].outcomes(.ben)[1] == .committed(1))
  }

  @Test("a question about fields that get new numbers meanwhile is no question any more")
  mutating func renumbered() throws {
    owners = OwnerCell(deletedNames: 1)
    owners.enter(0, .cat)
    let topic = owners.cell.topic(0)
    owners.cell.send(
      0, .ann,
      .propose([
        .of(1, [.set("a", "1"), .set("b", "1"), .set("c", "1")], topic: topic),
        .of(2, [.delete("a"), .delete("c")], topic: topic),
      ]))
    owners.cell.step()
    _ = owners.claim(0, .ann)
    let second = WireOperation(verb: .set, field: .id(1), value: json("2"))
    let request = owners.question(owners.cell.send(0, .cat, .propose([.of(1, [second], topic: topic)])))
    #expect(request?.fields.map(\.name) == ["b"])
    owners.enter(1, .ben)
    #expect(owners.cell.topic(0) != topic && owners.cell.head(0)?.version == 2)
    owners.answer(request)
    _ = owners.propose(0, .ann, 2, .delete(Names.owner))
    owners.cell.step()
    #expect(owners.cell.head(0)?.version == 2 && (owners.cell.lastStored(0, .cat) ?? 0) == 0)
  }

  @Test("a hub that is drained asks the owner until that is sent away")
  mutating func drained() {
    _ = owners.claim(0, .ann)
    let admin = Speaker(9, "admin")
    owners.cell.send(0, admin, .drain(DrainRequest(withinMilliseconds: 60_000, isAnyway: true)))
    let request = owners.question(owners.writeElsewhere(1, "true"))
    #expect(owners.answer(request)[1].outcomes(.ben)[1] == .committed(1))
  }

  @Test("an owner that goes to another hub is asked there")
  mutating func moved() {
    _ = owners.claim(0, .ann)
    let ann = Speaker.ann.again(21)
    owners.enter(1, ann)
    #expect(owners.claim(1, ann)?.isCommitted == true)
    #expect(owners.cell.recordedOwner(0)?.hub == OwnerCell.starts[1])
    owners.cell.send(1, .ben, .propose([.of(1, [.set("on", "true")])]))
    let received = owners.cell.send(1, .ben, .propose([.of(2, [.set("on", "false")])]))
    #expect(received.outcomes(.ben).isEmpty && owners.cell.counters(1).approvals == 1)
    #expect(owners.cell.counters(1).passedOn == 0)
  }

  @Test("who owns a model outlives a fold of its records")
  mutating func folded() throws {
    owners.cell.write(0, .ann, 1, "on", "1")
    _ = owners.claim(0, .ann)
    try owners.cell.fold("lamp")
    owners.cell.open(start: 9, siblings: OwnerCell.starts)
    owners.cell.step()
    owners.enter(2, .cat)
    #expect(owners.cell.recordedOwner(2) == RecordedOwner(origin: Speaker.ann.origin, hub: OwnerCell.starts[0]))
    owners.cell.send(2, .cat, .propose([.of(1, [.set("on", "2")])]))
    #expect(owners.cell.step()[2].outcomes(.cat).isEmpty && owners.cell.counters(2).passedOn == 1)
  }

  @Test("a hub that does not have the owner decides nothing that is passed on to it")
  mutating func wrongHub() {
    _ = owners.claim(0, .ann)
    owners.cell.greet(1, OwnerCell.hub)
    owners.cell.forward(.of(1, [.set("on", "1")]), of: .cat, after: 9, to: 1, as: OwnerCell.hub)
    owners.cell.step()
    #expect(owners.cell.head(1)?.version == 0 && owners.cell.lastStored(1, .cat) == nil)
  }
}
