import BindingHub
import BindingProtocol
import Testing

/// A hub with ann and ben in `lamp` and in its ephemeral model.
struct Room {
  var hub: HubBench
  /// The stored model was named first.
  static let ephemeralLamp = HubBench.lamp + 1
  static let name = "@ephemeral/lamp"
  static let epoch = Epoch(HubBench.start)

  init(_ configure: (inout HubMachineConfiguration) -> Void = { _ in }) {
    hub = HubBench(configure)
    for peer in [Speaker.ann, .ben] {
      hub.live(peer)
      hub.join(peer, Join(request: 2, model: Self.name), topic: Self.ephemeralLamp)
    }
  }

  @discardableResult
  mutating func write(
    _ peer: Speaker, _ number: ProposalNumber, _ operations: WireOperation...
  ) -> WireOutcome.Rest? {
    hub.send(peer, .propose([.of(number, operations, topic: Self.ephemeralLamp)])).outcomes(
      peer, topic: Self.ephemeralLamp)[number]
  }

  mutating func read() -> ReadModel { hub.read(Self.name, topic: Self.ephemeralLamp) }

  /// The fields that peers wrote.
  mutating func values() -> [String: String] { read().values.filter { !$0.key.hasPrefix("@peer") } }

  /// Who is present, by field.
  mutating func present() -> [String: String] {
    read().values.filter { $0.key.hasPrefix("@peer") }.mapValues { text in
      if case .string(let name)? = (try? json(text).json)?["name"] { name } else { text }
    }
  }
}

func isRefused(_ outcome: WireOutcome.Rest?, _ code: RefusalCode) -> Bool { outcome?.refusal == code }

@Suite("Ephemeral models at the hub")
struct EphemeralTests {
  private var room = Room()

  @Test("an ephemeral model has its own versions, in an epoch that is the hub's start number")
  mutating func ownEpoch() {
    let outcome = room.write(.ann, 1, .set("cursor", "7"))
    let read = room.read()
    #expect(read.epoch == Room.epoch)
    #expect(outcome == .committed(read.version))
    #expect(room.hub.read().version == 0)
  }

  @Test("an ephemeral model is not stored")
  mutating func notStored() {
    room.hub.settling = .later
    #expect(room.write(.ann, 1, .set("cursor", "7")) != nil)
    #expect(room.hub.waiting.isEmpty)
  }

  @Test("a living peer's field is refused to other peers, naming the holder")
  mutating func belongs() {
    room.write(.ann, 1, .set("cursor", "7"))
    let outcome = room.write(.ben, 1, .set("cursor", "8"))
    guard case .refused(let refusal)? = outcome else {
      Issue.record("\(String(describing: outcome))")
      return
    }
    #expect(refusal.code == .notOwner)
    #expect(refusal.text.contains("lamp.cursor belongs to ann#"))
    #expect(room.values() == ["cursor": "7"])
  }

  @Test("a deletion of another peer's field is refused")
  mutating func belongsToDelete() {
    room.write(.ann, 1, .set("cursor", "7"))
    #expect(isRefused(room.write(.ben, 1, .delete("cursor")), .notOwner))
  }

  @Test("clear deletes only its writer's fields")
  mutating func clearsOwn() {
    room.write(.ann, 1, .set("a", "1"))
    room.write(.ben, 1, .set("b", "2"))
    room.write(.ann, 2, WireOperation(verb: .clear, field: .id(0), value: nil))
    #expect(room.values() == ["b": "2"])
  }

  @Test("a field deleted by its holder is free")
  mutating func released() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.write(.ann, 2, .delete("cursor"))
    #expect(room.write(.ben, 1, .set("cursor", "8")) != nil)
    #expect(room.values() == ["cursor": "8"])
  }

  @Test("setting the same value makes no commit")
  mutating func sameAgain() {
    room.write(.ann, 1, .set("cursor", "7"))
    #expect(room.write(.ann, 2, .set("cursor", "7")) == .unchanged)
  }

  @Test("a session's fields vanish when it leaves")
  mutating func goesWithLeave() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.hub.send(.ann, .leave(Leave()))
    #expect(room.values().isEmpty)
  }

  @Test("a session's fields vanish when its lease ends, and the deletion is published")
  mutating func goesWithLease() {
    var room = Room { $0.leaseRange = 1_000...60_000 }
    let cat = Speaker.cat
    room.hub.hello(cat, lease: 3_000)
    room.hub.join(cat, Join(request: 1, model: Room.name), topic: Room.ephemeralLamp)
    room.write(cat, 1, .set("cursor", "7"))
    for _ in 0..<2 {
      room.hub.wait(1_000)
      room.hub.send(.ann, .askHeads)
      room.hub.send(.ben, .askHeads)
    }
    #expect(room.values() == ["cursor": "7"])
    let received = room.hub.wait(1_100)
    #expect(received.commits().contains { $0.commits.contains { $0.changes.contains { $0.value == nil } } })
    #expect(room.values().isEmpty)
  }

  @Test("a session's fields stay while its peer says hello again")
  mutating func staysOverReconnect() {
    room.write(.ann, 1, .set("cursor", "7"))
    let again = Speaker.ann.again(11)
    let received = room.hub.hello(again)
    #expect(received.commits().isEmpty)
    #expect(room.values() == ["cursor": "7"])
  }

  @Test("fields of an ephemeral model that the peer left while disconnected vanish 3 s after its return")
  mutating func leftWhileAway() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.write(.ben, 1, .set("pen", "8"))
    room.hub.hello(Speaker.ann.again(11))
    let ben = Speaker.ben.again(12)
    room.hub.hello(ben)
    room.hub.join(ben, Join(request: 1, model: Room.name), topic: Room.ephemeralLamp)
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    #expect(room.values() == ["cursor": "7", "pen": "8"])
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    #expect(room.values() == ["pen": "8"])
  }

  @Test("leaving the ephemeral model deletes the peer's fields there, and nothing else")
  mutating func leavesEphemeralModel() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.hub.write(.ann, 1, .set("on", "true"))
    room.hub.send(.ann, .leave(Leave(topics: [Room.ephemeralLamp])))
    #expect(room.values().isEmpty)
    #expect(room.hub.read().values == ["on": "true"])
  }

  @Test("an ephemeral model is not announced")
  mutating func notAnnounced() {
    room.write(.ann, 1, .set("cursor", "7"))
    let received = room.hub.send(.ben, .join([Join(request: 9, prefix: "")]))
    #expect(received.announces(.ben).flatMap(\.models).isEmpty)
  }

  @Test("a lagging peer gets a delta of an ephemeral model")
  mutating func delta() {
    room.write(.ann, 1, .set("a", "1"))
    let before = room.read()
    room.write(.ann, 2, .set("b", "2"))
    let names = UInt32(before.fields.count)
    let received = room.hub.send(
      .ben,
      .join([
        Join(request: 5, model: Room.name, epoch: Room.epoch, version: before.version, namesKnown: names)
      ]))
    #expect(received.chunks(.ben).map(\.form) == [.delta])
    #expect(received.chunks(.ben).flatMap(\.entries).map { $0.value?.description } == ["2"])
  }

  @Test("a peer ahead in an ephemeral model does not start a new epoch of the log")
  mutating func aheadDoesNotMatter() {
    let received = room.hub.send(
      .ben, .join([Join(request: 5, model: Room.name, epoch: Room.epoch, version: 1_000)]))
    #expect(received.newEpoch == nil)
  }

  @Test("peers may not write the protocol's reserved names", arguments: ["@peer-0", "@peer-77", "@description"])
  mutating func reservedNames(_ name: String) {
    let outcome = room.write(.ann, 1, .set(name, "1"))
    #expect(outcome?.refusal == .badName || outcome?.refusal == .notOwner)
  }

  @Test("names reserved in ephemeral models are no fields of the stored one", arguments: ["@me", "@owner", "@peer-1"])
  mutating func reservedInStored(_ name: String) {
    #expect(isRefused(room.hub.write(.ann, 1, .set(name, "1")), .badName))
  }
}

@Suite("The description and ephemeral models")
struct EphemeralDescriptionTests {
  private var room = Room()

  init() {
    let description =
      #"{"fields":{"load":{"type":"number","min":0,"max":1,"ephemeral":true},"on":{"type":"boolean"}}}"#
    room.hub.write(.ann, 1, .set("@description", description))
  }

  @Test("a field described as ephemeral is refused in the stored model")
  mutating func notStored() {
    #expect(isRefused(room.hub.write(.ann, 2, .set("load", "0.5")), .doesNotFit))
  }

  @Test("the description applies to ephemeral fields")
  mutating func holds() {
    #expect(isRefused(room.write(.ann, 1, .set("load", "7")), .doesNotFit))
    room.write(.ann, 2, .set("load", "0.5"))
    #expect(room.values() == ["load": "0.5"])
  }

  @Test("a description whose `ephemeral` is not a boolean is refused")
  mutating func malformed() {
    #expect(
      isRefused(
        room.hub.write(.ann, 2, .set("@description", #"{"fields":{"a":{"ephemeral":1}}}"#)), .malformedValue))
  }
}
