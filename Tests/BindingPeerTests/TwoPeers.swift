import BindingHub
import BindingPeer

/// Two peers of one hub, all in this process.
struct TwoPeers {
  let left: Peer
  let right: Peer

  init() throws {
    let hub = try Hub.embedded()
    left = try Peer(name: "left", hub: .inProcess(hub))
    right = try Peer(name: "right", hub: .inProcess(hub))
  }

  /// The model `lamp`, as one of them shares it.
  func share<Shared: Model>(_ type: Shared.Type, by peer: Peer) async throws -> Shared {
    try await peer.share(type, id: "lamp", on: .direct, timeout: .seconds(20))
  }
}
