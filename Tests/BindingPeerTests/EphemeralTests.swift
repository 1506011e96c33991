import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Dispatch
import Testing

private struct Desk: Model {
  @Field var on = false
  @Field(.ephemeral) var cursor: Int? = nil
  @Field(.ephemeral, 0...1) var load = 0.0
}

private struct Sensor: Model {
  @Field(.ephemeral) var temperature: Double? = nil
}

@Suite("Ephemeral fields and presence between peers")
struct EphemeralFieldTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  private func desks() async throws -> (Desk, Desk) {
    (
      try await left.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20)),
      try await right.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20))
    )
  }

  @Test("an ephemeral field is written and seen like any other")
  func seen() async throws {
    let (mine, theirs) = try await desks()
    mine.cursor = 7
    #expect(mine.cursor == 7)
    #expect(await eventually { theirs.cursor == 7 })
  }

  @Test("an ephemeral field vanishes with its writer, and its default shows")
  func goes() async throws {
    let (mine, theirs) = try await desks()
    mine.cursor = 7
    mine.on = true
    #expect(await eventually { theirs.cursor == 7 && theirs.on })
    await left.close()
    #expect(await eventually { theirs.cursor == nil })
    #expect(theirs.on)
  }

  @Test("another peer's write to an ephemeral field is refused and reverted")
  func belongs() async throws {
    let (mine, theirs) = try await desks()
    _ = try await mine.$cursor.write(7).committed
    #expect(await eventually { theirs.cursor == 7 })
    let outcome = try await theirs.$cursor.write(8).outcome
    guard case .refused(let refusal) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(refusal.code == .notOwner)
    #expect(await eventually { theirs.cursor == 7 })
  }

  @Test("a released ephemeral field can be written by other peers")
  func released() async throws {
    let (mine, theirs) = try await desks()
    _ = try await mine.$cursor.write(7).committed
    _ = try await mine.$cursor.release().committed
    #expect(mine.cursor == nil)
    _ = try await theirs.$cursor.write(8).committed
    #expect(await eventually { mine.cursor == 8 })
  }

  @Test("a declared range applies to ephemeral fields")
  func range() async throws {
    let (mine, _) = try await desks()
    mine.load = 3
    #expect(mine.load == 0)
  }

  @Test("ephemeral defaults are not written")
  func noDefaults() async throws {
    let (_, theirs) = try await desks()
    #expect(await eventually { theirs.shared?.modelDescription.fields["cursor"]?.isEphemeral == true })
    #expect(theirs.shared?.record("cursor")?.committed == nil)
    #expect(theirs.shared?.modelDescription.fields["on"]?.isEphemeral == false)
  }

  @Test("a change accepts stored fields only")
  func mixed() async throws {
    let (mine, _) = try await desks()
    #expect(throws: FieldError.mixed(field: "cursor")) {
      try mine.change {
        $0.on = true
        $0.cursor = 3
      }
    }
    #expect(!mine.on)
    #expect(mine.cursor == nil)
  }

  @Test("a model may have ephemeral fields only")
  func onlyEphemeral() async throws {
    let mine = try await left.share(Sensor.self, id: "sensor", on: .direct, timeout: .seconds(20))
    let theirs = try await right.share(Sensor.self, id: "sensor", on: .direct, timeout: .seconds(20))
    #expect(mine.shared?.id == "sensor")
    mine.temperature = 21.5
    #expect(await eventually { theirs.temperature == 21.5 })
  }

  @Test("presence lists the peers that share the model, in order of arrival, with their announcements")
  func presence() async throws {
    // A peer leaves a model that it no longer holds.
    let (mine, theirs) = try await desks()
    let here = try await mine.presence(timeout: .seconds(20))
    #expect(await eventually { here.peers.map(\.name) == ["left", "right"] })
    #expect(here.peers.map(\.tag) == [left.tag, right.tag])
    #expect(here.peers.allSatisfy { $0.announcement == nil })
    try here.announce("busy")
    #expect(await eventually { here.peers.first?.announcement == .string("busy") })
    try here.announce(json: nil)
    #expect(await eventually { here.peers.first?.announcement == nil })
    withExtendedLifetime(theirs) {}
  }

  @Test("observers of presence are notified of arrivals and departures")
  func comesAndGoes() async throws {
    let mine = try await left.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20))
    let here = try await mine.presence(timeout: .seconds(20))
    let seen = Protected<[[String]]>([])
    let token = here.observe { peers in seen.withLock { $0.append(peers.map(\.name)) } }
    let theirs = try await right.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20))
    #expect(await eventually { seen.withLock { $0.last == ["left", "right"] } })
    #expect(theirs.shared != nil)
    await right.close()
    #expect(await eventually { seen.withLock { $0.last == ["left"] } })
    token.cancel()
    withExtendedLifetime((here, mine)) {}
  }

  @Test("a peer that reads a model without types is present too")
  func plainReaders() async throws {
    let model = try right.model("desk")
    let mine = try await left.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20))
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    let here = try await mine.presence(timeout: .seconds(20))
    #expect(await eventually { Set(here.peers.map(\.name)) == ["left", "right"] })
    withExtendedLifetime(model) {}
  }
}

@Suite("A model's owner")
struct OwnershipTests {
  private let hub: Hub
  private let left: Peer
  private let right: Peer

  init() throws {
    hub = try Hub.embedded()
    left = try Peer(name: "driver", hub: .inProcess(hub))
    right = try Peer(name: "panel", hub: .inProcess(hub))
  }

  private func desks() async throws -> (Desk, Desk) {
    (
      try await left.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20)),
      try await right.share(Desk.self, id: "desk", on: .direct, timeout: .seconds(20))
    )
  }

  @Test("the owner's closure receives the resulting model and the writer")
  func sees() async throws {
    let (mine, theirs) = try await desks()
    let received = Protected<[(Bool, String)]>([])
    let ownership = try await mine.validate { new, by in received.withLock { $0.append((new.on, by.name)) } }
    _ = try await theirs.$on.write(true).committed
    #expect(received.withLock { $0.map(\.0) } == [true])
    #expect(received.withLock { $0.map(\.1) } == ["panel"])
    ownership.release()
  }

  @Test("an error thrown by the owner's closure is the reason of the refusal")
  func refuses() async throws {
    let (mine, theirs) = try await desks()
    let ownership = try await mine.validate { new, _ in if new.on { throw RefusalError("not at night") } }
    do {
      _ = try await theirs.$on.write(true).committed
      Issue.record("it was committed")
    } catch let rejection as RejectionError {
      #expect(rejection.description.contains("driver says: not at night"))
    }
    #expect(await eventually { !theirs.on })
    #expect(!mine.on)
    mine.on = true
    #expect(await eventually { theirs.on })
    ownership.release()
  }

  @Test("after an owner's release or end every peer writes freely")
  func released() async throws {
    let (mine, theirs) = try await desks()
    var ownership: Ownership? = try await mine.validate { _, _ in throw RefusalError("never") }
    await #expect(throws: RejectionError.self) { _ = try await theirs.$on.write(true).committed }
    ownership = nil
    let end = DispatchTime.now().uptimeNanoseconds + 20_000_000_000
    var isFree = false
    while !isFree, DispatchTime.now().uptimeNanoseconds < end {
      if case .committed? = try? await theirs.$on.write(true).outcome { isFree = true }
    }
    #expect(isFree)
    #expect(ownership == nil)
  }

  @Test("a second owner is refused, in the same peer and in others")
  func second() async throws {
    let (mine, theirs) = try await desks()
    let ownership = try await mine.validate { _, _ in }
    await #expect(throws: RefusalError.self) { _ = try await mine.validate { _, _ in } }
    await #expect(throws: RejectionError.self) { _ = try await theirs.validate { _, _ in } }
    ownership.release()
  }
}
