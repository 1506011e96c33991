import BindingKeys
import BindingProtocol
import ZeroMQ

/// The two places at which the hub listens for an address of tcp.
struct EncryptedListener {
  var request: MessageGuard.Listener
  var publish: MessageGuard.Listener
}

extension HubSockets {
  /// The next bind of both sockets accepts connections to the owner of this pair.
  borrowing func encrypt(with keys: KeyPair) throws(ZeroMQError) {
    let encrypted = SocketOption.encryptedServer(keys.secretKey)
    try router.set([encrypted, .ioThread(1), .authenticationDomain(Admissions.Domain.request.rawValue)])
    try xpub.set([encrypted, .ioThread(1), .authenticationDomain(Admissions.Domain.publish.rawValue)])
  }

  /// The most changes of the key in one run: each leaves two descriptors for each address behind.
  static let maxKeyChanges = 64

  /// Lets new connections to all tcp addresses expect another key. Those that are open go on. Each endpoint is tried as
  /// a stranger; if one of them is not as it must be, or the change cannot be kept, all is as before.
  /// - Parameter keep: makes the change last.
  mutating func change(
    from old: KeyPair, to new: KeyPair, _ keep: () throws(KeyError) -> Void
  ) throws(HubError) {
    guard keyChanges < HubSockets.maxKeyChanges else {
      throw .system("this hub has changed its key \(keyChanges) times since it started. Start it again")
    }
    let before = listeners
    keyChanges += 1
    do throws(HubError) {
      do throws(ZeroMQError) {
        try encrypt(with: new)
        for index in listeners.indices {
          listeners[index].request = try requestGuard.replace(before[index].request, of: router)
          listeners[index].publish = try publishGuard.replace(before[index].publish, of: xpub)
        }
      } catch {
        throw .system("\(error)")
      }
      try testThatStrangersAreRefused(by: new.publicKey, milliseconds: HubSockets.runningTestMilliseconds)
      do throws(KeyError) { try keep() } catch { throw .keys(error.description) }
    } catch {
      try? restore(before, old)
      throw error
    }
  }

  /// Meanwhile the hub answers nobody, and peers leave a silent one after 1.75 s at the earliest.
  private static let runningTestMilliseconds = 1_500

  private mutating func restore(_ before: [EncryptedListener], _ old: KeyPair) throws(ZeroMQError) {
    try encrypt(with: old)
    for (index, earlier) in before.enumerated() {
      let later = listeners[index]
      if later.request != earlier.request || !earlier.request.isGuarded {
        try requestGuard.restore(earlier.request, insteadOf: later.request, of: router)
      }
      if later.publish != earlier.publish || !earlier.publish.isGuarded {
        try publishGuard.restore(earlier.publish, insteadOf: later.publish, of: xpub)
      }
    }
    listeners = before
  }

  /// Tries each encrypted endpoint as a stranger.
  borrowing func testThatStrangersAreRefused() throws(HubError) {
    guard let security else { return }
    try testThatStrangersAreRefused(by: security.keys.publicKey, milliseconds: 5_000)
  }

  private borrowing func testThatStrangersAreRefused(by key: PublicKey, milliseconds: Int) throws(HubError) {
    for address in addresses where address.transport == .tcp {
      let address = address.reachable
      guard let publish = address.publishEndpoint(among: endpoints) else { continue }
      for (endpoint, kind) in [(address.description, Socket.Kind.dealer), (publish, .sub)] {
        let problem: String?
        do throws(ZeroMQError) {
          let stranger = try KeyPair.random()
          security?.admissions.expect(stranger.publicKey)
          problem = try SelfTest(of: key, as: stranger, milliseconds: milliseconds).stranger(at: endpoint, as: kind)
        } catch {
          throw .system("Cannot test the keys at \(endpoint): \(error)")
        }
        if let problem { throw .selfTest(endpoint: endpoint, problem: problem) }
      }
    }
  }
}

extension HubAddress {
  /// The address at which this machine reaches it: one that stands for all is none to connect to.
  fileprivate var reachable: HubAddress {
    switch (hostOrPath, port) {
    case ("0.0.0.0", let port?), ("*", let port?): HubAddress(tcp: "127.0.0.1", port: port)
    case ("[::]", let port?): HubAddress(tcp: "[::1]", port: port)
    default: self
    }
  }
}
