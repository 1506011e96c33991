import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
}

@Suite("Collections of models below a prefix")
struct ModelCollectionTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  @Test("models below a prefix appear in and vanish from a collection")
  func collection() async throws {
    let lamps = try left.models(Lamp.self, under: "lamps/", on: .direct)
    let kitchen = try await right.share(Lamp.self, id: "lamps/kitchen", on: .direct, timeout: .seconds(20))
    #expect(await eventually { lamps.ids == ["lamps/kitchen"] })
    kitchen.level = 0.9
    #expect(await eventually { lamps["lamps/kitchen"]?.level == 0.9 })
    try lamps.remove("kitchen")
    #expect(await eventually { lamps.ids.isEmpty })
  }

  @Test("observers of a collection run on its lane")
  func collectionLane() async throws {
    let lane = Lane.queue(DispatchQueue(label: "collection-test"))
    let lamps = try left.models(Lamp.self, under: "lamps/", on: lane)
    let (seen, wasElsewhere) = (Protected<[[String]]>([]), Protected(false))
    let token = lamps.observe { ids in
      if !lane.isCurrent { wasElsewhere.withLock { $0 = true } }
      seen.withLock { $0.append(ids) }
    }
    let kitchen = try await right.share(Lamp.self, id: "lamps/kitchen", on: .direct, timeout: .seconds(20))
    #expect(await eventually { seen.withLock { $0.last } == ["lamps/kitchen"] })
    let hall = try await lamps.create("hall")
    #expect(await eventually { seen.withLock { $0.last } == ["lamps/hall", "lamps/kitchen"] })
    #expect(!wasElsewhere.withLock { $0 })
    token.cancel()
    withExtendedLifetime((kitchen, hall)) {}
  }
}
