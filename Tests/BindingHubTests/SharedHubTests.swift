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

  @Test("a hub cut from the log welcomes new peers and tells them so, and sends those that may have written away")
  func cutHub() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.handle(1).setCut(true)
    cell.step()
    let again = Speaker.ann.again(9)
    #expect(cell.hello(1, again, isResuming: true).errors(again).map(\.code) == [.closing])
    #expect(cell.hello(1, Speaker.ben.again(10)).welcome(Speaker.ben.again(10)) != nil)
    cell.handle(1).setCut(false)
    cell.step(30)
    #expect(cell.hello(1, again, isResuming: true).welcome(again) != nil)
  }

  @Test("a peer that has seen more of its numbers decided elsewhere is answered once the model is loaded")
  func aheadByNumbers() {
    var cell = CellBench()
    // Whose join keeps the model there.
    cell.live(1, .ben)
    cell.live(1, .ann)
    cell.live(0, Speaker.ann.again(8))
    cell.handle(1).setCut(true)
    cell.write(0, Speaker.ann.again(8), 1, "level", "1")
    // What makes no version tells by its number alone that there is more.
    let condition = WireCondition.unchanged("level", since: 0)
    let late = PeerMessage.propose(
      [.of(2, [.set("level", "2")], conditions: [condition], topic: cell.topic(0))])
    #expect((cell.send(0, Speaker.ann.again(8), late) + cell.step()[0]).outcomes(.ann.again(8))[2]?.conflict != nil)
    let again = Speaker.ann.again(9)
    cell.hello(1, again)
    let join = Join(request: 1, model: "lamp", unacknowledged: 3)
    var received = cell.join(1, again, join)
    #expect(received.joined(again).isEmpty)
    cell.handle(1).setCut(false)
    received = received + cell.step()[1]
    #expect(received.joined(again).map(\.lastDecided) == [2])
    #expect(received.joined(again).map(\.version) == [1])
    let counters = cell.counters(1)
    #expect(counters.joinsAhead == 1)
    #expect(counters.raisedMarks == 0)
    #expect(counters.movedBatches == 0)
  }

  @Test("a join that is ahead is not answered from a load that began before it")
  func aheadOfLoad() {
    var cell = CellBench()
    cell.live(0, .ann)
    cell.hello(1, .ben)
    cell.hello(1, .cat)
    cell.handle(1).setTailHeld(true)
    cell.write(0, .ann, 1, "level", "1")
    var received = cell.join(1, .ben)
    received = received + cell.join(1, .cat, Join(request: 1, model: "lamp", epoch: HubBench.epoch, version: 1))
    // The first load's answer is older than the second join.
    received = received + cell.act(1) { $0.receive(.loaded(SharedHead("lamp"), .success(nil)), time: $1, into: &$2) }
    #expect(received.joined(.ben).isEmpty && received.joined(.cat).isEmpty)
    received = received + cell.step(24)[1]
    #expect(received.joined(.ben).map(\.version) == [1] && received.joined(.cat).map(\.version) == [1])
  }

  @Test("a hub that shares its log refuses an owner, whom the other hubs could not ask")
  func owner() {
    var cell = CellBench()
    cell.live(0, .ann)
    let name = Names.ephemeral("lamp")
    let asked = cell.send(0, .ann, .join([Join(request: 2, model: name)]))
    let subscribed = cell.subscribe(0, .ann, Topics.bytes(cell.topic(0, of: name)))
    guard let topic = (asked + subscribed + cell.step()[0]).joined(.ann).last?.topic else {
      Issue.record("the ephemeral model was not joined")
      return
    }
    let claim = PeerMessage.propose([.of(1, [.set(Names.owner, "\"ann\"")], topic: topic)])
    let answer = cell.send(0, .ann, claim) + cell.step()[0]
    #expect(answer.outcomes(.ann, topic: topic)[1]?.refusal == .notPermitted)
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

  @Test("a proposal that makes more bytes than the store takes is refused, and those beside it are not")
  func tooLarge() {
    var cell = CellBench {
      ($0.limits.maxProposalBytes, $0.limits.maxValueBytes, $0.limits.maxFrameBytes) = (1_500_000, 1_200_000, 2_000_000)
    }
    cell.live(0, .ann)
    cell.live(1, .ben)
    #expect(cell.write(0, .ann, 1, "a", "1")[1] == .committed(1))
    #expect(cell.write(0, .ann, 2, "b", text(ofBytes: 1_100_000))[2]?.refusal == .proposalTooLarge)
    #expect(cell.write(0, .ann, 3, "c", "1")[3] == .committed(2))
    #expect(cell.head(0)?.digest == cell.head(1)?.digest && cell.head(1)?.version == 2)
  }
}
