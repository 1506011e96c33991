import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import Foundation
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
}

@Suite("A barrier: others have applied a version")
struct BarrierTests {
  private let hub: Hub
  private let transport: InterceptingTransport
  private let desk: Peer
  private let kitchen: Peer

  init() throws {
    hub = try Hub.embedded()
    transport = InterceptingTransport(hub)
    desk = try Peer(name: "desk", hub: .inProcess(hub))
    kitchen = try Peer(name: "kitchen", hub: .inProcess(transport))
  }

  private func share(_ peer: Peer) async throws -> Lamp {
    let lamp = try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { lamp.shared?["level"] != nil })
    return lamp
  }

  @Test("once a barrier is passed, every peer that shares the model reads the value without waiting")
  func all() async throws {
    let mine = try await share(desk)
    let theirs = try (0..<3).map { try Peer(name: "peer\($0)", hub: .inProcess(hub)).model("lamp") }
    for model in theirs { #expect(await model.whenCurrent(timeout: .seconds(20))) }
    for number in 1...20 {
      let version = try await mine.$level.write(Double(number) / 32).committed
      #expect(try await mine.applied(version, by: .all, timeout: .seconds(20)) == 4)
      for model in theirs { #expect(model["level"]?.description == "\(Double(number) / 32)") }
    }
  }

  @Test("a barrier that times out names the peers that have not applied the version")
  func names() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    transport.change { message in
      switch message {
      case .commits, .head, .heads, .catchup: nil
      default: message
      }
    }
    let version = try await mine.$level.write(0.8).committed
    let error = await #expect(throws: BarrierError.self) {
      try await mine.applied(version, by: .all, timeout: .milliseconds(300))
    }
    #expect(error == .notApplied(by: ["kitchen"], applied: 1, of: 2))
    #expect(error?.description == "1 of 2 sessions have applied it; not yet: kitchen")
    #expect(theirs.level == 0.3)
    #expect(try await mine.applied(version, by: .count(1), timeout: .seconds(20)) == 1)
    transport.change { $0 }
    #expect(try await mine.applied(version, timeout: .seconds(20)) == 2)
  }

  @Test("a lost barrier question or answer is repeated with the next heartbeat")
  func lost() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    let left = Protected(1)
    transport.keep { message in
      // The peer's own report with each heartbeat would do as well.
      if case .alive = message { return true }
      guard case .report = message else { return false }
      return left.withLock { left in
        left -= 1
        return left >= 0
      }
    }
    let version = try await mine.$level.write(0.8).committed
    #expect(try await mine.applied(version, by: .all, timeout: .seconds(20)) == 2)
    #expect(left.withLock { $0 } < 0)
    withExtendedLifetime(theirs) {}
  }

  @Test("a peer that closes during a barrier no longer counts")
  func closes() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    transport.change { message in if case .commits = message { nil } else { message } }
    transport.keep { message in if case .report = message { true } else { false } }
    let version = try await mine.$level.write(0.8).committed
    async let count = mine.applied(version, timeout: .seconds(20))
    await kitchen.close()
    #expect(try await count == 1)
    withExtendedLifetime(theirs) {}
  }

  @Test("a barrier outlives a lost connection of the waiting peer")
  func reconnects() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    let version = try await theirs.$level.write(0.8).committed
    let asked = Protected(0)
    transport.keep { [transport] message in
      guard case .awaitApplied = message else { return false }
      let isFirst = asked.withLock { asked in
        asked += 1
        return asked == 1
      }
      if isFirst {
        transport.cut()
        transport.heal()
      }
      return isFirst
    }
    #expect(try await theirs.applied(version, by: .all, timeout: .seconds(20)) == 2)
    #expect(asked.withLock { $0 } == 2)
    withExtendedLifetime(mine) {}
  }

  @Test("a barrier works over sockets, and a closed peer has left when close returns")
  func sockets() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UInt32.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Hub.Configuration()
    configuration.listen = [try HubAddress("ipc://\(folder.path)/hub.sock")]
    let hub = try Hub(configuration: configuration)
    try hub.start()
    let (near, far) = (
      try Peer(name: "near", hub: .at(configuration.listen)), try Peer(name: "far", hub: .at(configuration.listen))
    )
    let (mine, theirs) = (try await share(near), try await share(far))
    for number in 1...10 {
      let version = try await mine.$level.write(Double(number) / 32).committed
      #expect(try await mine.applied(version, by: .all, timeout: .seconds(20)) == 2)
      #expect(theirs.shared?["level"]?.description == "\(Double(number) / 32)")
    }
    let version = try await theirs.$level.write(0.5).committed
    await far.close()
    #expect(try await mine.applied(version, by: .all, timeout: .seconds(20)) == 1)
    await near.close()
    hub.stop()
  }

  @Test("a hub without barriers is reported as too old, and not asked")
  func oldHub() async throws {
    transport.change { message in
      guard case .welcome(var welcome) = message else { return message }
      welcome.capabilities = []
      return .welcome(welcome)
    }
    let isAsked = Protected(false)
    transport.keep { message in
      if case .awaitApplied = message { isAsked.withLock { $0 = true } }
      return false
    }
    // The kitchen may have been welcomed before.
    let lamp = try await share(Peer(name: "late", hub: .inProcess(transport)))
    await #expect(throws: BarrierError.hubTooOld) { try await lamp.applied(0, timeout: .seconds(20)) }
    #expect(!isAsked.withLock { $0 })
  }

  @Test("a barrier without a hub ends with its timeout, its peer or its task")
  func ends() async throws {
    transport.cut()
    let lamp = try await kitchen.share(Lamp.self, id: "lamp", on: .direct, timeout: .zero)
    await #expect(throws: BarrierError.noAnswer) { try await lamp.applied(1, timeout: .milliseconds(20)) }
    let cancelled = Task { try await lamp.applied(1, timeout: .seconds(600)) }
    cancelled.cancel()
    await #expect(throws: BarrierError.cancelled) { try await cancelled.value }
    let stopped = Task { try await lamp.applied(1, timeout: .seconds(600)) }
    await kitchen.close(flush: .zero)
    await #expect(throws: BarrierError.stopped(.closed)) { try await stopped.value }
    await #expect(throws: BarrierError.notShared) { try await Lamp().applied(1, timeout: .seconds(1)) }
  }

  @Test("a diverged replica detects it, heals, and reports it to the hub")
  func heals() async throws {
    let (mine, theirs) = (try await share(desk), try await share(kitchen))
    let healed = Protected<UInt32>(0)
    transport.keep { message in
      if case .report(let entries) = message { healed.withLock { $0 = max($0, entries.map(\.healed).max() ?? 0) } }
      return false
    }
    // The transport falsifies the value.
    transport.change { message in
      guard case .commits(var group) = message else { return message }
      for index in group.commits.indices {
        for at in group.commits[index].changes.indices {
          group.commits[index].changes[at].value = FieldValue(bytes: Array("0.125".utf8))
        }
      }
      return .commits(group)
    }
    let shown = Protected<[Double]>([])
    let token = theirs.$level.observe { level in shown.withLock { $0.append(level) } }
    mine.level = 0.75
    #expect(await eventually { shown.withLock { $0 } == [0.3, 0.125, 0.75] })
    #expect(await eventually { healed.withLock { $0 } == 1 })
    token.cancel()
  }
}
