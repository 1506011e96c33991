import BindingKeys
import BindingProtocol
import Foundation
import Logging
import Testing
import ZeroMQ

@testable import BindingHub

/// The hub's key, and its members', change while they talk.
@Suite("Keys that change, over real sockets")
struct KeyChangeTests {
  private let hub: KeyedHub

  init() throws { hub = try KeyedHub() }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

  private func options(_ own: KeyPair, _ server: PublicKey) -> [SocketOption] {
    [.encryptedClient(server: server, own: own)]
  }

  private func eventually(_ what: String, _ condition: () throws -> Bool) throws {
    let end = Date(timeIntervalSinceNow: 20)
    while try !condition() {
      try #require(Date() < end, "never: \(what)")
      usleep(20_000)
    }
  }

  /// The audit's events, in order.
  private func events() throws -> [String] {
    let text = (try? String(contentsOfFile: hub.keys.auditPath, encoding: .utf8)) ?? ""
    return try text.split(separator: "\n").map { try JSON(parsing: String($0))["event"]?.string ?? "?" }
  }

  /// Changes the hub's key now, and waits until it has.
  private func changeKey() throws -> PublicKey {
    let next = try hub.keys.changeKey(try hub.keys.next(), now: Self.now).keys.publicKey
    try eventually("the key changes") { try hub.keys.read().publicKey == next }
    return next
  }

  // MARK: The hub's key

  @Test("sessions learn the next key after their welcome and when it is drawn, kept or in force; others are not told")
  func announced() throws {
    let own = try hub.member("anna")
    let early = try Caller(hub.tcp, hub.options(own))
    try early.hello(subscribing: false, capabilities: [Capability.keys])
    let plain = try Caller(hub.tcp, hub.options(own))
    try plain.hello(subscribing: false)
    #expect(try early.keys() == AnnouncedKeys(session: early.session, present: hub.publicKey.bytes))
    let next = try hub.keys.changeKey(at: Self.now + 3_600)
    let announced = AnnouncedKeys.Next(key: next.keys.publicKey.bytes, moment: UInt64(next.moment) * 1_000)
    #expect(try early.keys().next == announced)
    let late = try Caller(hub.tcp, hub.options(own))
    try late.hello(subscribing: false, capabilities: [Capability.keys])
    #expect(try late.keys().next == announced)
    try hub.keys.cancelChange()
    #expect(try early.keys().next == nil)
    #expect(try late.keys().next == nil)
    let key = try changeKey()
    #expect(try early.keys().next?.key == key.bytes)
    #expect(try early.keys() == AnnouncedKeys(session: early.session, present: key.bytes))
    #expect(try plain.frame(milliseconds: 100) == nil)
    let expected = ["keyAnnounced", "keyKept", "keyAnnounced", "keyChanged"]
    try eventually("the log has it") { try events().filter { $0.hasPrefix("key") } == expected }
    #expect(try !events().contains("refused"), "the hub's own test is no event")
  }

  @Test("open connections outlast the change, in both directions; new ones need the new key, at both ports")
  func changed() throws {
    let own = try hub.member("anna")
    let anna = try Caller(hub.tcp, hub.options(own))
    try anna.hello()
    try anna.sub.subscribe(Topics.bytes(Topics.heartbeat))
    try #require(try anna.published(milliseconds: 20_000) != nil)
    let key = try changeKey()
    #expect(try anna.isListening())
    while try anna.published(milliseconds: 0) != nil {}
    for _ in 0..<3 { #expect(try anna.published(milliseconds: 20_000) != nil) }
    for (kind, endpoint) in [(Socket.Kind.dealer, hub.tcp.description), (.sub, anna.publish)] {
      #expect(try hub.handshake(kind, at: endpoint, options(own, key)) == .handshakeSucceeded)
      #expect(try hub.handshake(kind, at: endpoint, options(own, hub.publicKey)) != .handshakeSucceeded)
      let stranger = options(try .random(), key)
      #expect(try hub.handshake(kind, at: endpoint, stranger) == .handshakeFailed(.authentication(status: 400)))
    }
    let ben = try Caller(hub.tcp, options(try hub.member("ben"), key))
    try ben.hello()
    // What a revoked member had before the change ends as what it had after.
    try hub.decide(.revoke(name: "anna"))
    try anna.ends()
  }

  @Test("a key changes again and again, and the last one counts")
  func again() throws {
    let own = try hub.member("anna")
    let anna = try Caller(hub.tcp, hub.options(own))
    try anna.hello()
    var keys = [hub.publicKey]
    for _ in 0..<3 { keys.append(try changeKey()) }
    for key in keys {
      let end = try hub.handshake(.dealer, at: hub.tcp.description, options(own, key))
      #expect((end == .handshakeSucceeded) == (key == keys.last))
    }
    #expect(try anna.isListening())
  }

  @Test("a change that cannot be kept leaves the present key in force, and the log says so")
  func unwritable() throws {
    let own = try hub.member("anna")
    let next = try hub.keys.changeKey(at: Self.now + 3_600)
    try eventually("the hub knows") { try events().contains("keyAnnounced") }
    // A directory in its place: no file can be renamed to it.
    try FileManager.default.removeItem(atPath: hub.keys.keyPath)
    try FileManager.default.createDirectory(atPath: hub.keys.keyPath + "/x", withIntermediateDirectories: true)
    let soon = Data(
      try String(contentsOfFile: hub.keys.nextKeyPath, encoding: .utf8)
        .replacingOccurrences(of: "\(next.moment)", with: "\(Self.now)").utf8)
    try soon.write(to: URL(fileURLWithPath: hub.keys.nextKeyPath))
    chmod(hub.keys.nextKeyPath, 0o600)
    try eventually("the change fails") { try events().contains("keyChangeFailed") }
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, hub.options(own)) == .handshakeSucceeded)
    let other = options(own, next.keys.publicKey)
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, other) != .handshakeSucceeded)
  }

  @Test("a hub changes its key 64 times in one run, and then asks to be started again")
  func limit() throws {
    var configuration = Hub.Configuration()
    configuration.keys = hub.folder
    let log = Logger(label: "hub", factory: { _ in SwiftLogNoOpLogHandler() })
    let security = try #require(try HubSecurity(configuration, log))
    var sockets = try HubSockets(Limits(), security)
    try sockets.listen(HubAddress(tcp: "127.0.0.1", port: 0))
    var present = security.keys
    for _ in 0..<HubSockets.maxKeyChanges {
      let next = try KeyPair.random()
      try sockets.change(from: present, to: next) {}
      present = next
    }
    let address = sockets.addresses[0].description
    let stranger = try KeyPair.random()
    #expect(
      try hub.handshake(.dealer, at: address, options(stranger, present.publicKey))
        == .handshakeFailed(.authentication(status: 400)))
    var problem = ""
    do throws(HubError) {
      try sockets.change(from: present, to: stranger) {}
    } catch {
      problem = error.description
    }
    #expect(problem.contains("Start it again"), "\(problem)")
    #expect(
      try hub.handshake(.dealer, at: address, options(stranger, present.publicKey))
        == .handshakeFailed(.authentication(status: 400)))
  }

  @Test("a next pair that is damaged changes nothing at a running hub")
  func damaged() throws {
    let anna = try Caller(hub.tcp, hub.options(try hub.member("anna")))
    try anna.hello(subscribing: false, capabilities: [Capability.keys])
    _ = try anna.keys()
    try Data("{".utf8).write(to: URL(fileURLWithPath: hub.keys.nextKeyPath))
    chmod(hub.keys.nextKeyPath, 0o600)
    #expect(try anna.frame(milliseconds: 600) == nil)
    try hub.keys.cancelChange()
    let next = try hub.keys.changeKey(at: Self.now + 3_600)
    #expect(try anna.keys().next?.key == next.keys.publicKey.bytes)
  }

  @Test("the status tells the present key, and the next one with its moment")
  func status() throws {
    let next = try hub.keys.changeKey(at: Self.now + 3_600)
    try eventually("the status has it") {
      let keys = try #require(HubStatus.ask(hub.ipc, timeout: .seconds(20)))["keys"]
      #expect(keys?["key"]?.string == "\(hub.publicKey)")
      return keys?["next"]?.string == "\(next.keys.publicKey)" && keys?["nextFrom"]?.int64 == next.moment
    }
  }

  @Test("an invitation of before the change gets an error that says so and what to do")
  func invitation() throws {
    let invitation = try hub.invitation(for: "anna")
    _ = try changeKey()
    let own = try KeyPair.random()
    let error = #expect(throws: EnrolmentError.otherKey(address: hub.tcp.description)) {
      try invitation.enrol(own.publicKey, label: "")
    }
    #expect(error.map { "\($0)" }?.contains("has changed since. Ask for another invitation") == true)
    #expect(try hub.invitation(for: "anna").enrol(own.publicKey, label: "") == "anna")
  }

  // MARK: A member's key

  /// What the hub answers to a frame over a member's connection.
  private func answer(to frame: [UInt8], of own: KeyPair) throws -> Enrolment.Answer? {
    let call = try HubCall(to: hub.tcp.description, server: try hub.keys.read().publicKey, own: own)
    guard case .answered(let answer) = try call.ask(frame, milliseconds: 20_000) else { return nil }
    return answer
  }

  @Test("a member adds a key over its connection, ends the old one with it, and the old connections end")
  func renewed() throws {
    let (old, new) = (try hub.member("anna"), try KeyPair.random())
    let session = try Caller(hub.tcp, hub.options(old))
    try session.hello()
    let enrolment = Enrolment(key: new.publicKey, label: "laptop").frame
    for _ in 0..<2 { #expect(try answer(to: enrolment, of: old) == .enrolled(name: "anna")) }
    try Caller(hub.tcp, hub.options(new)).hello()
    #expect(try !session.isCut())
    for _ in 0..<2 {
      #expect(try answer(to: Retirement(key: old.publicKey).frame, of: new) == .enrolled(name: "anna"))
    }
    try session.ends()
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, hub.options(old)) != .handshakeSucceeded)
    let members = try MembersFile(at: hub.keys.membersPath).members
    #expect(members.keys[new.publicKey]?.by == old.publicKey && members.keys.count == 1)
  }

  @Test("a member cannot end or take another's key, nor end the one that it uses; a broken request is refused")
  func liar() throws {
    let (anna, ben) = (try hub.member("anna"), try hub.member("ben"))
    let session = try Caller(hub.tcp, hub.options(anna))
    try session.hello()
    let before = try MembersFile(at: hub.keys.membersPath).members
    #expect(try answer(to: Retirement(key: anna.publicKey).frame, of: ben) == .enrolled(name: "ben"))
    let unknown = Retirement(key: try KeyPair.random().publicKey).frame
    #expect(try answer(to: unknown, of: ben) == .enrolled(name: "ben"))
    for frame in [
      Enrolment(key: anna.publicKey, label: "").frame, Retirement(key: ben.publicKey).frame,
      Array(Enrolment(key: anna.publicKey, label: "").frame.dropLast(9)), Retirement(key: anna.publicKey).frame + [0],
    ] {
      guard case .refused(let text)? = try answer(to: frame, of: ben) else { throw Silence() }
      #expect(!text.contains("anna"), "\(text)")
    }
    #expect(try MembersFile(at: hub.keys.membersPath).members == before)
    #expect(try session.isListening())
  }

  @Test("over ipc nobody changes a member's keys: both kinds are unknown there")
  func local() throws {
    let caller = try Caller(hub.ipc)
    for frame in [Enrolment(key: hub.publicKey, label: "").frame, Retirement(key: hub.publicKey).frame] {
      try caller.send(frame)
      guard case .error(let error) = try caller.next() else { throw Silence() }
      #expect(error.code == .unknownKind || error.code == .malformed)
    }
  }
}
