import BindbusTesting
import BindingHub
import BindingPeer
import BindingProtocol
import Foundation
import Logging
import Testing

private struct Lamp: Model {
  @Field var level = 0.3
}

@Suite("Peers and hubs that run in tasks")
struct RunTests {
  @Test("the run of a cancelled task waits for the outcomes of what was written, and closes the peer")
  func cancelled() async throws {
    let link = TestLink(to: try Hub.embedded(), isCut: true)
    let peer = try Peer(name: "running", hub: .inProcess(link))
    let running = Task { try await peer.run(flush: .seconds(20)) }
    let model = try peer.model("lamp")
    let write = try model.write("on", to: "state", editedFrom: "")
    running.cancel()
    // Only now is there a hub: a run that did not wait would have closed the peer.
    link.heal()
    try await running.value
    #expect(try await write.committed == 1)
    #expect(peer.status.isStopped)
  }

  @Test("a run ends with the peer, whoever closes it")
  func closed() async throws {
    let peer = try Peer(name: "running", hub: .inProcess(try Hub.embedded()))
    let running = Task { try await peer.run() }
    #expect(await peer.whenLive(timeout: .seconds(20)))
    await peer.close()
    try await running.value
    #expect(peer.status.isStopped)
  }

  @Test("a hub serves for as long as its task, and its address is free then")
  func hub() async throws {
    let folder = try Folder()
    let first = try hub(at: folder.address)
    let serving = Task { try await first.run() }
    try #require(await eventually { !first.addresses.isEmpty })
    let picked = try #require(first.addresses.first)
    let peer = try Peer(name: "served", hub: .at([picked]))
    let lamp = try await peer.share(Lamp.self, id: "lamp", timeout: .seconds(20))
    #expect(lamp.level == 0.3)
    serving.cancel()
    try await serving.value
    let second = try hub(at: picked)
    try second.start()
    #expect(second.stop())
    await peer.close(flush: .zero)
  }

  @Test("the run of a hub that is stopped ends; one that cannot listen throws why")
  func stopped() async throws {
    let folder = try Folder()
    let first = try hub(at: folder.address)
    let serving = Task { try await first.run() }
    try #require(await eventually { !first.addresses.isEmpty })
    let second = try hub(at: try #require(first.addresses.first))
    await #expect(throws: HubError.self) { try await second.run() }
    #expect(first.stop())
    try await serving.value
  }

  /// A folder for a socket, which goes with it.
  private final class Folder {
    private let path = FileManager.default.temporaryDirectory
      .appending(path: "bindbus-\(UInt32.random(in: 0 ... .max))")
    let address: HubAddress

    init() throws {
      try FileManager.default.createDirectory(
        at: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      address = try HubAddress("ipc://\(path.path)/hub.sock")
    }

    deinit { try? FileManager.default.removeItem(at: path) }
  }

  private func hub(at address: HubAddress) throws -> Hub {
    var configuration = Hub.Configuration()
    configuration.listen = [address]
    return try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
  }
}
