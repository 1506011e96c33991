public import BindingProtocol

/// Where a peer looks for its hub: at addresses, or in its own process.
/// ```swift
/// try Peer(name: "kitchen")                                      // this user's hub
/// try Peer(name: "kitchen", hub: "tcp://127.0.0.1:7877")         // the hub at an address
/// try Peer(name: "kitchen", hub: .inProcess(Hub.embedded()))     // a hub in this process, of `BindingHub`
/// ```
public struct HubLocation: Sendable, ExpressibleByStringLiteral {
  private enum Place: Sendable {
    case environment
    case text(String)
    case addresses([HubAddress])
    case inProcess(any InProcessTransport)
  }
  private let place: Place

  /// The addresses in the environment variable `BINDPEER_HUB`; without it this user's hub.
  public static let `default` = HubLocation(place: .environment)

  /// The first of these addresses that answers. `Peer.init` throws if there is none.
  public static func at(_ addresses: [HubAddress]) -> HubLocation { HubLocation(place: .addresses(addresses)) }

  /// A hub in the same process, reached without a socket.
  public static func inProcess(_ hub: any InProcessTransport) -> HubLocation { HubLocation(place: .inProcess(hub)) }

  /// The first of the addresses in a text that answers: `ipc://PATH` or `tcp://HOST:PORT`, separated by commas.
  /// `Peer.init` throws if the text is none.
  public init(_ addresses: String) { self.init(place: .text(addresses)) }

  /// The same as `init(_:)`.
  public init(stringLiteral addresses: String) { self.init(addresses) }

  private init(place: Place) { self.place = place }

  /// Makes links to the hub. An outbox with writes of earlier runs takes several.
  func linkFactory() throws(HubAddressError) -> @Sendable () -> any PeerLink {
    let addresses: [HubAddress]
    switch place {
    case .environment: addresses = try HubAddress.fromEnvironment()
    case .text(let text): addresses = try HubAddress.list(text)
    case .addresses(let given): addresses = given.isEmpty ? try HubAddress.list("") : given
    case .inProcess(let hub): return { InProcessPeerLink(transport: hub) }
    }
    return { ZeroMQPeerLink(addresses: addresses) }
  }
}

/// Why a peer cannot be created.
public enum PeerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What `hub:` or `BINDPEER_HUB` names is not an address.
  case address(HubAddressError)
  /// The outbox's file cannot be used.
  case outbox(OutboxError)

  public var description: String {
    switch self {
    case .address(let error): error.description
    case .outbox(let error): error.description
    }
  }
}
