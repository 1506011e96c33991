import BindingProtocol
import Testing

@testable import BindingHub

/// An ephemeral model releases names of deleted fields too, while peers are in it.
@Suite struct EphemeralNamesTests {
  private var room = Room { $0.limits.maxModelFields = 40 }

  private func topic() -> Topic { room.hub.machine.topic(of: Room.name) ?? Topics.none }

  private func fields() -> Int { room.hub.machine.hub.models[1].fields.count }

  /// Sets and deletes N fields with new names.
  @discardableResult
  private mutating func wear(_ count: Int, from number: ProposalNumber) -> Received {
    let names = (0..<count).map { "n\(number)-\($0)" }
    return room.hub.send(
      .ann,
      .propose([
        .of(number, names.map { .set($0, "1") }, topic: topic()),
        .of(number + 1, names.map { .delete($0) }, topic: topic()),
      ]))
  }

  private mutating func comeBack(_ peer: Speaker, unacknowledged: ProposalNumber) -> Received {
    room.hub.hello(peer)
    return room.hub.join(peer, Join(request: 8, model: "lamp"), topic: HubBench.lamp)
      + room.hub.join(
        peer, Join(request: 9, model: Room.name, epoch: Room.epoch, version: 1, unacknowledged: unacknowledged),
        topic: topic())
  }

  private mutating func values() -> [String: String] {
    room.hub.read(Room.name, topic: topic()).values.filter { !$0.key.hasPrefix("@peer") }
  }

  @Test(
    "an ephemeral model under default limits takes 200,000 names in sequence while peers are in it")
  mutating func worn() {
    room = Room()
    room.write(.ben, 1, .set("kept", "1"))
    var number: ProposalNumber = 1
    for _ in 0..<200 {
      wear(1_000, from: number)
      number += 2
      if !room.hub.machine.hasOpenSession(Speaker.ann.session) { _ = comeBack(.ann, unacknowledged: number) }
    }
    #expect(room.hub.counters.refusals[.modelFull] ?? 0 == 0)
    #expect(room.hub.counters.renumberedModels == 2)
    #expect(fields() < 100_000)
    _ = comeBack(.ben, unacknowledged: 2)
    #expect(values() == ["kept": "1"])
  }

  @Test("members of a renumbered ephemeral model receive earlier outcomes, say hello again and learn new numbers")
  mutating func sessions() {
    room.write(.ben, 1, .set("kept", "1"))
    let before = topic()
    let received = wear(30, from: 1)
    #expect(room.hub.counters.renumberedModels == 1)
    #expect(received.outcomes(.ann, topic: before).keys.sorted() == [1, 2])
    for peer in [Speaker.ann, .ben] {
      #expect(received.errors(peer).map(\.code) == [.unknownSession] && received.errors(peer).first?.isFatal == true)
    }
    #expect(topic() != before)
    let back = comeBack(.ben, unacknowledged: 2)
    let joined = back.joined(.ben).first { $0.model == Room.name }
    #expect(joined?.follows == .snapshot && joined?.lastDecided == 1 && joined?.epoch == Room.epoch)
    let names = back.chunks(.ben).flatMap(\.names.names)
    #expect(names.last == "kept" && names.count == fields() && names.count == 3, "\(names)")
    let outcome = room.hub.send(
      .ben,
      .propose([
        .of(2, [WireOperation(verb: .set, field: .id(2), value: FieldValue(bytes: Array("2".utf8)))], topic: topic())
      ])
    ).outcomes(.ben, topic: topic())
    #expect(outcome == [2: .committed(room.hub.machine.head(of: Room.name)?.version ?? 0)])
    #expect(values() == ["kept": "2"])
  }

  @Test("fields and slots of living peers survive a renumbering while the peers return")
  mutating func living() {
    room.write(.ben, 1, .set("kept", "1"), .set(Names.me, "2"))
    let present = room.present()
    #expect(present.count == 2)
    var received = wear(30, from: 1)
    received = received + comeBack(.ann, unacknowledged: 3) + comeBack(.ben, unacknowledged: 2)
    for _ in 0..<5 { received = received + room.hub.wait(1_000) }
    let deleted = received.commits().flatMap(\.commits).filter { $0.number == 0 }.flatMap(\.changes)
    #expect(deleted.isEmpty)
    let read = room.hub.read(Room.name, topic: topic())
    #expect(read.values["kept"] == "1")
    #expect(read.values.keys.filter { $0.hasPrefix("@peer") }.sorted() == present.keys.sorted())
    #expect(read.values.values.contains { $0.contains(#""says":2"#) })
  }

  @Test("a peer that does not return after a renumbering loses its fields when its lease ends")
  mutating func gone() {
    room.write(.ben, 1, .set("kept", "1"))
    wear(30, from: 1)
    _ = comeBack(.ann, unacknowledged: 3)
    for _ in 0..<62 {
      room.hub.wait(1_000)
      room.hub.send(.ann, .askHeads)
    }
    #expect(values().isEmpty)
  }

  @Test("the owner of a model still owns it after a renumbering, and is asked after its return")
  mutating func owner() {
    room.write(.ben, 1, .set(Names.owner, "1"))
    wear(30, from: 1)
    #expect(room.hub.counters.renumberedModels == 1)
    _ = comeBack(.ann, unacknowledged: 3)
    _ = comeBack(.ben, unacknowledged: 2)
    let received = room.hub.send(.ann, .propose([.of(1, [.set("on", "true")])]))
    #expect(received.messages(to: .ben).contains { if case .approve = $0 { true } else { false } })
  }

  @Test("a number decided before a renumbering is not decided again")
  mutating func lastDecidedNumbers() {
    wear(30, from: 1)
    let back = comeBack(.ann, unacknowledged: 1)
    #expect(back.joined(.ann).first { $0.model == Room.name }?.lastDecided == 2)
    let outcomes = room.hub.send(.ann, .propose([.of(1, [.set("again", "9")], topic: topic())])).outcomes(
      .ann, topic: topic())
    #expect(outcomes.keys.sorted() == [1])
    #expect(values().isEmpty)
  }
}
