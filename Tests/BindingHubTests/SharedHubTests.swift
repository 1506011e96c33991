import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Hubs that share a log")
struct SharedHubTests {
  @Test("what one hub commits, the peers of the others receive, under the same versions")
  func followed() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    let sent = cell.send(0, .ann, .propose([.of(1, [.set("level", "1")])]))
    #expect(sent.outcomes(.ann).isEmpty, "nothing is acknowledged before it is stored")
    let received = cell.step()
    #expect(received[0].outcomes(.ann)[1] == .committed(1))
    #expect(received[1].commits().map(\.version) == [1])
    #expect(cell.head(0)?.digest == cell.head(1)?.digest && cell.head(1)?.version == 1)
    #expect(cell.counters(1).followedBatches == 1)
  }

  @Test("a model named for the first time is loaded before its join is answered, never told as empty")
  func loaded() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.hello(1, .ben)
    cell.handle(1).setTailHeld(true)
    cell.write(0, .ann, 1, "level", "1")
    let early = cell.join(1, .ben)
    #expect(early.joined(.ben).isEmpty)
    #expect(cell.step()[1].joined(.ben).map(\.version) == [1])
  }

  @Test("proposals that another hub was before are decided again here, and their peers hear nothing of it")
  func decidedAgain() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.send(0, .ann, .propose([.of(1, [.set("level", "1")])]))
    let tried = cell.send(1, .ben, .propose([.of(1, [.set("level", "2")]), .of(2, [.set("on", "true")])]))
    #expect(tried.outcomes(.ben).isEmpty)
    let received = cell.step()
    #expect(received[0].outcomes(.ann)[1] == .committed(1))
    #expect(received[1].outcomes(.ben) == [1: .committed(2), 2: .committed(3)])
    #expect(cell.counters(1).movedBatches == 1 && cell.counters(1).retries == 0)
    #expect(cell.head(0)?.digest == cell.head(1)?.digest)
  }

  @Test("of two writes on one condition at two hubs one becomes a conflict")
  func compared() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.write(0, .ann, 1, "level", "0")
    let condition = WireCondition.unchanged("level", since: 1)
    cell.send(0, .ann, .propose([.of(2, [.set("level", "1")], conditions: [condition])]))
    cell.send(1, .ben, .propose([.of(1, [.set("level", "2")], conditions: [condition])]))
    let received = cell.step()
    #expect(received[0].outcomes(.ann)[2] == .committed(2))
    #expect(received[1].outcomes(.ben)[1]?.conflict?.version == 2)
  }

  @Test("a hub that is cut from the log acknowledges nothing, and what it had sent is carried out once")
  func cutOff() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.handle(0).setCut(true)
    cell.send(0, .ann, .propose([.of(1, [.set("level", "1")])]))
    var received = cell.step(100)
    #expect(received[0].outcomes(.ann).isEmpty && cell.head(0)?.version == 0)
    #expect(cell.counters(0).unknownBatches > 0)
    cell.write(1, .ben, 1, "on", "true")
    cell.handle(0).setCut(false)
    received = cell.step(100)
    #expect(received[0].outcomes(.ann)[1] == .committed(2))
    #expect(cell.head(0)?.digest == cell.head(1)?.digest && cell.head(1)?.version == 2)
  }

  @Test("a peer that goes on at another hub is known there, and a repeated number gets its outcome")
  func movedPeer() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.handle(1).setTailHeld(true)
    cell.write(0, .ann, 1, "level", "1")
    let again = Speaker.ann.again(9)
    let welcome = cell.hello(1, again).welcome(again)
    #expect(welcome?.knewIdentity == true)
    let answer = cell.join(1, again, Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1))
    let received = answer + cell.step()[1]
    #expect(received.joined(again).map(\.lastDecided) == [1])
    #expect(cell.write(1, again, 1, "level", "1")[1] == .committed(1))
    #expect(cell.write(1, again, 2, "level", "2")[2] == .committed(2))
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

  @Test("a record that would forget a writer of this hub raises its number again")
  func recalled() {
    var cell = CellBench { $0.identityMilliseconds = 1_000 }
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.write(0, .ann, 1, "level", "1")
    // The other hub has not heard of it for long, and the beat at which writers are forgotten comes once an hour.
    for _ in 0..<3_600 {
      cell.now += 1_000
      cell.send(0, .ann, .alive(Alive(heartbeat: 0)))
      cell.send(1, .ben, .alive(Alive(heartbeat: 0)))
      cell.act(1) { $0.tick(time: $1, into: &$2) }
    }
    cell.step(40)
    #expect(cell.lastStored(0, .ann) == 1 && cell.lastStored(1, .ann) == 1)
    #expect(cell.write(0, .ann, 2, "level", "2")[2] == .committed(2))
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

  @Test("a model removed by one hub and made again goes on after its last version at all")
  func removed() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.write(0, .ann, 1, "level", "1")
    #expect(cell.head(1)?.version == 1)
    cell.send(0, .ann, .propose([.of(2, [.delete("level")], confirmed: 1)]))
    cell.step()
    cell.confirm(0, .ann, 2)
    cell.send(0, .ann, .leave(Leave()))
    cell.step(40)
    #expect(cell.counters(0).removedModels == 1)
    #expect(cell.head(0) == nil && cell.head(1) == nil)
    cell.live(1, .ben)
    #expect(cell.write(1, .ben, 1, "level", "3")[1] == .committed(3))
    cell.live(0, .cat)
    #expect(cell.head(0)?.version == 3 && cell.head(0)?.digest == cell.head(1)?.digest)
  }

  @Test("a clock that is a day ahead leaves no later commit before its own")
  func clocks() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.clocks[1] = 86_400_000
    cell.write(1, .ben, 1, "on", "true")
    cell.send(0, .ann, .propose([.of(1, [.set("level", "1")])]))
    let times = cell.step()[0].commits().map(\.time)
    #expect(times.allSatisfy { $0 >= 86_400_000 } && times.count == 1)
  }

  @Test("a hub that starts names all models below a prefix, none before it has them all")
  func prefix() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.write(0, .ann, 1, "level", "1")
    cell.open()
    let hello = Hello(identity: Speaker.ben.identity, leaseMilliseconds: 60_000, capabilities: [])
    cell.send(2, .ben, .hello(hello))
    var received = cell.step()[2]
    received = received + cell.send(2, .ben, .join([Join(request: 1, prefix: "")]))
    received = received + cell.step(40)[2]
    #expect(received.announces(.ben).flatMap(\.models).map(\.model) == ["lamp"])
    #expect(received.announces(.ben).last?.isComplete == true)
  }

  @Test("a proposal that makes more bytes than the store takes is refused, and those beside it are not")
  func tooLarge() {
    var cell = CellBench {
      ($0.limits.maxProposalBytes, $0.limits.maxValueBytes, $0.limits.maxFrameBytes) = (1_500_000, 1_200_000, 2_000_000)
    }
    cell.live(0, .ann)
    #expect(cell.write(0, .ann, 1, "a", "1")[1] == .committed(1))
    #expect(cell.write(0, .ann, 2, "b", text(ofBytes: 1_100_000))[2]?.refusal == .proposalTooLarge)
    #expect(cell.write(0, .ann, 3, "c", "1")[3] == .committed(2))
    #expect(cell.head(0)?.digest == cell.head(1)?.digest && cell.head(1)?.version == 2)
  }
}
