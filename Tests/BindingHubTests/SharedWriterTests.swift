import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Writers of a log that several hubs share")
struct SharedWriterTests {
  @Test("a peer that goes on at another hub is known there, and a repeated number gets its outcome")
  func movedPeer() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.handle(1).setTailHeld(true)
    cell.write(0, .ann, 1, "level", "1")
    let again = Speaker.ann.again(9)
    let welcome = cell.hello(1, again, isResuming: true).welcome(again)
    #expect(welcome?.knewIdentity == true)
    let answer = cell.join(1, again, Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1))
    let received = answer + cell.step()[1]
    #expect(received.joined(again).map(\.lastDecided) == [1])
    #expect(cell.write(1, again, 1, "level", "1")[1] == .committed(1))
    #expect(cell.write(1, again, 2, "level", "2")[2] == .committed(2))
  }

  @Test("numbers that the log itself does not have are raised, by a record")
  func raisedNumbers() {
    var cell = CellBench()
    cell.live(1, .ben)
    cell.hello(1, .ann)
    let received = cell.join(1, .ann, Join(request: 1, model: "lamp", unacknowledged: 3)) + cell.step(24)[1]
    #expect(received.joined(.ann).map(\.lastDecided) == [2])
    #expect(cell.counters(1).joinsAhead == 1 && cell.counters(1).raisedMarks == 1)
  }

  @Test("a writer that leaves is forgotten by every hub, by a record; one that is confirmed is told so")
  func forgotten() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.write(0, .ann, 1, "level", "1")
    #expect(cell.lastStored(1, .ann) == 1)
    cell.confirm(0, .ann, 1)
    cell.send(0, .ann, .leave(Leave()))
    cell.step()
    #expect(cell.lastStored(0, .ann) == nil && cell.lastStored(1, .ann) == nil)
  }

  @Test("a writer of this hub that has left at another one says hello again before it writes")
  func forgottenElsewhere() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.write(0, .ann, 1, "level", "1")
    cell.hello(1, .ann, isResuming: true)
    cell.join(1, .ann, Join(request: 1, model: "lamp", unacknowledged: 2))
    cell.step()
    cell.confirm(1, .ann, 1)
    cell.send(1, .ann, .leave(Leave()))
    cell.step(40)
    #expect(cell.lastStored(0, .ann) == nil && cell.lastStored(1, .ann) == nil)
    let next = PeerMessage.propose([.of(2, [.set("level", "2")], topic: cell.topic(0))])
    #expect(cell.send(0, .ann, next).errors(.ann).map(\.code) == [.unknownSession])
    cell.hello(0, .ann, isResuming: true)
    cell.join(0, .ann, Join(request: 2, model: "lamp", unacknowledged: 2))
    cell.step()
    #expect(cell.write(0, .ann, 2, "level", "2")[2] == .committed(2))
  }

  @Test(
    "what a writer has left at a hub that was stopped is not decided again, though records that decided it are gone",
    arguments: [false, true])
  func forgottenUnseen(isRemoved: Bool) throws {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.handle(0).setTailHeld(true)
    // The first hub stops before it reads this.
    let left = PeerMessage.propose([.of(1, [.set("level", "1")], topic: cell.topic(0))])
    cell.live(1, .ann)
    cell.write(1, .ann, 1, "level", "1")
    cell.send(1, .ann, .propose([.of(2, [isRemoved ? .delete("level") : .set("level", "2")], confirmed: 1)]))
    cell.step()
    cell.confirm(1, .ann, 2)
    cell.send(1, .ann, .leave(Leave()))
    cell.step(40)
    if !isRemoved { try cell.fold("lamp") }
    cell.log.compact()
    cell.handle(0).setTailHeld(false)
    cell.step(40)
    #expect(cell.lastStored(0, .ann) == nil && cell.head(0)?.version == 2)
    #expect(cell.send(0, .ann, left).errors(.ann).map(\.code) == [.unknownSession])
    cell.step()
    #expect(cell.head(0)?.version == 2)
  }

  @Test("what a hub loads of many foreign writers is bounded, however few outcomes they confirm")
  func bounded() throws {
    var record = WriterRecord(origin: Speaker.ann.origin)
    for number in 1...100_000 as ClosedRange<ProposalNumber> {
      // Interleaved with others, so that no two are one run.
      record.rememberCommit(number, Version(number) * 2)
      record.raise(to: number)
    }
    #expect(record.unconfirmedCount <= 2 * Int(ModelCompactor.outcomesKept))
    #expect(record.outcome(of: 100_000) == .committed(200_000))
  }
}
