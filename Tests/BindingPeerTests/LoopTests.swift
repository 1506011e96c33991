import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Dial: Model {
  @Field var level = 15
}

@Suite("Peers that answer each other")
struct LoopTests {
  @Test("two observers that clamp differently end in a refusal that names both peers")
  func clamps() async throws {
    let hub = try Hub.embedded()
    let low = try await Peer(name: "low", hub: .inProcess(hub)).share(
      Dial.self, id: "dial", on: .direct, timeout: .seconds(20))
    let high = try await Peer(name: "high", hub: .inProcess(hub)).share(
      Dial.self, id: "dial", on: .direct, timeout: .seconds(20))
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

  @Test("an observer is notified of a value again if others restore it before an own write was delivered")
  func notifiesAgain() async throws {
    let hub = try Hub.embedded()
    let (mine, theirs) = (try Peer(name: "mine", hub: .inProcess(hub)), try Peer(name: "theirs", hub: .inProcess(hub)))
    let queue = DispatchQueue(label: "loop-test")
    let dial = try await mine.share(Dial.self, id: "dial", on: .queue(queue), timeout: .seconds(20))
    let other = try await theirs.share(Dial.self, id: "dial", on: .direct, timeout: .seconds(20))
    #expect(await eventually { dial.shared?.record("level")?.committed != nil && mine.unconfirmed == 0 })
    let received = Protected<[Int]>([])
    let token = queue.sync { dial.$level.observe { level in received.withLock { $0.append(level) } } }
    queue.suspend()
    dial.level = 20
    #expect(await eventually { other.level == 20 })
    other.level = 15
    #expect(await eventually { dial.shared?["level"]?.description == "15" && mine.unconfirmed == 0 })
    queue.resume()
    queue.sync {}
    #expect(received.withLock { $0 } == [15, 15])
    token.cancel()
  }
}
