import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Testing

private struct Lamp: Model {
  @Field var on = false
  @Field(0...1) var level = 0.3
  @Field("label") var name = "desk"
}

private struct Loose: Model {
  @Field var level = "high"
}

@Suite("Sharing a model between peers of one hub")
struct SharingTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  private func lamps() async throws -> (Lamp, Lamp) {
    (
      try await left.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20)),
      try await right.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    )
  }

  @Test("an assigned value shows immediately at its peer and soon at the other")
  func followsAssignments() async throws {
    let (mine, theirs) = try await lamps()
    mine.level = 0.8
    #expect(mine.level == 0.8)
    #expect(await eventually { theirs.level == 0.8 })
  }

  @Test("both peers write, and both follow")
  func bothWays() async throws {
    let (mine, theirs) = try await lamps()
    mine.on = true
    #expect(await eventually { theirs.on })
    theirs.on = false
    #expect(await eventually { !mine.on })
  }

  @Test("an awaited write returns the version of its commit")
  func returnsVersion() async throws {
    let (mine, _) = try await lamps()
    let first = try await mine.$level.write(0.5).committed
    let second = try await mine.$level.write(0.6).committed
    #expect(second > first)
  }

  @Test("a thousand increments by two peers lose nothing")
  func addsLoseNothing() async throws {
    let (a, b) = (try left.model("counter"), try right.model("counter"))
    #expect(await a.whenCurrent(timeout: .seconds(20)))
    #expect(await b.whenCurrent(timeout: .seconds(20)))
    let one = Proposal(operations: [FieldOperation(.add, "n", try FieldValue(text: "1"))])
    for _ in 0..<500 {
      try a.write(one)
      try b.write(one)
    }
    #expect(await eventually { a["n"]?.description == "1000" && b["n"]?.description == "1000" })
  }

  @Test("interleaved updates lose nothing")
  func updateLosesNothing() async throws {
    let (mine, theirs) = try await lamps()
    _ = try await mine.$level.write(0).committed
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lamp in [mine, theirs] {
        group.addTask { for _ in 0..<10 { try await lamp.$level.update { $0 + 0.03125 } } }
      }
      try await group.waitForAll()
    }
    #expect(await eventually { mine.level == 0.625 && theirs.level == 0.625 })
  }

  @Test("several fields of one change are one commit and one turn at every observer")
  func changeIsOneTurn() async throws {
    let (mine, theirs) = try await lamps()
    let seen = Protected<[[Bool]]>([])
    let token = theirs.$on.observe { on in seen.withLock { $0.append([on, theirs.level == 0.9]) } }
    let before = try #require(mine.shared).version.version
    let version = try await mine.change { lamp in
      lamp.on = true
      lamp.level = 0.9
    }.committed
    #expect(version > before)
    #expect(await eventually { theirs.on })
    // The new values show shortly before observers are notified.
    #expect(await eventually { seen.withLock { $0.count } > 1 })
    #expect(seen.withLock { $0 } == [[false, false], [true, true]])
    token.cancel()
  }

  @Test("a change that throws writes nothing")
  func changeThatThrows() async throws {
    struct Stop: Error {}
    let (mine, _) = try await lamps()
    let shared = try #require(mine.shared)
    // Sharing a model writes its description.
    #expect(await eventually { shared.version.version > 0 })
    let version = shared.version.version
    #expect(throws: Stop.self) {
      try mine.change { lamp in
        lamp.on = true
        throw Stop()
      }
    }
    #expect(!mine.on)
    #expect(shared.version.version == version)
  }

  @Test("a value outside the declared range is not written, and the status has the reason")
  func refusesOutOfRange() async throws {
    let (mine, theirs) = try await lamps()
    mine.level = 0.5
    #expect(await eventually { theirs.level == 0.5 })
    mine.level = 7
    #expect(mine.level == 0.5)
    guard case .problem(.rejected(let reason, _)) = mine.$level.status else {
      Issue.record("status is \(mine.$level.status)")
      return
    }
    #expect(reason.contains("0...1") || reason.contains("0.0...1.0"))
  }

  @Test("a value of another type leaves the last good one shown and overwrites nothing")
  func mismatchKeepsLastGood() async throws {
    let (mine, _) = try await lamps()
    mine.level = 0.5
    let raw = try right.model("lamp")
    #expect(await eventually { raw["level"]?.description == "0.5" && raw["label"] != nil })
    // The hub would refuse it while the description declares the level a number.
    try raw.write(
      Proposal(operations: [
        FieldOperation(.set, Names.description, try FieldValue(text: "{}")),
        FieldOperation(.set, "level", try FieldValue(text: "\"dim\"")),
      ]))
    #expect(
      await eventually {
        if case .problem(.cannotShow) = mine.$level.status { true } else { false }
      })
    #expect(mine.level == 0.5)
    #expect(raw["level"]?.description == "\"dim\"")
  }

  @Test("the first peer to share writes description and defaults, and the next finds them")
  func defaultsYield() async throws {
    let (mine, theirs) = try await lamps()
    #expect(await eventually { mine.shared?["level"] != nil })
    mine.level = 0.7
    #expect(await eventually { theirs.level == 0.7 })
    let third = try Peer(name: "third", hub: .inProcess(hub))
    let late = try await third.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { late.level == 0.7 })
    #expect(await eventually { late.shared?.modelDescription.fields["label"]?.type == .string })
  }

  @Test("a write without a hub shows immediately and is committed once there is one")
  func worksBeforeTheHub() async throws {
    let link = TestLink(to: hub, isCut: true)
    let early = try Peer(name: "early", hub: .inProcess(link))
    let lamp = try await early.share(Lamp.self, id: "lamp", on: .direct, timeout: .zero)
    lamp.level = 0.4
    #expect(lamp.level == 0.4)
    #expect(early.unconfirmed == 1)
    link.heal()
    #expect(await eventually { early.unconfirmed == 0 })
    let other = try await right.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(other.level == 0.4)
  }

  @Test(
    "a peer's name is made printable and cut to the hub's limit")
  func fittingName() async throws {
    let peer = try Peer(name: "a\u{1B}[2J\n\u{202E}b", hub: .inProcess(hub))
    #expect(peer.name == "a_[2J__b")
    #expect(await peer.whenLive(timeout: .seconds(20)))
    #expect(try Peer(name: "", hub: .inProcess(hub)).name == "peer")
    #expect(try Peer(name: "e" + String(repeating: "\u{301}", count: 60), hub: .inProcess(hub)).name.utf8.count == 63)
  }

  @Test("closing waits for outcomes and names the writes left without one")
  func closeNamesWhatIsLeft() async throws {
    let early = try Peer(name: "early", hub: .inProcess(TestLink(to: hub, isCut: true)))
    let lamp = try await early.share(Lamp.self, id: "lamp", on: .direct, timeout: .zero)
    let write = try lamp.$level.write(0.4)
    #expect(await early.close(flush: .zero) == ["lamp.level"])
    guard case .unknown = await write.outcome else {
      Issue.record("the write ended as \(await write.outcome)")
      return
    }
  }

  @Test("a closed peer's model, collection and presence calls throw that it has stopped")
  func closedPeer() async throws {
    let lamp = try await left.share(Lamp.self, id: "lamp", on: .direct)
    await left.close()
    let stopped = ShareError.stopped(.closed)
    #expect(stopped.description == "this peer has stopped (closed); start a new one")
    await #expect(throws: stopped) { try await left.share(Lamp.self, id: "lamp", on: .direct) }
    #expect(throws: stopped) { try left.model("lamp") }
    #expect(throws: stopped) { try left.models(Lamp.self, under: "lamps/") }
    #expect(throws: stopped) { try left.models(under: "lamps/") { _ in } }
    await #expect(throws: stopped) { try await left.presence(in: "lamp") }
    #expect(throws: WriteError.stopped(.closed)) { try lamp.$level.write(0.8) }
    await #expect(throws: WriteError.stopped(.closed)) { try await lamp.$level.update { $0 } }
  }

  @Test("closing returns once all writes have outcomes")
  func closingWaits() async throws {
    let (mine, theirs) = try await lamps()
    let writes = try (1...100).map { try mine.$level.write(Double($0) / 100) }
    #expect(await left.close(flush: .seconds(20)) == [])
    #expect(writes.allSatisfy { $0.outcomeSoFar != nil })
    #expect(await eventually { theirs.level == 1 })
  }

  @Test("closing also waits for writes made once all others have outcomes")
  func closingWaitsForMore() async throws {
    let transport = InterceptingTransport(hub)
    let left = try Peer(name: "left", hub: .inProcess(transport))
    let mine = try await left.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    let theirs = try await right.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { mine.shared?.record("level")?.committed != nil && left.unconfirmed == 0 })
    let (isUnderWay, isOver) = (Protected(false), Protected(false))
    let token = left.statuses.derived(\.unconfirmed).observe { count in
      if count > 0 { isUnderWay.withLock { $0 = true } }
      guard count == 0, isUnderWay.withLock({ $0 }), !isOver.withLock({ $0 }) else { return }
      isOver.withLock { $0 = true }
      for level in 1...100 { mine.level = Double(level) / 100 }
    }
    // A status may skip a write that ended before its delivery: the write is held until it was seen in flight.
    transport.cut()
    mine.level = 0.8
    #expect(await eventually { isUnderWay.withLock { $0 } })
    transport.heal()
    #expect(await left.close(flush: .seconds(20)) == [])
    #expect(isOver.withLock { $0 })
    #expect(await eventually { theirs.level == 1 })
    token.cancel()
  }

  @Test("a model that is no longer held is left")
  func leavesWhatNobodyHolds() async throws {
    var model: SharedModel? = try left.model("passing")
    #expect(await model?.whenCurrent(timeout: .seconds(20)) == true)
    weak let remembered = model
    model = nil
    #expect(await eventually { remembered == nil })
  }
}
