import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct Dial: Model {
  @Field var level = 15
}

@Suite("Peers that answer each other")
struct LoopTests {
  @Test("two observers that clamp differently end in a refusal that names both, and do not go on for ever")
  func clamps() async throws {
    let hub = try Hub.embedded()
    let low = try await Peer(name: "low", hub: hub).share(Dial.self, id: "dial", on: .direct, patience: .seconds(20))
    let high = try await Peer(name: "high", hub: hub).share(Dial.self, id: "dial", on: .direct, patience: .seconds(20))
    let tokens = [
      low.$level.observe { if $0 > 10 { low.level = 10 } },
      high.$level.observe { if $0 < 20 { high.level = 20 } },
    ]
    var refusal: String?
    let end = ContinuousClock.now + .seconds(20)
    while refusal == nil, ContinuousClock.now < end {
      for dial in [low, high] {
        if case .problem(.rejected(let reason, _)) = dial.$level.status, reason.contains("answer each other") {
          refusal = reason
        }
      }
      try await Task.sleep(for: .milliseconds(2))
    }
    #expect(refusal?.contains("low-") == true && refusal?.contains("high-") == true, "\(refusal ?? "none")")
    while low.level != high.level, ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(2)) }
    #expect(low.level == high.level)
    withExtendedLifetime(tokens) {}
  }
}
