// compiles: the first steps from the README and the doc comments
import BindingHub
import BindingPeer

enum Mood: String, Codable, CaseIterable { case calm, wild }
struct Place: Codable, Equatable { var room = "hall", shelf = 1 }

struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field(0...1) var dimmedTo: Double? = nil
  @Field(unit: "lm") var brightness = 800
  @Field(choices: ["warm", "cold"]) var light = "warm"
  @Field(maximumLength: 40) var label = "desk"
  @Field var mood = Mood.calm
  @Field var place = Place()
  @Field(.ephemeral) var cursor: Int? = nil
}

func closing() async throws {
  let peer = try Peer(name: "kitchen")
  let lamp = try await peer.share(Lamp.self, id: "lamp")
  lamp.level = 0.8
  let lost = await peer.close(flush: .seconds(5))
  if !lost.isEmpty { print("no answer to", lost) }
}

func testing() async throws {
  let hub = try Hub.embedded()
  let app = try Peer(name: "app", hub: .inProcess(hub))
  let other = try Peer(name: "other", hub: .inProcess(hub))
  let mine = try await app.share(Lamp.self, id: "lamp", on: .direct)
  let theirs = try await other.share(Lamp.self, id: "lamp", on: .direct)
  try await mine.applied(try await mine.$level.write(0.8).committed, by: .all, timeout: .seconds(2))
  assert(theirs.level == 0.8)
}

@MainActor
final class LampScreen {
  private(set) var title = ""

  init(_ lamp: Lamp) {
    lamp.$level.observeOnMain(on: self) { screen, level in screen.title = "\(level)" }
  }
}

@MainActor
final class Screen {
  var text = ""
  private var token: ObserverToken?

  func show(_ lamp: Lamp) {
    token = lamp.$level.observeOnMain { [weak self] in self?.text = "\($0)" }
  }
}

func readme(_ peer: Peer) async throws {
  let lamp = try await peer.share(Lamp.self, id: "lamp")
  let token = lamp.$level.observe { print("level", $0) }
  lamp.level = 0.8
  try lamp.change {
    $0.on = true
    $0.level = 0.9
  }
  try await lamp.$level.update { min($0 + 0.1, 1) }
  print(lamp.$level.status)
  await peer.close()
  withExtendedLifetime(token) {}
}

func placed(_ peer: Peer) async throws {
  let lamp = try await peer.share(Lamp.self, id: "lamp", on: .main, timeout: .seconds(3))
  lamp.place.shelf = 2
  lamp.mood = .wild
  print(peer.status, lamp.status, lamp.$level.status)
}
