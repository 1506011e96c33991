import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer

/// An element of the lists in these tests.
struct Cue: Identifiable, Codable, Equatable, Sendable {
  var id: Int
  var name: String
  var seconds = 0.0

  init(_ id: Int, _ name: String = "", seconds: Double = 0) { (self.id, self.name, self.seconds) = (id, name, seconds) }
}

struct Show: Model {
  @Field(policy: .list) var cues: [Cue] = []
  @Field var title = ""
}

/// The same model, declared by a program without the policy.
struct PlainShow: Model {
  @Field var cues: [Cue] = []
}

/// Two peers of one hub that share a show, each over a link that the test can cut.
struct TwoDesks {
  let hub: Hub
  let links: [TestLink]
  let peers: [Peer]
  let left: Show
  let right: Show

  init() async throws {
    hub = try Hub.embedded()
    links = [TestLink(to: hub), TestLink(to: hub)]
    peers = [
      try Peer(name: "left", hub: .inProcess(links[0])), try Peer(name: "right", hub: .inProcess(links[1])),
    ]
    left = try await peers[0].share(Show.self, id: "show", on: .direct, timeout: .seconds(20))
    right = try await peers[1].share(Show.self, id: "show", on: .direct, timeout: .seconds(20))
    // The description and the default of the title.
    let shows = [left, right]
    _ = await eventually {
      shows.allSatisfy { $0.shared?.record("title")?.committed != nil && $0.status.unconfirmed == 0 }
    }
  }

  /// Whether both show the same and wait for nothing.
  var isSettled: Bool {
    left.cues == right.cues && peers.allSatisfy { $0.status.unconfirmed == 0 && $0.status.isLive }
      && left.status.isCurrent && right.status.isCurrent && left.status.version == right.status.version
  }

  func begin(with ids: [Int]) async throws {
    left.cues = ids.map { Cue($0, "n\($0)") }
    _ = await eventually { right.cues.map(\.id) == ids && isSettled }
  }
}
