import BindbusTesting
import BindingHub
import BindingModel
import Dispatch
import Testing

@testable import BindingPeer

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
}

/// Waits in a task of its own until `begun`, then cancels the task.
private func cancelled<Value: Sendable>(
  _ body: @escaping @Sendable () async throws -> Value, once begun: () -> Bool = { true }
) async throws -> Value {
  let task = Task { try await body() }
  #expect(await eventually(begun))
  task.cancel()
  return try await task.value
}

@Suite("Every wait ends with its task", .timeLimit(.minutes(2)))
struct CancellationTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let peer: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    peer = try Peer(name: "peer", hub: .inProcess(transport))
  }

  private func share(_ peer: Peer) async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { lamp.shared?["level"] != nil && peer.unconfirmed == 0 && lamp.status.isCurrent })
    return lamp
  }

  private var waits: Int { peer.runtime.state.withLock { $0.waiters.count } }

  @Test("cancelling the wait for an outcome ends the wait, and the write goes on")
  func outcome() async throws {
    let lamp = try await share(peer)
    transport.keep { if case .propose = $0 { true } else { false } }
    let write = try lamp.$level.write(0.8)
    #expect(try await cancelled({ await write.outcome }, once: { write.waits == 1 }) == .waitCancelled)
    #expect(try await cancelled({ await write.outcome(timeout: .seconds(3_600)) }, once: { write.waits == 1 }) == nil)
    do {
      _ = try await cancelled({ try await write.committed }, once: { write.waits == 1 })
      Issue.record("a version was given")
    } catch let rejection as RejectionError {
      #expect(rejection.isWaitCancelled)
    }
    #expect(write.waits == 0)
    #expect(write.outcomeSoFar == nil && lamp.level == 0.8)
    transport.keep { _ in false }
    let version = try await write.committed
    #expect(version > 0)
    // A cancelled task still receives known outcomes.
    #expect(try await cancelled { try await write.committed } == version)
  }

  @Test("a timeout ends the wait for an outcome and leaves nothing behind")
  func limit() async throws {
    let lamp = try await share(peer)
    transport.keep { if case .propose = $0 { true } else { false } }
    let write = try lamp.$level.write(0.8)
    #expect(await write.outcome(timeout: .milliseconds(5)) == nil)
    #expect(write.waits == 0)
    #expect(await peer.runtime.wait(timeout: .milliseconds(5)) { _ in false } == false)
    #expect(waits == 0)
    transport.keep { _ in false }
  }

  @Test("a cancelled update makes no further attempt, and an attempt already made stays written")
  func update() async throws {
    let lamp = try await share(peer)
    let tries = Protected(0)
    transport.keep { if case .propose = $0 { true } else { false } }
    let update: @Sendable () async throws -> Double = {
      try await lamp.$level.update { level in
        tries.withLock { $0 += 1 }
        return level + 0.1
      }
    }
    await #expect(throws: CancellationError.self) {
      try await cancelled(update, once: { tries.withLock { $0 } == 1 && peer.unconfirmed == 1 })
    }
    // Here the update waits for an own write in flight.
    await #expect(throws: CancellationError.self) { try await cancelled(update, once: { waits == 1 }) }
    #expect(waits == 0)
    transport.keep { _ in false }
    #expect(await eventually { peer.unconfirmed == 0 })
    #expect(lamp.level == 0.4)
    #expect(tries.withLock { $0 } == 1)
    // An update cancelled before it begins attempts nothing.
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await update()
    }
    await #expect(throws: CancellationError.self) { try await late.value }
    #expect(tries.withLock { $0 } == 1)
  }

  @Test("cancelling ends the waits for a hub, a model, presence, a list and a pong")
  func hubs() async throws {
    let (peer, long) = (peer, Duration.seconds(3_600))
    transport.cut()
    #expect(await eventually { !peer.status.isLive })
    let model = try peer.model("lamp")
    let before = waits
    let one = { waits == before + 1 }
    #expect(try await cancelled({ await peer.whenLive(timeout: long) }, once: one) == false)
    #expect(try await cancelled({ await model.whenCurrent(timeout: long) }, once: one) == false)
    #expect(try await cancelled({ await peer.list("", timeout: long) }, once: one) == nil)
    #expect(try await cancelled({ await peer.ping(timeout: long) }, once: one) == nil)
    _ = try await cancelled({ try await peer.presence(in: "lamp", timeout: long) }, once: one)
    let write = try model.write(Proposal(operations: [FieldOperation(.set, "level", FieldValue(json: .number(0.5)))]))
    #expect(try await cancelled({ await model.whenSent(["level"], timeout: long) }, once: one) == false)
    #expect(waits == before)
    let lamp = try await cancelled(
      { try await peer.share(Lamp.self, id: "desk", timeout: long) }, once: { waits == before + 2 })
    #expect(lamp.level == 0.3)
    withExtendedLifetime(write) {}
  }

  @Test("cancelling ends a barrier")
  func barrier() async throws {
    let lamp = try await share(peer)
    let runtime = peer.runtime
    await #expect(throws: BarrierError.cancelled) {
      try await cancelled(
        { try await lamp.applied(1_000_000, by: .all, timeout: .seconds(3_600)) },
        once: { runtime.state.withLock { $0.barriers.count == 1 } })
    }
    #expect(runtime.state.withLock { $0.barriers.isEmpty })
  }

  @Test("cancelling a request for a model's ownership gives it up, even if it is granted later")
  func ownership() async throws {
    let lamp = try await share(peer)
    let other = try await share(Peer(name: "other", hub: .inProcess(hub)))
    transport.keep { if case .propose = $0 { true } else { false } }
    await #expect(throws: CancellationError.self) {
      try await cancelled({ try await lamp.validate { _, _ in } }, once: { peer.unconfirmed == 1 })
    }
    transport.keep { _ in false }
    #expect(await eventually { peer.unconfirmed == 0 })
    let owned = try await other.validate { _, _ in throw RefusalError("mine") }
    let outcome = try await lamp.$level.write(0.5).outcome
    if case .refused = outcome {} else { Issue.record("\(outcome)") }
    withExtendedLifetime(owned) {}
  }

  @Test("a cancelled close does not wait for outcomes, and still leaves the hub")
  func close() async throws {
    let lamp = try await share(peer)
    transport.keep { if case .propose = $0 { true } else { false } }
    lamp.level = 0.8
    let (peer, before) = (peer, waits)
    let lost = try await cancelled({ await peer.close(flush: .seconds(3_600)) }, once: { waits == before + 1 })
    #expect(lost == ["lamp.level"])
    #expect(peer.status.isStopped)
  }

  @Test("async sequences end when their task is cancelled")
  func sequences() async throws {
    let lamp = try await share(peer)
    let presence = try await lamp.presence(timeout: .seconds(20))
    let collection = try peer.models(Lamp.self, under: "lamps/", on: .direct)
    let begun = Protected(0)
    func drain<Elements: AsyncSequence & Sendable>(_ elements: Elements) async throws where Elements.Element: Sendable {
      let before = begun.withLock { $0 }
      let task = Task {
        for try await _ in elements { begun.withLock { $0 += 1 } }
      }
      #expect(await eventually { begun.withLock { $0 } > before })
      task.cancel()
      try await task.value
    }
    try await drain(lamp.$level.values)
    try await drain(lamp.$level.everyValue())
    try await drain(lamp.$level.values(.latest(every: .seconds(3_600))))
    try await drain(lamp.changes())
    try await drain(lamp.statuses.values)
    try await drain(peer.statuses.values)
    try await drain(presence.values)
    try await drain(collection.values)
  }

  @Test("a hundred thousand cancelled waits leave nothing behind")
  func many() async throws {
    let lamp = try await share(peer)
    transport.keep { if case .propose = $0 { true } else { false } }
    let write = try lamp.$level.write(0.8)
    let (runtime, before) = (peer.runtime, waits)
    weak var held: Token?
    for _ in 0..<20 {
      await withTaskGroup { group in
        let token = Token()
        held = token
        for number in 0..<5_000 {
          group.addTask {
            if number.isMultiple(of: 2) {
              _ = await write.outcome
            } else {
              _ = await runtime.wait(timeout: .seconds(3_600)) { _ in withExtendedLifetime(token) { false } }
            }
          }
        }
        group.cancelAll()
      }
      #expect(held == nil)
    }
    #expect(write.waits == 0)
    #expect(waits == before)
    transport.keep { _ in false }
  }

  private final class Token: Sendable {}

  @Test(
    "a released peer is freed with everything it waited for, closed or not",
    arguments: [true, false], [true, false])
  func letGo(isClosed: Bool, hasHub: Bool) async throws {
    weak var runtime: PeerRuntime?
    do {
      let transport = InterceptingTransport(hub)
      if !hasHub { transport.cut() }
      let (peer, timeout) = (
        try Peer(name: "short", hub: .inProcess(transport)), Duration.milliseconds(hasHub ? 20_000 : 5)
      )
      let lamp = try await peer.share(Lamp.self, id: "short", on: .direct, timeout: timeout)
      #expect(lamp.level == 0.3)
      runtime = peer.runtime
      if isClosed {
        lamp.level = 0.8
        await peer.close(flush: timeout)
      }
    }
    #expect(await eventually { runtime == nil })
  }
}
