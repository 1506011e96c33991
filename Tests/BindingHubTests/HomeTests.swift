import BindingProtocol
import Testing

@testable import BindingHub

@Suite("The home of a model")
struct HomeTests {
  /// Two hubs: the first one is the home of "lamp", and the second passes on after one lost batch.
  private var cell: CellBench
  private static let hub = Speaker(40, "hub 1")

  init() throws {
    cell = CellBench(starts: try HomeTests.starts()) { $0.lossesBeforeHome = 1 }
    cell.live(0, .ann)
    cell.live(1, .ben)
    cell.greet(0, HomeTests.hub)
  }

  /// Numbers of starts, each of a greater weight than the next one.
  private static func starts(_ count: Int = 2) throws -> [StartNumber] {
    var starts = [HubBench.start]
    var parts = SiblingParts(count: 1)
    for other in StartNumber(1)...1_000 where starts.count < count {
      _ = parts.reached(0, isStranger: false, homeStart: starts[starts.count - 1])
      if parts.home(of: "lamp", start: other) == 0 { starts.append(other) }
    }
    try #require(starts.count == count)
    return starts
  }

  /// Both write at once. The first hub is first.
  private mutating func race(_ number: ProposalNumber = 1) -> [Received] {
    cell.send(0, .ann, .propose([.of(number, [.set("a", "\(number)")])]))
    cell.send(1, .ben, .propose([.of(number, [.set("b", "\(number)")])]))
    return cell.step()
  }

  @Test("a hub whose batch has lost passes its proposals on, and answers them from the log")
  mutating func passedOn() {
    var received = race()
    #expect(received[0].outcomes(.ann)[1] == .committed(1) && received[1].outcomes(.ben).isEmpty)
    #expect(cell.counters(1).movedBatches == 1 && cell.counters(1).passedOn == 1)
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    received = cell.step()
    #expect(received[1].outcomes(.ben)[1] == .committed(2))
    #expect(received[0].commits().map(\.version) == [2])
    // From now on nothing is decided here.
    cell.send(1, .ben, .propose([.of(2, [.set("b", "2")]), .of(3, [.delete("c")])]))
    #expect(cell.step()[1].outcomes(.ben).isEmpty)
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    received = cell.step()
    #expect(received[1].outcomes(.ben) == [2: .committed(3), 3: .unchanged])
    #expect(cell.counters(1).movedBatches == 1 && cell.counters(0).forwarded == 3)
    #expect(cell.head(0)?.digest == cell.head(1)?.digest && cell.head(1)?.version == 3)
  }

  @Test("what a silent home does not decide is decided here, once, also if the home decides it later")
  mutating func silentHome() {
    _ = race()
    cell.now += ModelHome.answerMilliseconds - 1
    cell.tick(1)
    #expect(cell.step()[1].outcomes(.ben).isEmpty)
    cell.now += 1
    cell.tick(1)
    #expect(cell.step()[1].outcomes(.ben)[1] == .committed(2))
    #expect(cell.counters(1).takenBack == 1)
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    cell.step()
    #expect(cell.head(0)?.version == 2 && cell.lastStored(0, .ben) == 1)
    // For a while it decides by itself.
    _ = race(2)
    #expect(cell.counters(1).passedOn == 1 && cell.lastStored(1, .ben) == 2)
    cell.now += ModelHome.leastAloneMilliseconds
    _ = race(3)
    #expect(cell.counters(1).passedOn == 2 && cell.counters(1).homesChosen == 2)
  }

  @Test("a home that stays silent is asked ever less often, and as often as before once it has decided something")
  mutating func silentAgain() {
    /// Lets the home be silent, and then this hub be alone for just less than so long, and for so long.
    func alone(_ milliseconds: UInt64, from number: ProposalNumber) {
      cell.now += ModelHome.answerMilliseconds
      cell.tick(1)
      cell.step()
      let passedOn = cell.counters(1).passedOn
      cell.now += milliseconds - 1
      _ = race(number)
      #expect(cell.counters(1).passedOn == passedOn, "after \(milliseconds - 1) ms")
      cell.now += 1
      _ = race(number + 1)
      #expect(cell.counters(1).passedOn == passedOn + 1, "after \(milliseconds) ms")
    }
    _ = race()
    for (index, milliseconds) in [500, 1_000, 2_000, 4_000, 8_000, 8_000].enumerated() {
      alone(UInt64(milliseconds), from: ProposalNumber(2 + 2 * index))
    }
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    #expect(cell.step()[1].outcomes(.ben)[13] != nil)
    _ = race(14)
    alone(500, from: 15)
  }

  @Test("a home that was chosen before all hubs were reached is left for the one that all of them choose")
  mutating func laterHome() throws {
    let starts = try HomeTests.starts(3)
    cell = CellBench(starts: [starts[0], starts[2], starts[1]]) { $0.lossesBeforeHome = 1 }
    cell.cut(from: 1)
    for hub in 0..<3 { cell.live(hub, [.ann, .ben, .cat][hub]) }
    for hub in [0, 2] { cell.greet(hub, HomeTests.hub) }
    _ = race()
    cell.reach(from: 1, start: starts[0], capabilities: [Capability.forward, Capability.owners])
    #expect(cell.takeRequests(of: 1).isEmpty)
    // What was passed on to the second hub has an outcome first, so that a writer's proposals stay in order.
    cell.send(1, .ben, .propose([.of(2, [.set("b", "2")])]))
    #expect(cell.step()[1].outcomes(.ben).isEmpty && cell.counters(1).passedOn == 1)
    cell.forward(from: 1, over: 1, to: 2, as: HomeTests.hub)
    #expect(cell.step()[1].outcomes(.ben) == [1: .committed(2), 2: .committed(3)])
    cell.send(0, .ann, .propose([.of(2, [.set("a", "2")])]))
    cell.send(1, .ben, .propose([.of(3, [.set("b", "3")])]))
    cell.step()
    #expect(cell.counters(1).passedOn == 2 && cell.takeRequests(of: 1, over: 1).isEmpty)
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    #expect(cell.step()[1].outcomes(.ben)[3] == .committed(5))
    #expect(cell.counters(1).takenBack == 0)
  }

  @Test("what was passed on over a link that is lost is decided here, without a wait")
  mutating func lostLink() {
    _ = race()
    cell.cut(from: 1)
    #expect(cell.step()[1].outcomes(.ben)[1] == .committed(2))
    _ = race(2)
    #expect(cell.counters(1).passedOn == 1, "no home is left")
  }

  @Test("after a while a hub decides again by itself, once all is answered that it has passed on")
  mutating func term() {
    _ = race()
    cell.now += ModelHome.answerMilliseconds - 1
    cell.forward(from: 1, to: 0, as: HomeTests.hub)
    cell.step()
    cell.now += ModelHome.termMilliseconds
    #expect(cell.write(1, .ben, 2, "b", "2")[2] == .committed(3))
    #expect(cell.counters(1).passedOn == 1 && cell.counters(1).takenBack == 0)
  }

  @Test("a hub that is passed something decides it, and passes nothing of that model on")
  mutating func bothAreHomes() {
    _ = race()
    cell.greet(1, HomeTests.hub)
    let forward = Forward(
      ForwardHead(model: "lamp", record: 1, identity: Speaker.cat.identity, user: nil), [.of(1, [.set("c", "1")])])
    cell.send(1, HomeTests.hub, .forward(forward))
    #expect(cell.step()[1].outcomes(.ben)[1] == .committed(2))
    #expect(cell.lastStored(1, .cat) == 1 && cell.counters(1).takenBack == 1)
  }

  @Test("a number that is too early waits for the records before it")
  mutating func early() {
    cell.handle(0).setTailHeld(true)
    cell.write(1, .ben, 1, "b", "1")
    cell.forward(.of(2, [.set("b", "2")]), of: .ben, after: 1, to: 0, as: HomeTests.hub)
    #expect(cell.counters(0).forwarded == 1 && cell.lastStored(0, .ben) == nil, "it does not know number 1")
    cell.handle(0).setTailHeld(false)
    cell.step()
    #expect(cell.lastStored(1, .ben) == 2 && cell.head(1)?.version == 2)
  }

  @Test("a first number is not decided if its writer was forgotten after it was passed on")
  mutating func forgotten() {
    cell.write(1, .ben, 1, "b", "1")
    cell.confirm(1, .ben, 1)
    cell.send(1, .ben, .leave(Leave()))
    cell.step()
    #expect(cell.lastStored(0, .ben) == nil, "all have forgotten it")
    cell.forward(.of(1, [.set("b", "1")]), of: .ben, after: 0, to: 0, as: HomeTests.hub)
    cell.step()
    #expect(cell.head(0)?.version == 1 && cell.lastStored(0, .ben) == nil)
    cell.forward(.of(1, [.set("b", "7")]), of: .ben, after: 9, to: 0, as: HomeTests.hub)
    cell.step()
    #expect(cell.head(0)?.version == 2, "passed on by a hub that had seen it")
  }

  @Test("a first number is not decided if the model was removed, and made again, after it was passed on")
  mutating func removed() {
    cell.send(1, .ben, .join([Join(request: 2, model: "fan")]))
    cell.step()
    let topic = cell.topic(1, of: "fan")
    cell.send(1, .ben, .propose([.of(1, [.set("x", "1")], topic: topic), .of(2, [.delete("x")], topic: topic)]))
    cell.step()
    cell.send(1, .ben, .alive(Alive(heartbeat: 0, entries: [AliveEntry(topic: topic, confirmed: 2, applied: 2)])))
    cell.send(1, .ben, .leave(Leave(topics: [topic])))
    cell.step(30)
    #expect(cell.head(1, "fan") == nil)
    cell.live(1, .cat)
    cell.send(1, .cat, .join([Join(request: 2, model: "fan")]))
    cell.step()
    let again = cell.topic(1, of: "fan")
    cell.send(1, .cat, .propose([.of(1, [.set("y", "1")], topic: again)]))
    cell.step()
    let before = cell.head(1, "fan")?.version
    cell.forward(.of(1, [.set("x", "1")]), of: .ben, in: "fan", after: 1, to: 0, as: HomeTests.hub)
    cell.step()
    #expect(before != nil && cell.head(1, "fan")?.version == before && cell.head(0, "fan")?.version == before)
  }

  @Test("only another hub may pass proposals on, and only of writers whose secrets it knows")
  mutating func liars() {
    let head = ForwardHead(model: "lamp", record: 0, identity: Speaker.ben.identity, user: "root")
    let forward = Forward(head, [.of(1, [.set("a", "1")])])
    #expect(cell.send(0, .ann, .forward(forward)).errors(.ann).map(\.code) == [.notPermitted])
    var stolen = forward
    stolen.head.identity.secret = Secret(high: 1, low: 1)
    #expect(cell.send(0, HomeTests.hub, .forward(stolen)).errors(HomeTests.hub).map(\.code) == [.notYours])
    cell.step()
    #expect(cell.head(0)?.version == 0 && cell.counters(0).wrongSecrets == 1)
    cell.send(0, HomeTests.hub, .forward(forward))
    let commits = cell.step()[1].commits()
    #expect(commits.map(\.version) == [1] && cell.lastStored(0, .ben) == 1)
    #expect(cell.writer(0, .ben)?.user == nil, "a hub without keys names no users")
  }

  @Test("a model that only other hubs use is loaded to decide what they pass on")
  mutating func loaded() {
    cell.send(1, .ben, .join([Join(request: 2, model: "fan")]))
    cell.step()
    cell.write(1, .ben, 1, "b", "1")
    cell.forward(.of(1, [.set("c", "1")]), of: .cat, in: "fan", after: 0, to: 0, as: HomeTests.hub)
    cell.step()
    #expect(cell.head(1, "fan")?.version == 1 && cell.head(0, "fan")?.version == 1)
  }

  @Test("all hubs that reach each other agree, and similar names have different homes")
  func agreement() {
    let starts: [StartNumber] = [7, 8, 900_001]
    var counts: [StartNumber: Int] = [:]
    for number in 0..<300 {
      let homes = starts.indices.map { own in
        var parts = SiblingParts(count: 2)
        let others = starts.indices.filter { $0 != own }
        for (link, other) in others.enumerated() {
          _ = parts.reached(link, isStranger: false, homeStart: starts[other])
        }
        return starts[parts.home(of: "kiosk-\(number)", start: starts[own]).map { others[$0] } ?? own]
      }
      #expect(Set(homes).count == 1)
      counts[homes[0], default: 0] += 1
    }
    #expect(counts.values.allSatisfy { $0 > 50 }, "\(counts)")
  }
}
