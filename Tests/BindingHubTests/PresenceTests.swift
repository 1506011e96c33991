import BindingHub
import BindingProtocol
import Testing

@Suite("Presence at the hub")
struct PresenceTests {
  private var room = Room()

  @Test("who joined the model is told in its ephemeral model, with name and tag")
  mutating func listsPeers() throws {
    let read = room.read()
    #expect(Set(read.values.keys) == ["@peer-0", "@peer-1"])
    let first = try json(try #require(read.values["@peer-0"])).json
    #expect(first["name"] == .string("ann"))
    #expect(first["tag"] == .string(Speaker.ann.identity.tag.description))
    #expect(first["since"] == .integer(500_000))
  }

  @Test("who comes and who goes is told; places are used again")
  mutating func comesAndGoes() {
    room.hub.send(.ann, .leave(Leave(topics: [HubBench.lamp])))
    #expect(room.present() == ["@peer-1": "ben"])
    room.hub.live(.cat)
    #expect(room.present() == ["@peer-0": "cat", "@peer-1": "ben"])
  }

  @Test("a session that ends is there no more")
  mutating func ends() {
    room.hub.send(.ben, .leave(Leave()))
    #expect(room.present() == ["@peer-0": "ann"])
  }

  @Test("a peer whose connection broke is there all the time")
  mutating func reconnects() {
    let again = Speaker.ben.again(12)
    var received = room.hub.hello(again)
    received = received + room.hub.join(again, Join(request: 1, model: "lamp"))
    #expect(received.commits().isEmpty)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
  }

  @Test("a peer that came back and did not join again is there for 3 s more")
  mutating func doesNotJoinAgain() {
    room.hub.hello(Speaker.ben.again(12))
    room.hub.wait(1_000)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    room.hub.wait(1_000)
    #expect(room.present() == ["@peer-0": "ann"])
  }

  @Test("while nobody looks nothing is written; who looks is told of all")
  mutating func onlyWhenWatched() {
    var hub = HubBench()
    hub.live(.ann)
    hub.live(.ben)
    #expect(hub.counters.commits == 0)
    let read = hub.read(Room.name, topic: Room.ephemeralLamp)
    #expect(Set(read.values.keys) == ["@peer-0", "@peer-1"])
  }

  @Test("what a peer says stands with its name")
  mutating func announces() throws {
    #expect(room.write(.ann, 1, .set("@me", #"{"room":"attic"}"#)) != nil)
    let value = try json(try #require(room.read().values["@peer-0"])).json
    #expect(value["says"]?["room"] == .string("attic"))
    #expect(value["name"] == .string("ann"))
    room.write(.ann, 2, .delete("@me"))
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("clear takes back what its writer says, not its place")
  mutating func clearKeepsSlot() throws {
    room.write(.ann, 1, .set("@me", "1"))
    room.write(.ann, 2, WireOperation(verb: .clear, field: .id(0), value: nil))
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("who leaves only the ephemeral model is still in the model, and says nothing any more")
  mutating func leavesOnlyEphemeralModel() throws {
    room.write(.ann, 1, .set("@me", "1"))
    room.hub.send(.ann, .leave(Leave(topics: [Room.ephemeralLamp])))
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(try json(try #require(room.read().values["@peer-0"])).json["says"] == nil)
  }

  @Test("who is not in the model cannot say anything in it")
  mutating func notPresent() {
    room.hub.hello(.cat)
    room.hub.join(.cat, Join(request: 1, model: Room.name), topic: Room.ephemeralLamp)
    #expect(isRefused(room.write(.cat, 1, .set("@me", "1")), .notPermitted))
  }

  @Test("a hub that was stopped for 10 s takes nobody for gone")
  mutating func ownPause() {
    room.write(.ann, 1, .set("cursor", "7"))
    room.hub.wait(70_000)
    #expect(room.present() == ["@peer-0": "ann", "@peer-1": "ben"])
    #expect(room.values() == ["cursor": "7"])
  }
}
