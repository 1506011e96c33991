import BindbusTesting
import BindingHub
import BindingModel
import Foundation
import Logging
import Testing

@testable import BindingPeer

private struct Lamp: Model {
  @Field var level = 0.1
  @Field var name = "desk"
}

@Suite("A peer restarted with its keep file")
struct KeepRestartTests {
  private let folder: OutboxFolder
  private let hub: Hub
  private let quiet = Logger(label: "quiet", factory: { _ in SwiftLogNoOpLogHandler() })

  init() throws {
    folder = try OutboxFolder()
    var configuration = Hub.Configuration()
    configuration.listen = []
    configuration.heartbeat = .milliseconds(250)
    hub = try Hub(configuration: configuration, logger: quiet)
    try hub.start()
  }

  private func peer(
    _ transport: any InProcessTransport, durability: OutboxStorage.Durability = .process, only: [String] = [""]
  ) throws -> Peer {
    try Peer(
      name: "keeper", hub: .inProcess(transport),
      keeping: .file(folder.path("keep"), durability: durability, only: only), logger: quiet)
  }

  private func isInFile(_ text: String) -> Bool {
    FileManager.default.contents(atPath: folder.path("keep"))?.range(of: Data(text.utf8)) != nil
  }

  @Test(
    "a start without a hub shows the last values at once, stale; with one, only what was committed since is sent",
    arguments: [OutboxStorage.Durability.process, .disk])
  func start(durability: OutboxStorage.Durability) async throws {
    let other = try Peer(name: "other", hub: .inProcess(hub), logger: quiet)
    let model = try other.model("lamp")
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    let many = (0..<200).map { FieldOperation(.set, "f\($0)", json("\($0)")) }
    _ = try await model.write(Proposal(operations: many)).committed
    do {
      let first = try peer(hub, durability: durability)
      let lamp = try await first.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(20))
      lamp.level = 0.7
      #expect(await eventually { first.unconfirmed == 0 && lamp.status.isCurrent })
      #expect(await eventually { !first.runtime.state.withLock { $0.session.hasDeferredOutcomes } })
      #expect(await first.close(flush: .seconds(20)).isEmpty)
    }
    let written = try await model.write(Proposal(operations: [FieldOperation(.set, "f7", json("77"))])).committed
    let link = TestLink(to: hub, isCut: true)
    let second = try peer(link, durability: durability)
    let began = ContinuousClock.now
    let lamp = try await second.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(60))
    // Without kept values it waits for a hub.
    #expect(ContinuousClock.now - began < .seconds(30))
    #expect(lamp.level == 0.7 && second.restored.isEmpty)
    guard case .stale(let version, let since) = lamp.$level.status else {
      Issue.record("\(lamp.$level.status)")
      return
    }
    #expect(version > 0 && since <= .now && lamp.status.staleSince == since && !lamp.status.isCurrent)
    let shared = try second.model("lamp")
    #expect(shared["f7"]?.description == "7" && shared["f199"]?.description == "199")
    link.heal()
    #expect(await shared.whenCurrent(timeout: .seconds(20)))
    #expect(await eventually { shared.version.version >= written && shared["f7"]?.description == "77" })
    #expect(second.counters.snapshots == 0 && second.counters.deltas == 1)
    await second.close()
  }

  @Test("a write that died with its program shows once over the kept values, and applies once")
  func pending() async throws {
    do {
      let first = try peer(hub)
      let model = try first.model("lamp")
      #expect(await model.whenCurrent(timeout: .seconds(20)))
      _ = try await model.write(Proposal(operations: [FieldOperation(.set, "n", json("5"))])).committed
      await first.close()
    }
    let link = TestLink(to: hub, isCut: true)
    do {
      let away = try peer(link)
      let model = try away.model("lamp")
      #expect(model["n"]?.description == "5")
      try model.write(Proposal(operations: [FieldOperation(.add, "n", json("2"))]))
      #expect(model["n"]?.description == "7")
      await away.close(flush: .zero)
      // What the next run begins with is what this one shows to the end.
      #expect(model["n"]?.description == "7")
    }
    let kept = try KeptModels(readingFrom: folder.path("keep"))["lamp"]
    #expect(kept.fields.map(\.value.description) == ["7"] && kept.fields.map(\.isPending) == [true])
    let again = try peer(link)
    let model = try again.model("lamp")
    #expect(model["n"]?.description == "7" && again.restored.count == 1)
    link.heal()
    #expect(await eventually { again.restored.isEmpty && model.isCurrent })
    #expect(model["n"]?.description == "7")
    await again.close()
  }

  @Test("with .disk the outcomes of earlier runs end up in the file too, and the run leaves it")
  func earlierRuns() async throws {
    let link = TestLink(to: hub, isCut: true)
    var log: LogID = 0
    do {
      let away = try peer(link, durability: .disk)
      for _ in 0..<3 { try away.model("lamp").write(Proposal(operations: [FieldOperation(.add, "n", json("1"))])) }
      await away.close(flush: .zero)
    }
    do {
      let next = try peer(link, durability: .disk)
      let model = try next.model("lamp")
      link.heal()
      #expect(await eventually { next.restored.isEmpty && model["n"]?.description == "3" })
      #expect(await eventually { next.runtime.state.withLock { $0.previousRuns?.current == nil } })
      log = try #require(next.status.logID)
      #expect(await next.close(flush: .seconds(20)).isEmpty)
    }
    let file = try OutboxFile.open(folder.path("keep"), keepsReplicas: true)
    #expect(file.unfinished.isEmpty && file.takeReplicas()[log, "lamp"] != nil)
  }

  @Test("only the models below the prefixes are kept, and none above its limit")
  func limits() async throws {
    var keeping = Peer.Keeping.file(folder.path("keep"), only: ["shop/", "lamp"])
    keeping.maxModelBytes = 1_000
    let first = try Peer(name: "keeper", hub: .inProcess(hub), keeping: keeping, logger: quiet)
    for id in ["shop/a", "shop/large", "lamp", "desk"] {
      let model = try first.model(id)
      let text = "\"\(String(repeating: "x", count: id == "shop/large" ? 2_000 : 10))\""
      _ = try await model.write(Proposal(operations: [FieldOperation(.set, "t", json(text))])).committed
    }
    #expect(await eventually { ["shop/a", "lamp"].allSatisfy(isInFile) })
    await first.close()
    #expect(try KeptModels(readingFrom: folder.path("keep")).models == ["lamp", "shop/a"])
  }

  @Test("a keep file of another log shows its values until a hub answers, which are then set aside")
  func otherLog() async throws {
    do {
      let first = try peer(hub)
      _ = try await first.model("lamp").write(Proposal(operations: [FieldOperation(.set, "n", json("5"))])).committed
      await first.close()
    }
    let link = TestLink(to: try Hub.embedded(), isCut: true)
    let second = try peer(link)
    let model = try second.model("lamp")
    #expect(model["n"]?.description == "5")
    link.heal()
    #expect(await eventually { model.isCurrent && model["n"] == nil })
    await second.close()
    let third = try peer(hub)
    let back = try third.model("lamp")
    #expect(await eventually { back.isCurrent && back["n"]?.description == "5" })
    await third.close()
  }
}
