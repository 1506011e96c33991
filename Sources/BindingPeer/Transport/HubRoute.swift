import BindingKeys
package import BindingProtocol
import Dispatch
package import Logging
package import ZeroMQ

/// The way to a hub: its addresses, and what is known of one that this user has joined. The files of such a hub are
/// read again for each connection, because this user's pair or the hub's key may have changed meanwhile.
package struct HubRoute: Sendable {
  /// Of one hub that this user has joined, best first; else of a hub each.
  package let addresses: [HubAddress]
  private var known: KnownHub?
  /// As the files were when they were read last.
  private var read: KnownHub?
  /// The key that the hub must prove to have on the present connection.
  private var proven: PublicKey?
  /// Whether both keys that the hub may have were tried at this address.
  private var hasTriedBoth = false

  /// A way without keys.
  init(addresses: [HubAddress]) { self.addresses = addresses }

  /// A way without keys to one hub.
  package init(to address: HubAddress) { self.init(addresses: [address]) }

  /// The way of a hub to another hub of its log, which has the same pair.
  package init(to address: HubAddress, as pair: KeyPair) {
    addresses = [address]
    // No file of this user's can have this name.
    let hub = KnownHub(name: "", addresses: addresses, hubKey: pair.publicKey, keys: pair)
    (known, read) = (hub, hub)
  }

  /// The way to a hub that this user has joined.
  init(named name: String) throws(PeerError) {
    do throws(KeyError) {
      let hub = try KnownHub(named: name)
      addresses = hub.addresses
      (known, read) = (hub, hub)
    } catch {
      throw .keys(error.description)
    }
  }

  /// The hubs to choose from.
  package var pool: HubPool {
    HubPool(addresses, areOfOneHub: known != nil, hasKeys: known != nil, remembered: known?.others ?? [])
  }

  /// What a socket that connects to one of these addresses must set.
  package func options(to endpoint: String) -> [SocketOption] { known?.options(to: endpoint, as: proven) ?? [] }

  // MARK: Keys that change

  /// A connection is about to be tried.
  package mutating func begin() {
    hasTriedBoth = false
    guard let name = known?.name else { return }
    // What was learned and is not in the file yet stays, and so does all if the file cannot be read.
    if let fresh = try? KnownHub(named: name), fresh != read { (known, read) = (fresh, fresh) }
    guard let known, proven.map({ !known.hubKeys.contains($0) }) ?? true else { return }
    proven = known.hubKey
  }

  /// The connection failed as it does where the hub has another key.
  /// - Returns: whether there is one to try at the same address.
  package mutating func tryOtherKey() -> Bool {
    guard !hasTriedBoth, let known, let next = known.nextKey else { return false }
    proven = proven == next ? known.hubKey : next
    hasTriedBoth = true
    return true
  }

  /// The hub has told which keys it has and will have.
  package mutating func learn(_ keys: AnnouncedKeys, over address: HubAddress, _ log: Logger) {
    guard address.transport == .tcp, let hub = known, let proven, let present = PublicKey(keys.present) else { return }
    // A connection from before a change speaks for the key that it has told of.
    let lesson = KnownHub.Lesson(
      proven: hub.hubKeys.contains(proven) ? proven : hub.hubKey, present: present,
      next: keys.next.flatMap { PublicKey($0.key) })
    guard known?.learn(lesson) == true else { return }
    writeDown("the hub's keys", of: hub.name, log) { () throws(KeyError) in
      try KnownHub.learn(lesson, of: hub.name)
    }
  }

  /// The hub has told where the others of its log are: the user's next process may find this one gone.
  package mutating func remember(_ told: [HubAddress], over address: HubAddress, _ log: Logger) {
    guard address.transport == .tcp, let name = known?.name, known?.learn(told, at: address) == true else { return }
    writeDown("where the other hubs are", of: name, log) { () throws(KeyError) in
      try KnownHub.learn(told, at: address, of: name)
    }
  }

  /// Files are synced, which a connection must not wait for.
  private func writeDown(
    _ what: String, of name: String, _ log: Logger, _ write: @escaping @Sendable () throws(KeyError) -> Void
  ) {
    HubRoute.files.async {
      do throws(KeyError) { try write() } catch {
        log.warning("cannot write down \(what): \(error)", metadata: ["hub": "\(name)"])
      }
    }
  }

  /// Waits until all that was learned is in the files.
  package static func finish() { files.sync {} }

  private static let files = DispatchQueue(label: "bindpeer.keys")

  // MARK: Words

  /// Why a handshake failed, for a person; nil: as when nothing listens.
  package func words(_ failure: SocketEvent.HandshakeFailure, at address: HubAddress) -> String? {
    guard address.transport == .tcp else {
      if case .authentication = failure { return "the hub refuses this user for a time. Ask who runs it" }
      return nil
    }
    return switch (failure, known) {
    case (.authentication, _?):
      "the hub refuses this key: it was revoked, or kicked for a time. Wait, or get an invitation:  bindpeer join"
    case (.broken, let known?):
      "the hub hung up: it may have another key than the pinned "
        + known.hubKeys.map(\.description).joined(separator: " or ")
        + ", or it is overloaded. If its key has changed:  bindpeer trust \(known.name) KEY"
    case (.protocolError, _?): "what listens there speaks no encryption"
    case (_, nil):
      "what answers there hung up, as a hub with keys does to a peer without. Get an invitation and use it:  "
        + "bindpeer join"
    }
  }
}
