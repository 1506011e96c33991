import BindbusTesting
import BindingControls
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
}

@Suite("Observing a status")
struct StatusObservingTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let peer: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    peer = try Peer(name: "peer", hub: .inProcess(transport))
  }

  private func share(_ peer: Peer, on lane: Lane = .direct) async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: "lamp", on: lane, timeout: .seconds(20))
    #expect(await eventually { lamp.shared?["level"] != nil && peer.unconfirmed == 0 && lamp.status.isCurrent })
    return lamp
  }

  private func isCurrent(_ status: FieldStatus) -> Bool { if case .current = status { true } else { false } }

  @Test("the number of unconfirmed writes of all models can be observed alone")
  func unconfirmed() async throws {
    let lamp = try await share(peer)
    let counts = Protected<[Int]>([])
    let derived = peer.statuses.derived(\.unconfirmed)
    let token = derived.observe { count in counts.withLock { $0.append(count) } }
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    lamp.level = 0.8
    lamp.on = true
    #expect(counts.withLock { $0 } == [0, 1, 2])
    transport.heal()
    #expect(await eventually { counts.withLock { $0.last } == 0 })
    #expect(peer.unconfirmed == 0)
    token.cancel()
  }

  @Test("statuses arrive on the model's lane, once a turn, after the turn's values")
  func lane() async throws {
    let queue = DispatchQueue(label: "status-test")
    let lane = Lane.queue(queue)
    let lamp = try await share(peer, on: lane)
    let received = Protected<[String]>([])
    let wasElsewhere = Protected(false)
    let unconfirmed = lamp.statuses.derived(\.unconfirmed)
    let tokens = queue.sync {
      [
        lamp.$level.observe { level in received.withLock { $0.append("\(level)") } },
        unconfirmed.observe { count in
          if !lane.isCurrent { wasElsewhere.withLock { $0 = true } }
          received.withLock { $0.append("unconfirmed \(count)") }
        },
      ]
    }
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    queue.sync {
      received.withLock { $0.removeAll() }
      // The lane is busy: it gets the newest.
      lamp.level = 0.5
      lamp.level = 0.6
      #expect(received.withLock { $0 } == ["0.5", "unconfirmed 1", "0.6"])
    }
    received.withLock { $0.removeAll() }
    queue.suspend()
    for level in [0.1, 0.2, 0.7] { lamp.level = level }
    lamp.on = true
    queue.resume()
    #expect(await eventually { received.withLock { $0.contains("unconfirmed 2") } })
    queue.sync {}
    #expect(received.withLock { $0 } == ["0.7", "unconfirmed 2"])
    #expect(!wasElsewhere.withLock { $0 })
    for token in tokens { token.cancel() }
  }

  @Test("a label shows a status, and an async loop ends at the awaited one")
  @MainActor
  func labelAndLoop() async throws {
    let lamp = try await share(peer, on: .main)
    let label = Label()
    lamp.$level.statuses.show(\.description, in: label, \.text) { $0 }
    #expect(label.text?.hasPrefix("current") == true)
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    #expect(label.text?.hasPrefix("pending") == true)
    transport.keep { _ in false }
    for await status in lamp.$level.statuses.values where isCurrent(status) { break }
    for _ in 0..<10_000 where label.text?.hasPrefix("current") != true { try await Task.sleep(for: .milliseconds(2)) }
    #expect(label.text?.hasPrefix("current") == true)
  }

  @Test("a field that is not shared is `local`, and its observers follow it into a model")
  func local() async throws {
    let lamp = Lamp()
    let received = Protected<[FieldStatus]>([])
    let token = lamp.$level.statuses.observe { status in received.withLock { $0.append(status) } }
    lamp.level = 7
    lamp.level = 0.7
    #expect(received.withLock { $0.map { $0 == .local } } == [true, false, true])
    token.cancel()
  }

  @Test("after the last observer's end no status is delivered")
  func ends() async throws {
    let lamp = try await share(peer)
    let count = Protected(0)
    var owner: DispatchQueue? = DispatchQueue(label: "owner")
    if let owner { lamp.$level.statuses.observe(on: owner) { _ in count.withLock { $0 += 1 } } }
    let token = lamp.$level.statuses.observe { _ in count.withLock { $0 += 1 } }
    owner = nil
    token.cancel()
    let before = count.withLock { $0 }
    lamp.level = 0.9
    #expect(await eventually { isCurrent(lamp.$level.status) })
    #expect(count.withLock { $0 } == before)
    let again = lamp.$level.statuses.observe { _ in count.withLock { $0 += 1 } }
    #expect(count.withLock { $0 } == before + 1)
    again.cancel()
  }
}
