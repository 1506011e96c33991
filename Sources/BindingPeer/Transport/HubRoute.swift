import BindingKeys
import BindingProtocol
import ZeroMQ

/// The way to a hub: its addresses, and what is known of one that this user has joined.
struct HubRoute: Sendable {
  /// Tried in turn: after a failure the next one, after the last the first.
  let addresses: [HubAddress]
  private let known: KnownHub?

  /// A way without keys.
  init(addresses: [HubAddress]) {
    self.addresses = addresses
    known = nil
  }

  /// The way to a hub that this user has joined.
  init(named name: String) throws(PeerError) {
    do throws(KeyError) {
      let hub = try KnownHub(named: name)
      addresses = hub.addresses
      known = hub
    } catch {
      throw .keys(error.description)
    }
  }

  /// What a socket that connects to one of these addresses must set.
  func options(to endpoint: String) -> [SocketOption] { known?.options(to: endpoint) ?? [] }

  /// Why a handshake failed, for a person; nil: as when nothing listens.
  func words(_ failure: SocketEvent.HandshakeFailure, at address: HubAddress) -> String? {
    guard address.transport == .tcp else {
      if case .authentication = failure { return "the hub refuses this user for a time. Ask who runs it" }
      return nil
    }
    return switch (failure, known) {
    case (.authentication, _?):
      "the hub refuses this key: it was revoked, or kicked for a time. Wait, or get an invitation:  bindpeer join"
    case (.broken, _?):
      "the hub hung up; it may have another key than the one that is trusted here, or it is overloaded"
    case (.protocolError, _?): "what listens there speaks no encryption"
    case (_, nil):
      "what answers there hung up, as a hub with keys does to a peer without. Get an invitation and use it:  "
        + "bindpeer join"
    }
  }
}
