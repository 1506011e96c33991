import BindbusTesting
import BindingHub
import BindingPeer
import Testing

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

extension TwoPeers {
  /// Replaces the description once all declarations are decided.
  func narrow(to text: String, by peer: Peer) async throws {
    let tool = try peer.model("lamp")
    #expect(await eventually { left.unconfirmed == 0 && right.unconfirmed == 0 && tool.isCurrent })
    let description = try FieldValue(text: text)
    _ = try await tool.write(Proposal(operations: [FieldOperation(.set, "@description", description)])).committed
    let seen = [try left.model("lamp"), try right.model("lamp")]
    #expect(await eventually { seen.allSatisfy { $0["@description"] == description } })
  }
}
