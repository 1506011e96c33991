import BindbusTesting
import BindingHub
import BindingModel
import Foundation
import Logging
import Testing

@testable import BindingPeer

private func set(_ value: String) -> Proposal { Proposal(operations: [FieldOperation(.set, "level", json(value))]) }
private let addOne = Proposal(operations: [FieldOperation(.add, "n", json("1"))])

private struct Narrowed: Model {
  @Field(0...9) var level = 0.3
}

@Suite("A peer restarted with its outbox")
struct OutboxRestartTests {
  private let folder: OutboxFolder
  private let hub: Hub

  init() throws {
    folder = try OutboxFolder()
    var configuration = Hub.Configuration()
    configuration.listen = []
    configuration.heartbeat = .milliseconds(250)
    hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
  }

  private func peer(
    _ name: String, _ transport: any InProcessTransport, _ path: String? = nil, offlineAge: Duration = .seconds(10)
  ) throws -> Peer {
    var configuration = Peer.Configuration(outbox: .file(path ?? folder.path()))
    configuration.offlineAge = offlineAge
    return try Peer(
      name: name, hub: .inProcess(transport), configuration: configuration,
      logger: Logger(label: "peer", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  /// The hub's value, as another peer sees it.
  private func atTheHub(_ field: String) async throws -> String? {
    let reader = try Peer(name: "reader", hub: .inProcess(hub))
    let model = try reader.model("lamp")
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    return model[field]?.description
  }

  @Test("a write made without a hub shows after the restart, and is sent before later writes")
  func restart() async throws {
    let first = try peer("first", TestLink(to: hub, isCut: true))
    try first.model("lamp").write(set("0.4"))
    #expect(await first.close(flush: .zero) == ["lamp.level"])
    let link = TestLink(to: hub, isCut: true)
    let second = try peer("second", link)
    #expect(second.unconfirmed == 1 && second.restored.map(\.model) == ["lamp"])
    let old = try #require(second.restored.first).write
    let model = try second.model("lamp")
    #expect(model["level"]?.description == "0.4")
    let new = try model.write(set("0.6"))
    #expect(model["level"]?.description == "0.6")
    link.heal()
    let versions = (try await old.committed, try await new.committed)
    #expect(versions == (1, 2))
    #expect(model["level"]?.description == "0.6" && second.status.outbox == .kept)
    #expect(await second.close().isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path())).count == OutboxLog.headerBytes)
    #expect(try await atTheHub("level") == "0.6")
  }

  @Test("a write of an earlier run that the description no longer allows shows where the field is shared next")
  func misfit() async throws {
    let first = try peer("first", TestLink(to: hub, isCut: true))
    try first.model("lamp").write(set("7"))
    await first.close(flush: .zero)
    let tool = try Peer(name: "tool", hub: .inProcess(hub)).model("lamp")
    #expect(await tool.whenCurrent(timeout: .seconds(20)))
    let description = json(#"{"fields":{"level":{"type":"number","max":1}}}"#)
    _ = try await tool.write(Proposal(operations: [FieldOperation(.set, Names.description, description)])).committed
    let second = try peer("second", hub)
    #expect(await eventually { second.restored.isEmpty })
    let lamp = try await second.share(Narrowed.self, id: "lamp", on: .direct, timeout: .seconds(20))
    let words = "rejected: refused: lamp.level: 7 is not in ...1"
    #expect(lamp.$level.status.description == words, "\(lamp.$level.status)")
    // Another reference to the field shows it too, until its author answers.
    let again = try await second.share(Narrowed.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(again.$level.status.description == words)
    _ = try await again.$level.write(0.5).committed
    #expect(await eventually { !again.$level.status.description.hasPrefix("rejected") })
    let last = try await second.share(Narrowed.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(!last.$level.status.description.hasPrefix("rejected"))
  }

  @Test("old and new writes are sent under different tags, and the old tag leaves the hub")
  func identities() async throws {
    let first = try peer("first", TestLink(to: hub, isCut: true))
    let tag = first.tag
    try first.model("lamp").write(set("0.4"))
    await first.close(flush: .zero)
    let second = try peer("second", hub)
    let model = try second.model("lamp")
    #expect(await eventually { second.restored.isEmpty && model.record("level")?.origin.tag == tag })
    #expect(second.tag != tag)
    _ = try await model.write(set("0.6")).committed
    #expect(await eventually { model.record("level")?.origin.tag == second.tag })
  }

  @Test("a model that is not shared again still gets its writes")
  func nobodyShares() async throws {
    let first = try peer("first", TestLink(to: hub, isCut: true))
    for _ in 0..<3 { try first.model("lamp").write(addOne) }
    await first.close(flush: .zero)
    let second = try peer("second", hub)
    #expect(await eventually { second.restored.isEmpty })
    #expect(try await atTheHub("n") == "3")
  }

  @Test("several runs without a hub are sent in order, and none yields to another", arguments: [0, 3_600])
  func severalRuns(offlineAge: Int) async throws {
    for value in ["0.1", "0.2", "0.3"] {
      let peer = try peer("offline", TestLink(to: hub, isCut: true))
      try peer.model("lamp").write(set(value))
      try peer.model("lamp").write(addOne)
      await peer.close(flush: .zero)
    }
    let link = TestLink(to: hub, isCut: true)
    let last = try peer("last", link, offlineAge: .seconds(offlineAge))
    let model = try last.model("lamp")
    #expect(model["level"]?.description == "0.3" && model["n"]?.description == "3" && last.unconfirmed == 6)
    link.heal()
    #expect(await eventually { last.unconfirmed == 0 })
    #expect(try await atTheHub("n") == "3")
    #expect(try await atTheHub("level") == "0.3")
  }

  @Test("writes in flight when the program died apply once each, and the file's copy stops the original")
  func exactlyOnce() async throws {
    var total = 0
    for round in 0..<8 {
      let path = folder.path("round\(round)")
      let writer = try peer("writer", hub, path)
      let model = try writer.model("lamp")
      if round % 2 == 0 { #expect(await model.whenCurrent(timeout: .seconds(20))) }
      for _ in 0..<50 { try model.write(addOne) }
      total += 50
      let seen = Int.random(in: 0...50)
      #expect(await eventually { writer.unconfirmed <= 50 - seen })
      // The file as a crash at this moment would leave it. The original lives on, which makes it harder.
      let copy = try folder.copy("round\(round)", to: "copy\(round)")
      let second = try peer("second", hub, copy)
      #expect(await eventually { second.restored.isEmpty })
      if second.counters.connections > 0, !writer.status.phase.isStopped {
        // With nothing left in the copy, only the original acts under its identity.
        #expect(await eventually { writer.unconfirmed == 0 || writer.status.phase.isStopped })
      }
      #expect(try await atTheHub("n") == "\(total)")
      await second.close(flush: .zero)
      await writer.close(flush: .zero)
    }
  }

  @Test("of two peers with copies of one outbox the later stops the earlier, whose writes then throw")
  func fenced() async throws {
    let first = try peer("first", hub)
    let model = try first.model("lamp")
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    // The copy holds the write, whatever became of it at the hub meanwhile.
    try model.write(addOne)
    let copy = try folder.copy(to: "copy")
    let second = try peer("second", hub, copy)
    if second.restored.isEmpty { return }
    #expect(await eventually { first.status.phase == .stopped(.fenced) })
    #expect(throws: WriteError.stopped(.fenced)) { try model.write(addOne) }
    #expect(await eventually { second.restored.isEmpty })
    #expect(try await atTheHub("n") == "1")
  }

  @Test("a full outbox file is reported in the status, and a write that it lacks is sent once there is room")
  func fullDisk() async throws {
    let isFull = Protected(false)
    let file = try OutboxFile.open(folder.path()) { descriptor, bytes in
      if isFull.withLock({ $0 }) {
        errno = ENOSPC
        return -1
      }
      return Foundation.write(descriptor, bytes.baseAddress, bytes.count)
    }
    let (hub, log) = (hub, Logger(label: "peer", factory: { _ in SwiftLogNoOpLogHandler() }))
    let peer = try Peer(
      name: "full", file: file, options: SessionOptions(), log: log, makeLink: { InProcessPeerLink(transport: hub) })
    let model = try peer.model("lamp")
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    isFull.withLock { $0 = true }
    let pending = try model.write(set("0.4"))
    guard case .memoryOnly(let reason) = peer.status.outbox else {
      Issue.record("\(peer.status.outbox)")
      return
    }
    #expect(reason.contains("space") && model["level"]?.description == "0.4")
    let heartbeats = peer.counters.framesReceived
    #expect(await eventually { peer.counters.framesReceived > heartbeats + 8 })
    #expect(pending.outcomeSoFar == nil && peer.status.phase == .live)
    isFull.withLock { $0 = false }
    #expect(try await pending.committed == 1)
    #expect(peer.status.outbox == .kept)
  }
}
