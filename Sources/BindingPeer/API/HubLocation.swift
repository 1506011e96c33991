import BindingKeys
public import BindingProtocol

/// Where a peer looks for its hub: at addresses, in its own process, or where a hub is that this user has joined.
///
/// Several addresses are of a hub each, all of one log: the peer tries them at random, and goes to another one at once
/// when its hub is lost or closes. A hub tells its peers where the others are, so one address is enough as long as that
/// hub answers once.
/// ```swift
/// try Peer(name: "kitchen")                                      // this user's hub
/// try Peer(name: "kitchen", hub: "tcp://127.0.0.1:7877")         // the hub at an address
/// try Peer(name: "kitchen", hub: "tcp://a:7877,tcp://b:7877")    // one of the hubs of a log
/// try Peer(name: "kitchen", hub: .named("shop"))                 // joined before with `bindpeer join`
/// try Peer(name: "kitchen", hub: .inProcess(Hub.embedded()))     // a hub in this process, of `BindingHub`
/// ```
public struct HubLocation: Sendable, ExpressibleByStringLiteral {
  private enum Place: Sendable {
    case environment
    case text(String)
    case addresses([HubAddress])
    case named(String)
    case inProcess(any InProcessTransport)
  }
  private let place: Place

  /// The addresses in the environment variable `BINDPEER_HUB`; without it this user's hub.
  public static let `default` = HubLocation(place: .environment)

  /// The hubs of one log at these addresses, which are tried at random. `Peer.init` throws if there is none.
  public static func at(_ addresses: [HubAddress]) -> HubLocation { HubLocation(place: .addresses(addresses)) }

  /// A hub that this user has joined with `bindpeer join`, by its name: it is reached encrypted, with the key made
  /// then. `Peer.init` throws if none of that name is known.
  public static func named(_ name: String) -> HubLocation { HubLocation(place: .named(name)) }

  /// A hub in the same process, reached without a socket.
  public static func inProcess(_ hub: any InProcessTransport) -> HubLocation { HubLocation(place: .inProcess(hub)) }

  /// The hubs of one log at the addresses in a text, `ipc://PATH` or `tcp://HOST:PORT`, separated by commas, one of
  /// which is tried at random; or the name of a hub that this user has joined. `Peer.init` throws if it is neither.
  public init(_ addresses: String) { self.init(place: .text(addresses)) }

  /// The same as `init(_:)`.
  public init(stringLiteral addresses: String) { self.init(addresses) }

  private init(place: Place) { self.place = place }

  /// Makes links to the hub. An outbox with writes of earlier runs takes several.
  func linkFactory() throws(PeerError) -> @Sendable () -> any PeerLink {
    if case .inProcess(let hub) = place { return { InProcessPeerLink(transport: hub) } }
    let route = try route()
    return { ZeroMQPeerLink(route: route) }
  }

  /// The addresses to try; empty for a hub in the same process.
  /// - Throws: `PeerError` if there is none, or the hub is not known.
  package func addresses() throws(PeerError) -> [HubAddress] { try route().addresses }

  /// The way to it; without addresses for a hub in the same process.
  package func route() throws(PeerError) -> HubRoute {
    switch place {
    case .inProcess: HubRoute(addresses: [])
    case .named(let name): try HubRoute(named: name)
    case .text(let text): try HubLocation.route(text)
    case .environment: try HubAddress.namedInEnvironment.map(HubLocation.route) ?? HubRoute(addresses: [.userDefault])
    case .addresses(let given): given.isEmpty ? try HubLocation.route("") : HubRoute(addresses: given)
    }
  }

  private static func route(_ text: String) throws(PeerError) -> HubRoute {
    if KnownHub.isName(text) { return try HubRoute(named: text) }
    do throws(HubAddressError) { return HubRoute(addresses: try HubAddress.list(text)) } catch {
      throw .address(error)
    }
  }
}

/// Why a peer cannot be created.
public enum PeerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What `hub:` or `BINDPEER_HUB` names is not an address.
  case address(HubAddressError)
  /// The named hub is not known, or the key for it cannot be used; with the remedy.
  case keys(String)
  /// The outbox's file cannot be used.
  case outbox(OutboxError)

  public var description: String {
    switch self {
    case .address(let error): error.description
    case .keys(let problem): problem
    case .outbox(let error): error.description
    }
  }
}
