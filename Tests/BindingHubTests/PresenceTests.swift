import BindingHub
import BindingProtocol
import Testing

@Suite("Presence at the hub")
struct PresenceTests {
  private var room = Room()

  @Test("the ephemeral model lists the peers of its model with name and tag")
  mutating func listsPeers() throws {
    let read = room.read()
    #expect(Set(read.values.keys) == ["@peer-0", "@peer-1"])
    let first = try json(try #require(read.values["@peer-0"])).json
    #expect(first["name"] == .string("ann"))
    #expect(first["tag"] == .string(Speaker.ann.identity.tag.description))
    #expect(first["since"] == .integer(500_000))
  }

  @Test("joining and leaving peers are published, and slots are reused")
  mutating func comesAndGoes() {
    room.hub.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    #expect(room.present() == ["@peer-1": "ben"])
    room.hub.live(.cat)
    #expect(room.present() == ["@peer-0": "cat", "@peer-1": "ben"])
  }

  @Test("an ended session is no longer present")
  mutating func ends() {
    room.hub.send(.ben, .leave(Leave()))
    #expect(room.present() == ["@peer-0": "ann"])
  }

  @Test("a peer whose connection broke stays present")
  mutating func reconnects() {
    let again = Speaker.ben.again(12)
    var received = room.hub.hello(again)
    received = received + room.hub.join(again, Join(request: 1, model: "lamp"))
    #expect(received.commits().isEmpty)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
  }

  @Test("a peer that returned without joining again stays present for 3 s")
  mutating func doesNotJoinAgain() {
    room.hub.hello(Speaker.ben.again(12))
    room.hub.wait(1_000)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    #expect(room.present() == ["@peer-0": "ann"])
  }

  @Test("unobserved presence writes nothing, and an observer gets all of it")
  mutating func onlyWhenWatched() {
    var hub = HubBench()
    hub.live(.ann)
    hub.live(.ben)
    #expect(hub.counters.commits == 0)
    let read = hub.read(Room.name, topic: Room.ephemeralLamp)
    #expect(Set(read.values.keys) == ["@peer-0", "@peer-1"])
  }

  @Test("a peer's announcement stands beside its name")
  mutating func announces() throws {
    #expect(room.write(.ann, 1, .set("@me", #"{"room":"attic"}"#)) != nil)
    let value = try json(try #require(room.read().values["@peer-0"])).json
    #expect(value["says"]?["room"] == .string("attic"))
    #expect(value["name"] == .string("ann"))
    room.write(.ann, 2, .delete("@me"))
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("clear deletes its writer's announcement, not its slot")
  mutating func clearKeepsSlot() throws {
    room.write(.ann, 1, .set("@me", "1"))
    room.write(.ann, 2, WireOperation(verb: .clear, field: .id(0), value: nil))
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("a peer that leaves only the ephemeral model stays present without an announcement")
  mutating func leavesOnlyEphemeralModel() throws {
    room.write(.ann, 1, .set("@me", "1"))
    room.hub.send(.ann, .leave(Leave(topics: [Room.ephemeralLamp])))
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("a peer outside the model cannot announce anything in it")
  mutating func notPresent() {
    room.hub.hello(.cat)
    room.hub.join(.cat, Join(request: 1, model: Room.name), topic: Room.ephemeralLamp)
    #expect(isRefused(room.write(.cat, 1, .set("@me", "1")), .notPermitted))
  }

  @Test("a hub that was stopped for longer than the leases takes no peer for gone")
  mutating func ownPause() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.hub.wait(70_000)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(room.values() == ["cursor": "7"])
  }
}
