import BindingKeys
import BindingProtocol
import Foundation
import Logging
import Testing
import ZeroMQ

@testable import BindingHub

/// A hub with keys that listens over ipc and tcp, and its folder.
final class KeyedHub {
  let folder: String
  let keys: HubKeys
  let publicKey: PublicKey
  let hub: Hub

  /// - Parameter access: the file of rights.
  init(access: String? = nil) throws {
    folder = NSTemporaryDirectory() + "keyed-\(UInt32.random(in: 0 ... .max))"
    keys = HubKeys(in: folder)
    publicKey = try keys.create().publicKey
    if let access { try keys.createAccess(access) }
    var configuration = Hub.Configuration()
    configuration.name = "shop"
    configuration.listen = [try HubAddress("ipc://\(folder)/s"), HubAddress(tcp: "127.0.0.1", port: 0)]
    configuration.keys = folder
    configuration.heartbeat = .milliseconds(250)
    hub = try Hub(
      configuration: configuration, logger: Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() }))
    try hub.start()
  }

  deinit {
    hub.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  var ipc: HubAddress { hub.addresses[0] }
  var tcp: HubAddress { hub.addresses[1] }

  func decide(_ decision: MemberRecord.Decision) throws {
    var file = try MembersFile(at: keys.membersPath)
    try file.append { _ throws(MemberError) in MemberRecord(time: 1, decision: decision) }
  }

  func member(_ name: String) throws -> KeyPair {
    let pair = try KeyPair.random()
    try decide(.admit(name: name, key: pair.publicKey, label: "", invitation: nil))
    return pair
  }

  func invitation(for name: String) throws -> Invitation {
    try keys.invite(
      name, to: try #require(try keys.listening()), lifetime: 3_600, at: Int64(Date().timeIntervalSince1970))
  }

  func options(_ own: KeyPair) -> [SocketOption] { [.encryptedClient(server: publicKey, own: own)] }

  /// What becomes of a connection.
  func handshake(_ kind: Socket.Kind, at endpoint: String, _ options: [SocketOption]) throws -> SocketEvent.Change {
    let socket = try Socket(kind, in: try Context())
    try socket.set(options + [.reconnectInterval(milliseconds: nil)])
    var events = try SocketEvents(of: socket)
    try socket.connect(endpoint)
    return try events.first { change in
      switch change {
      case .handshakeSucceeded, .handshakeFailed, .closed, .disconnected: true
      default: false
      }
    }
  }
}

extension SocketEvents {
  /// What has happened by now.
  mutating func all() throws -> [SocketEvent.Change] {
    var changes: [SocketEvent.Change] = []
    while let event = try next() { changes.append(event.change) }
    return changes
  }

  /// Waits up to 20 s for an event.
  mutating func first(_ matches: (SocketEvent.Change) -> Bool) throws -> SocketEvent.Change {
    var poller = Poller()
    _ = poller.add(self)
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      while let event = try next() { if matches(event.change) { return event.change } }
      _ = try poller.wait(timeoutMilliseconds: 100)
    }
    throw Silence()
  }
}

/// What was awaited did not come.
struct Silence: Error {}

/// Both connections of a peer, frame by frame.
final class Caller {
  let session = SessionID.random(in: 1 ... .max)
  let dealer: Socket
  let sub: Socket
  private(set) var publish = ""
  /// The hub's start, once it has welcomed the session.
  private var start: StartNumber = 0
  private var dealerEvents: SocketEvents
  private var subEvents: SocketEvents
  private var message = Message()
  private let address: HubAddress

  /// - Parameter routingID: by which the hub knows the request connection; nil: a random one.
  init(_ address: HubAddress, _ options: [SocketOption] = [], routingID: RoutingID? = nil) throws {
    let context = try Context()
    let common: [SocketOption] = [.reconnectInterval(milliseconds: nil), .linger(milliseconds: 0)]
    self.address = address
    dealer = try Socket(.dealer, in: context)
    try dealer.set(options + common + (routingID.map { [.routingID($0)] } ?? []))
    dealerEvents = try SocketEvents(of: dealer)
    sub = try Socket(.sub, in: context)
    try sub.set(options + common)
    subEvents = try SocketEvents(of: sub)
    try dealer.connect(address.description)
  }

  func send(_ message: PeerMessage) throws { try send(message.encode(session: session, start: start)) }

  func send(_ frame: [UInt8]) throws {
    try #require(try dealer.wait(for: .writable, timeoutMilliseconds: 20_000))
    try #require(try dealer.send(frame) == .sent)
  }

  /// The next frame of the request connection; nil if none comes in time.
  func frame(milliseconds: Int = 20_000) throws -> [UInt8]? {
    guard try dealer.wait(for: .readable, timeoutMilliseconds: milliseconds), try dealer.receive(into: &message) else {
      return nil
    }
    return message.withBytes { Array($0) }
  }

  /// The next frame of the publish connection; nil if none comes in time.
  func published(milliseconds: Int) throws -> [UInt8]? {
    guard try sub.wait(for: .readable, timeoutMilliseconds: milliseconds), try sub.receive(into: &message) else {
      return nil
    }
    return message.withBytes { Array($0) }
  }

  /// The next message of the request connection.
  func next() throws -> HubMessage {
    guard let frame = try frame() else { throw Silence() }
    return try HubMessage.decode(frame).message
  }

  /// What the hub tells next of its keys.
  func keys() throws -> AnnouncedKeys {
    guard case .keys(let keys) = try next() else { throw Silence() }
    return keys
  }

  /// - Parameter subscribing: whether to open the publish connection too.
  func hello(subscribing: Bool = true, capabilities: [String] = []) throws {
    let identity = Identity(secret: .random(), name: "caller")
    try send(.hello(Hello(identity: identity, capabilities: [Capability.users] + capabilities)))
    let answer = try HubMessage.decode(try #require(try frame()))
    guard case .welcome(let welcome) = answer.message else { throw Silence() }
    start = answer.header.start
    guard subscribing else { return }
    publish = try #require(address.publishEndpoint(among: welcome.endpoints))
    try sub.connect(publish)
    _ = try subEvents.first { $0 == .handshakeSucceeded }
  }

  /// Waits until the hub has ended the request connection.
  func requestEnds() throws {
    _ = try dealerEvents.first { if case .disconnected = $0 { true } else { false } }
  }

  /// Whether the hub has ended the request connection by now.
  func isCut() throws -> Bool { try dealerEvents.all().contains { if case .disconnected = $0 { true } else { false } } }

  /// Waits until the hub has ended both connections.
  func ends() throws {
    try requestEnds()
    _ = try subEvents.first { if case .disconnected = $0 { true } else { false } }
  }

  /// Whether the publish connection is still open after the hub has answered once more.
  func isListening() throws -> Bool {
    try send(.status)
    try #require(try frame() != nil)
    return !(try subEvents.all().contains { if case .disconnected = $0 { true } else { false } })
  }
}
