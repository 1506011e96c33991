import Bindbus
import BindbusTesting
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
}

@Suite("The tests of an application")
struct OfflineLampTests {
  @Test("a write made while the link is cut shows here, waits, and reaches the other peer once it is healed")
  func offline() async throws {
    try await withHub { hub in
      let link = TestLink(to: hub)
      let app = try Peer(name: "app", hub: .inProcess(link))
      let other = try Peer(name: "other", hub: .inProcess(hub))
      let mine = try await app.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
      let theirs = try await other.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
      #expect(try await mine.$level.write(0.5).committed > 0)
      #expect(await eventually { theirs.level == 0.5 })

      link.cut()
      mine.level = 0.8
      // The description of the model may wait beside it.
      #expect(mine.level == 0.8 && app.unconfirmed >= 1 && theirs.level == 0.5)
      link.heal()
      #expect(await eventually { theirs.level == 0.8 && app.unconfirmed == 0 })
      // The other way, too.
      theirs.level = 0.2
      #expect(await eventually { mine.level == 0.2 })
    }
  }

  @Test("a link that is cut from the start has no hub, and both sides of a connection learn that it was cut")
  func cut() async throws {
    try await withHub { hub in
      let link = TestLink(to: hub, isCut: true)
      let app = try Peer(name: "app", hub: .inProcess(link))
      #expect(await !app.whenLive(timeout: .milliseconds(100)))
      link.heal()
      #expect(await app.whenLive(timeout: .seconds(20)))
      let lamp = try await app.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
      let here = try await lamp.presence()
      try here.announce("reading")
      let other = try Peer(name: "other", hub: .inProcess(hub))
      let seen = try await other.presence(in: "lamp")
      #expect(await eventually { seen.peers.count == 1 })
      link.cut()
      #expect(await eventually { app.status.phase != .live })
      #expect(await eventually { seen.peers.isEmpty })
    }
  }

  @Test("a condition that does not come true is given up after the timeout, and an error is passed on")
  func givenUp() async throws {
    #expect(await !eventually(timeout: .zero) { false })
    await #expect(throws: RefusalError.self) {
      try await eventually { throw RefusalError("no such lamp") }
    }
  }

  @Test("a debounced value comes to rest when the test moves its clock")
  func clock() async throws {
    let (query, clock) = (Observable(""), TestClock())
    let settled = query.debounced(for: .milliseconds(300), clock: clock)
    query.value = "lamp"
    clock.advance(by: .milliseconds(299))
    query.value = "lamps"
    clock.advance(by: .milliseconds(299))
    #expect(settled.value == "")
    clock.advance(by: .milliseconds(1))
    #expect(await eventually { settled.value == "lamps" })
  }

  @Test("a throttled value shows the newest once the interval has passed")
  func throttled() async throws {
    let (level, clock) = (Observable(0), TestClock())
    let calm = level.throttled(for: .seconds(1), clock: clock)
    for value in 1...5 { level.value = value }
    #expect(calm.value <= 1)
    clock.advance(by: .seconds(1))
    #expect(await eventually { calm.value == 5 })
  }

  @Test("a sleep ends when the clock passes its deadline, or with its task")
  func sleeping() async throws {
    let clock = TestClock()
    let sleeping = Task { try await clock.sleep(for: .seconds(3)) }
    let cancelled = Task { try await clock.sleep(for: .seconds(3_600)) }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    clock.advance(by: .seconds(60))
    try await clock.sleep(until: clock.now)
    sleeping.cancel()
    _ = await sleeping.result
    #expect(clock.now.offset == .seconds(60))
  }
}
