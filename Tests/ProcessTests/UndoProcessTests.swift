import BindingPeer
import Foundation
import Testing

private struct Lamp: Model {
  @Field(0...1) var level = 0.3
  @Field(policy: .add) var uses = 0
}

@Suite("Undo over restarts of real processes", .serialized)
struct UndoProcessTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func peer(_ name: String, keepsFile: Bool = false) throws -> Peer {
    let file = bench.folder.appendingPathComponent("outbox").path
    return try Peer(
      name: name, hub: HubLocation(bench.hub), configuration: .init(outbox: keepsFile ? .file(file) : .memory))
  }

  private func share(_ peer: Peer) async throws -> Lamp {
    try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
  }

  /// Waits, at most 20 s, until a peer shows this level and has no write without an outcome.
  private func shows(_ level: Double, _ lamp: Lamp) async -> Bool {
    let deadline = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < deadline {
      if lamp.level == level, lamp.status.unconfirmed == 0, lamp.status.isCurrent { return true }
      await Task.yield()
    }
    return false
  }

  @Test("steps outlive the restart of a hub, with a store and without", arguments: ["process", "memory"])
  func hubRestarts(durability: String) async throws {
    let hub = try bench.startHub(["--durability", durability])
    let lamp = try await share(try peer("editor"))
    // Not a default: what an undo restores is then in the store, too.
    _ = try await lamp.$level.write(0.3).committed
    let undoing = lamp.undoing
    _ = try await lamp.$level.write(0.8).committed
    _ = try await lamp.$uses.add(3).committed
    hub.send(SIGKILL)
    _ = hub.end()
    let again = try bench.startHub(["--durability", durability])
    #expect(await shows(0.8, lamp))
    #expect(await undoing.undo() == .done(fields: ["uses"], inexact: []))
    #expect(await undoing.undo() == .done(fields: ["level"], inexact: []))
    #expect(lamp.uses == 0 && lamp.level == 0.3)
    #expect(try bench.run("get", "lamp.level", "--raw").output.hasSuffix("0.3"))
    withExtendedLifetime(again) {}
  }

  @Test("steps outlive the restart of the program with its outbox file, and that of the hub")
  func peerRestarts() async throws {
    let hub = try bench.startHub()
    do {
      let first = try peer("editor", keepsFile: true)
      let lamp = try await share(first)
      _ = try await lamp.$level.write(0.3).committed
      _ = lamp.undoing
      _ = try await lamp.$level.write(0.8).committed
      _ = try await lamp.$level.write(0.9).committed
      #expect(await lamp.undo() != .nothing)
      await first.close()
    }
    hub.send(SIGKILL)
    _ = hub.end()
    let again = try bench.startHub()
    let second = try peer("editor", keepsFile: true)
    let lamp = try await share(second)
    let undoing = lamp.undoing
    // Two sets within a second are one step, whose undo is what can be redone.
    #expect(undoing.status.canRedo && !undoing.status.canUndo)
    #expect(await undoing.redo() == .done(fields: ["level"], inexact: []))
    #expect(lamp.level == 0.9)
    #expect(await undoing.undo() == .done(fields: ["level"], inexact: []))
    #expect(lamp.level == 0.3)
    await second.close()
    withExtendedLifetime(again) {}
  }

  @Test("what a terminal changed meanwhile is named, and stays")
  func terminal() async throws {
    let hub = try bench.startHub()
    let lamp = try await share(try peer("editor"))
    // Not a default: what an undo restores is then in the store, too.
    _ = try await lamp.$level.write(0.3).committed
    let undoing = lamp.undoing
    _ = try await lamp.$level.write(0.8).committed
    #expect(try bench.run("set", "lamp.level=0.5").code == 0)
    #expect(await shows(0.5, lamp))
    guard case .failed(let reason) = await undoing.undo() else { return #expect(Bool(false)) }
    #expect(reason.hasPrefix("level was changed by shell-") && reason.hasSuffix(" since"), "\(reason)")
    #expect(lamp.level == 0.5)
    withExtendedLifetime(hub) {}
  }
}
