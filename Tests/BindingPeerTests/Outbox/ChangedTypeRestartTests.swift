import BindbusTesting
import BindingHub
import BindingPeer
import BindingProtocol
import Foundation
import Testing

/// A program with a field of another type is killed with writes that no hub has decided.
@Suite("A changed type over a restart")
struct ChangedTypeRestartTests {
  private let folder: OutboxFolder
  private let hub: Hub
  private let other: Peer

  init() async throws {
    folder = try OutboxFolder()
    var configuration = Hub.Configuration()
    configuration.listen = []
    configuration.heartbeat = .milliseconds(250)
    hub = try Hub(configuration: configuration)
    try hub.start()
    other = try Peer(name: "other", hub: .inProcess(hub))
  }

  private func stored() async throws -> String? {
    let model = try other.model("lamp")
    #expect(await model.whenCurrent(timeout: .seconds(20)))
    return model["brightness"]?.description
  }

  /// The next process has what a killed one left, and no hub; then it finds one. It sees its own write at first.
  private func restart<M: Model>(
    as release: M.Type, sees isMine: (M) -> Bool, in path: String
  ) async throws -> (peer: Peer, model: M, write: PendingWrite) {
    let link = TestLink(to: hub, isCut: true)
    let peer = try Peer(name: "kiosk", hub: .inProcess(link), keeping: .file(path))
    let write = try #require(peer.restored.first).write
    let model = try await peer.share(M.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(isMine(model))
    link.heal()
    return (peer, model, write)
  }

  @Test(
    "a pending write in the old form is committed, or refused once the description was replaced, by either release",
    arguments: [false, true], [false, true])
  func pending(isReplaced: Bool, isNewer: Bool) async throws {
    _ = try await other.share(ChangedType.First.self, id: "lamp", on: .direct, timeout: .seconds(20))
    let link = TestLink(to: hub)
    let killed = try Peer(name: "kiosk", hub: .inProcess(link), keeping: .file(folder.path("keep")))
    let before = try await killed.share(ChangedType.Second.self, id: "lamp", on: .direct, timeout: .seconds(20))
    #expect(await eventually { before.status.isCurrent && killed.unconfirmed == 0 })
    #expect(before.level == 0.3)
    #expect(
      await eventually {
        let kept = try? KeptModels(readingFrom: folder.path("keep"))
        return kept?["lamp"].fields.contains { $0.name == "brightness" } ?? false
      })
    link.cut()
    #expect(await eventually { !killed.status.isLive })
    before.level = 0.5
    // What the file has now is what a kill leaves.
    let left = folder.path("left")
    try FileManager.default.copyItem(atPath: folder.path("keep"), toPath: left)
    _ = await killed.close(flush: .zero)
    if isReplaced {
      let third = try Peer(name: "third", hub: .inProcess(hub))
      let model = try await third.share(ChangedType.Second.self, id: "lamp", on: .direct, timeout: .seconds(20))
      #expect(await eventually { model.status.isCurrent && third.unconfirmed == 0 })
      _ = try await model.replaceDescription().committed
      #expect(await eventually { model.shared?["brightness"]?.description == "0.3" })
    }
    let write: PendingWrite
    var (newer, older): (ChangedType.Second?, ChangedType.First?)
    let peer: Peer
    if isNewer {
      let next = try await restart(as: ChangedType.Second.self, sees: { $0.level == 0.5 }, in: left)
      (peer, newer, write) = (next.peer, next.model, next.write)
    } else {
      let next = try await restart(as: ChangedType.First.self, sees: { $0.brightness == 50 }, in: left)
      (peer, older, write) = (next.peer, next.model, next.write)
    }
    if isReplaced {
      guard case .refused(let refusal) = await write.outcome else { return #expect(Bool(false), "it is not refused") }
      #expect(refusal.code == .doesNotFit)
      #expect(await eventually { newer.map { $0.level == 0.3 } ?? true })
      #expect(try await stored() == "0.3")
    } else {
      #expect(try await write.committed > 0)
      #expect(await eventually { newer.map { $0.level == 0.5 } ?? (older?.brightness == 50) })
      let model = try other.model("lamp")
      #expect(await eventually { model["brightness"]?.description == "50" })
    }
    #expect(peer.unconfirmed == 0)
  }
}
