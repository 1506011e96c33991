// compiles: one import gives an application what it needs
// also without: MemberImportVisibility
import Bindbus

enum Mood: String, Codable, CaseIterable { case calm, wild }

struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field var mood = Mood.calm
  @Field(policy: .text) var note = ""
}

func share() async throws {
  let peer = try Peer(name: "kitchen")
  let lamp = try await peer.share(Lamp.self, id: "lamp")
  let tokens = ObserverTokens()
  lamp.$level.observe { print("level", $0) }.store(in: tokens)
  try lamp.change {
    $0.on = true
    $0.level = 0.9
  }
  let write: PendingWrite = try lamp.$level.write(0.5)
  print(try await write.committed, lamp.$level.status, lamp.status, peer.status)
  do {
    try await lamp.$level.update { min($0 + 0.1, 1) }
  } catch let error as WriteError {
    print(error)
  }
  await peer.close()
}

func bind(_ lamp: Lamp) {
  let percent = Derived { "\(Int(lamp.level * 100)) %" }
  let title = Observable("")
  let binding: Binding<Double> = lamp.$level.binding
  Turn.run {
    title.value = percent.value
    binding.value = 1
  }
}

@MainActor
final class Screen {
  @State var name = "desk"
  private var token: ObserverToken?

  func show(_ lamp: Lamp) {
    token = lamp.$level.observeOnMain { [weak self] level in self?.name = "\(level)" }
  }
}
