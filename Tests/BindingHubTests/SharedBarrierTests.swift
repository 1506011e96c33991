import BindingProtocol
import Testing

@testable import BindingHub

/// Two hubs over one log, which follow each other. "ann" is at the first one, "ben" at the second one, both in "lamp",
/// whose version is 1.
private struct BarrierCell {
  var cell = CellBench(hubs: 0)
  static let hubs = [Speaker(40, "hub 0"), Speaker(41, "hub 1")]

  init(maxBarriers: Int? = nil, counts: Bool = true) {
    for (start, other) in [(HubBench.start, 7), (7, HubBench.start)] as [(StartNumber, StartNumber)] {
      cell.open(start: start, siblings: [other]) { if let maxBarriers { $0.maxBarriers = maxBarriers } }
    }
    cell.step()
    enter(0, .ann)
    enter(1, .ben)
    _ = cell.write(0, .ann, 1, "level", "0.5")
    // Each hub has a session of the other one.
    for hub in 0..<2 { cell.greet(hub, BarrierCell.hubs[1 - hub], counts: counts) }
  }

  mutating func enter(_ hub: Int, _ peer: Speaker, _ model: String = "lamp") {
    cell.hello(hub, peer, capabilities: [Capability.users, Capability.applied, Capability.ephemeral])
    cell.join(hub, peer, Join(request: 1, model: model))
    cell.step()
  }

  /// ann waits.
  mutating func wait(
    _ version: Version = 1, count: UInt32 = 0, timeout: UInt32 = 60_000, request: UInt32 = 9, in model: String = "lamp"
  ) -> Received {
    let topic = cell.topic(0, of: model)
    let epoch = model == "lamp" ? HubBench.epoch : Epoch(HubBench.start)
    return cell.send(
      0, .ann,
      .awaitApplied(
        AwaitApplied(
          request: request, topic: topic, epoch: epoch, version: version, count: count, timeoutMilliseconds: timeout)))
  }

  mutating func has(_ hub: Int, _ peer: Speaker, _ version: Version = 1) -> Received {
    let topic = cell.topic(hub)
    return cell.send(hub, peer, .has(version, topic: topic))
  }

  /// Delivers questions of the first hub to the second one.
  mutating func ask(_ questions: [CountApplied]) {
    cell.act(1) { machine, time, output in
      for question in questions { machine.handle(.counts(question), ofSibling: 0, time: time, into: &output) }
    }
  }

  mutating func ask(_ received: Received) { ask(received.counts(BarrierCell.hubs[1])) }

  /// Takes what the second hub tells the first one.
  mutating func takeCounted() -> [AppliedCount] {
    cell.takeRequests(of: 1).compactMap { if case .counted(let count) = $0 { count } else { nil } }
  }

  /// Delivers what the second hub tells the first one.
  mutating func deliver() -> [Awaited] {
    takeCounted().flatMap { cell.send(0, BarrierCell.hubs[1], .counted($0)).awaited(.ann) }
  }

  mutating func pass(_ milliseconds: UInt64) -> Received {
    cell.now += milliseconds
    return cell.act(0) { $0.tick(time: $1, into: &$2) }
  }
}

extension Received {
  fileprivate func counts(_ peer: Speaker) -> [CountApplied] {
    messages(to: peer).compactMap { if case .count(let count) = $0 { count } else { nil } }
  }
}

@Suite("Barriers over several hubs")
struct SharedBarrierTests {
  private let other = BarrierCell.hubs[1]

  @Test("a barrier for all ends when the peers of all hubs have the version")
  func all() {
    var cell = BarrierCell()
    let asked = cell.wait()
    #expect(asked.counts(other).map(\.version) == [1] && asked.counts(other).first?.isOfAll == true)
    cell.ask(asked)
    #expect(cell.has(0, .ann).awaited(.ann).isEmpty)
    #expect(cell.deliver().isEmpty)
    _ = cell.has(1, .ben)
    let end = cell.deliver()
    #expect(end == [Awaited(session: Speaker.ann.session, request: 9, applied: 2, of: 2, end: .complete)])
  }

  @Test("a barrier for N peers ends when N have the version, wherever they are and whenever they came")
  func number() {
    var cell = BarrierCell()
    cell.ask(cell.wait(count: 3))
    _ = cell.has(0, .ann)
    _ = cell.has(1, .ben)
    #expect(cell.deliver().isEmpty)
    cell.enter(1, .cat)
    _ = cell.has(1, .cat)
    #expect(cell.deliver().map(\.applied) == [3])
  }

  @Test("a barrier that times out names the missing peers of other hubs")
  func missing() {
    var cell = BarrierCell()
    cell.ask(cell.wait(timeout: 2_000))
    _ = cell.has(0, .ann)
    #expect(cell.deliver().isEmpty)
    let end = cell.pass(2_000).awaited(.ann)
    #expect(
      end == [Awaited(session: Speaker.ann.session, request: 9, applied: 1, of: 2, end: .incomplete, missing: ["ben"])])
  }

  @Test(
    "a hub that does not answer, or is too old to be asked, keeps a barrier for all from being met",
    arguments: [true, false])
  func silent(_ counts: Bool) {
    var cell = BarrierCell(counts: counts)
    let asked = cell.wait(timeout: 2_000)
    #expect(asked.counts(other).isEmpty == !counts)
    #expect(cell.has(0, .ann).awaited(.ann).isEmpty)
    let end = cell.pass(2_000).awaited(.ann)
    #expect(end.map(\.end) == [.incomplete] && end.first?.missing == ["hub 1"])
  }

  @Test("the peers of a hub that is gone no longer count")
  func gone() {
    var cell = BarrierCell()
    cell.ask(cell.wait())
    #expect(cell.has(0, .ann).awaited(.ann).isEmpty)
    #expect(cell.cell.send(0, other, .leave(Leave())).awaited(.ann).isEmpty)
    let end = cell.cell.cut(from: 0).awaited(.ann)
    #expect(end == [Awaited(session: Speaker.ann.session, request: 9, applied: 1, of: 1, end: .complete)])
  }

  @Test("a hub that this one reaches, and that does not reach this one, has peers all the same")
  func oneWay() {
    var cell = BarrierCell()
    cell.cell.send(0, other, .leave(Leave()))
    #expect(cell.wait(timeout: 2_000).counts(other).isEmpty)
    #expect(cell.has(0, .ann).awaited(.ann).isEmpty)
    let end = cell.pass(2_000).awaited(.ann)
    #expect(end.map(\.end) == [.incomplete] && end.first?.missing == ["a hub without a link to this one"])
  }

  @Test("a hub that comes back, in another session, is asked again and awaited")
  func back() {
    var cell = BarrierCell()
    cell.ask(cell.wait())
    _ = cell.has(0, .ann)
    let later = other.again(42)
    let asked = cell.cell.greet(0, later, counts: true)
    #expect(asked.awaited(.ann).isEmpty && asked.counts(later).map(\.model) == ["lamp"])
    cell.ask(asked.counts(later))
    _ = cell.has(1, .ben)
    let counted = cell.takeCounted()
    #expect(counted.last.map { [$0.applied, $0.of] } == [1, 1])
    let end = counted.flatMap { cell.cell.send(0, later, .counted($0)).awaited(.ann) }
    #expect(end.map(\.applied) == [2])
  }

  @Test("a hub that was restarted uses numbers again; they mean another question")
  func restarted() {
    var cell = BarrierCell()
    var asked = cell.wait().counts(other)
    cell.ask(asked)
    _ = cell.has(1, .ben)
    #expect(cell.takeCounted().map(\.applied) == [0, 1])
    cell.cell.reach(from: 1, start: 8, capabilities: [])
    asked[0].version = 2
    cell.ask(asked)
    #expect(cell.takeCounted().map(\.applied) == [0])
  }

  @Test("a hub whose peers do not use the model has nobody to wait for")
  func unused() {
    var cell = BarrierCell()
    cell.cell.send(1, .ben, .leave(Leave()))
    cell.cell.act(1) { machine, _, _ in machine.letUnusedGo(leftBy: .max) }
    cell.ask(cell.wait())
    _ = cell.has(0, .ann)
    #expect(cell.deliver().map(\.of) == [1])
  }

  @Test("a question that is repeated is answered again, about those who were there at the first one")
  func again() {
    var cell = BarrierCell()
    cell.ask(cell.wait())
    #expect(cell.takeCounted().map(\.of) == [1])
    cell.enter(1, .cat)
    let asked = cell.pass(1_000)
    #expect(asked.counts(other).count == 1)
    cell.ask(asked)
    #expect(
      cell.takeCounted() == [AppliedCount(request: asked.counts(other)[0].request, applied: 0, of: 1, missing: ["ben"])]
    )
  }

  @Test("a hub tells no more once it is no longer asked")
  func forgotten() {
    var cell = BarrierCell()
    let asked = cell.wait()
    cell.ask(asked)
    #expect(cell.takeCounted().count == 1)
    cell.cell.now += UInt64(asked.counts(other)[0].timeoutMilliseconds)
    cell.cell.tick(1)
    _ = cell.has(1, .ben)
    #expect(cell.takeCounted().isEmpty && cell.cell.counters(1).barriersMissed == 0)
  }

  @Test("a hub of another log that was named by mistake has nobody to wait for")
  func stranger() {
    var cell = BarrierCell()
    cell.cell.reach(from: 1, start: HubBench.start, capabilities: [], log: 4)
    cell.ask(cell.wait())
    _ = cell.has(0, .ann)
    #expect(cell.deliver().map(\.of) == [1])
  }

  @Test("the versions of an ephemeral model are each hub's own, so other hubs are not asked")
  func ephemeral() {
    var cell = BarrierCell()
    let model = Names.ephemeral("lamp")
    cell.cell.join(0, .ann, Join(request: 2, model: model))
    cell.cell.step()
    let waiting = cell.wait(0, in: model)
    #expect(waiting.counts(other).isEmpty && waiting.awaited(.ann).allSatisfy { $0.end != .otherEpoch })
  }

  @Test("a hub whose barriers are full refuses a question, and counts that")
  func full() {
    var cell = BarrierCell(maxBarriers: 1)
    let asked = cell.wait().counts(other)
    var second = asked[0]
    second.request += 1
    cell.ask(asked + [second])
    #expect(cell.takeCounted().map(\.request) == asked.map(\.request))
    #expect(cell.cell.counters(1).barriersRefused == 1)
  }

  @Test("only another hub is believed what it counts, and only where it was asked")
  func liar() {
    var cell = BarrierCell()
    cell.enter(0, .cat)
    let asked = cell.wait().counts(other)
    _ = cell.has(0, .ann)
    let lie = AppliedCount(request: asked[0].request, applied: 0, of: 0)
    let refused = cell.cell.send(0, .cat, .counted(lie))
    #expect(refused.errors(.cat).map(\.code) == [.unknownKind] && refused.awaited(.ann).isEmpty)
    var unasked = lie
    unasked.request += 1
    #expect(cell.cell.send(0, other, .counted(unasked)).awaited(.ann).isEmpty)
    #expect(cell.cell.send(0, other, .counted(lie)).awaited(.ann).map(\.of) == [1])
  }
}
