import BindingKeys
import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingHub

@Suite("A hub with keys, over real sockets")
struct KeyedHubTests {
  private let hub: KeyedHub

  init() throws { hub = try KeyedHub() }

  /// The number of sessions, as a local user sees it.
  private func sessions() throws -> Int {
    let status = try #require(HubStatus.ask(hub.ipc, timeout: .seconds(20)))
    return status["sessions"]?.elements?.count ?? 0
  }

  @Test("a key that no member has is refused at both ports with status 400")
  func stranger() throws {
    let anna = try Caller(hub.tcp, hub.options(try hub.member("anna")))
    try anna.hello()
    let stranger = hub.options(try .random())
    #expect(
      try hub.handshake(.dealer, at: hub.tcp.description, stranger) == .handshakeFailed(.authentication(status: 400)))
    #expect(try hub.handshake(.sub, at: anna.publish, stranger) == .handshakeFailed(.authentication(status: 400)))
  }

  @Test("a peer without keys gets no frame at the encrypted port")
  func plain() throws {
    let peer = try Caller(hub.tcp)
    try peer.send(.status)
    #expect(try peer.frame(milliseconds: 300) == nil)
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, []) != .handshakeSucceeded)
  }

  @Test("a peer that expects another hub's key does not talk to this one")
  func otherHub() throws {
    let own = try hub.member("anna")
    let options: [SocketOption] = [.encryptedClient(server: try KeyPair.random().publicKey, own: own)]
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, options) != .handshakeSucceeded)
  }

  @Test("local peers need no key")
  func local() throws {
    try Caller(hub.ipc).hello()
    #expect(try sessions() == 1)
  }

  @Test("an invitation makes the bearer's key a member's, once; the same key may ask again")
  func enrolment() throws {
    let invitation = try hub.invitation(for: "anna")
    let own = try KeyPair.random()
    #expect(throws: Never.self) { try invitation.enrol(own.publicKey, label: "laptop") }
    #expect(try invitation.enrol(own.publicKey, label: "laptop") == "anna")
    let other = try KeyPair.random()
    #expect { try invitation.enrol(other.publicKey, label: "") } throws: { error in
      if case .refused(let text)? = error as? EnrolmentError { text.contains("has been used") } else { false }
    }
    try Caller(hub.tcp, hub.options(own)).hello()
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, hub.options(other)) != .handshakeSucceeded)
  }

  @Test("clocks that are a day apart do not matter: an invitation ends by the hub's alone")
  func clocks() throws {
    var ahead = try hub.invitation(for: "anna")
    ahead.until -= 86_400
    #expect(try ahead.enrol(try KeyPair.random().publicKey, label: "") == "anna")
    let now = Int64(Date().timeIntervalSince1970)
    var behind = try hub.keys.invite(
      "ben", to: try #require(try hub.keys.listening()), lifetime: 3_600, at: now - 86_400)
    behind.until += 86_400
    let key = try KeyPair.random().publicKey
    let expired = behind
    #expect(throws: EnrolmentError.unknownInvitation(member: "ben")) { try expired.enrol(key, label: "") }
  }

  @Test("a withdrawn invitation is refused")
  func withdrawn() throws {
    let invitation = try hub.invitation(for: "anna")
    let members = try MembersFile(at: hub.keys.membersPath).members
    try hub.decide(.withdraw(id: try #require(members.invitations.keys.first)))
    let own = try KeyPair.random()
    #expect(throws: EnrolmentError.unknownInvitation(member: "anna")) {
      try invitation.enrol(own.publicKey, label: "")
    }
  }

  @Test(
    "the holder of an invitation gets neither a session nor a status, and cannot subscribe",
    arguments: [
      PeerMessage.hello(Hello(identity: Identity(secret: .random(), name: "guest"))), .status,
      .verify(Verify(timeoutMilliseconds: 100)),
    ])
  func invitedOnly(_ message: PeerMessage) throws {
    let anna = try Caller(hub.tcp, hub.options(try hub.member("anna")))
    try anna.hello()
    let oneTime = try KeyPair(of: try hub.invitation(for: "guest").secret)
    let guest = try Caller(hub.tcp, hub.options(oneTime))
    try guest.send(message)
    let answer = try #require(try guest.frame())
    let read = try answer.withUnsafeBytes { bytes in
      try Result { () throws(WireError) in try Enrolment.Answer(frame: bytes) }.get()
    }
    guard case .refused = read else { throw Silence() }
    #expect(try guest.frame(milliseconds: 100) == nil)
    #expect(try sessions() == 1)
    #expect(
      try hub.handshake(.sub, at: anna.publish, hub.options(oneTime)) == .handshakeFailed(.authentication(status: 400)))
  }

  /// Two members with a session each, anna's key first; ben's hears heartbeats.
  private func annaAndBen() throws -> (key: KeyPair, anna: Caller, ben: Caller) {
    let key = try hub.member("anna")
    let (anna, ben) = (
      try Caller(hub.tcp, hub.options(key)), try Caller(hub.tcp, hub.options(try hub.member("ben")))
    )
    try anna.hello()
    try ben.hello()
    try ben.sub.subscribe(Topics.bytes(Topics.heartbeat))
    // Once a heartbeat arrives the hub knows whose connection it is.
    try #require(try ben.published(milliseconds: 20_000) != nil)
    return (key, anna, ben)
  }

  @Test("a revoked member's connections end, also an idle one, with its session; another member's stay")
  func revocation() throws {
    let (anna, gone, stays) = try annaAndBen()
    try hub.decide(.revoke(name: "anna"))
    try gone.ends()
    #expect(try sessions() == 1)
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, hub.options(anna)) != .handshakeSucceeded)
    try stays.send(.status)
    #expect(try stays.frame() != nil)
    #expect(try stays.published(milliseconds: 20_000) != nil)
    // Nothing that is decided now reaches the other one, who asks for everything.
    while try gone.published(milliseconds: 0) != nil {}
    try gone.sub.subscribe([])
    #expect(try gone.published(milliseconds: 600) == nil)
  }

  @Test("a kicked member's connections end and new ones are refused until it is let in; another member's stay")
  func kicked() throws {
    let (anna, gone, stays) = try annaAndBen()
    let now = Int64(Date().timeIntervalSince1970)
    try hub.decide(.kick(name: "anna", until: now + 3_600))
    try gone.ends()
    for (kind, endpoint) in [(Socket.Kind.dealer, hub.tcp.description), (.sub, gone.publish)] {
      #expect(
        try hub.handshake(kind, at: endpoint, hub.options(anna)) == .handshakeFailed(.authentication(status: 400)))
    }
    try stays.send(.status)
    #expect(try stays.frame() != nil)
    try hub.decide(.readmit(name: "anna"))
    let back = try Caller(hub.tcp, hub.options(anna))
    try back.hello()
  }

  @Test("a new member or invitation ends nobody's connections, not even idle ones")
  func newMember() throws {
    let anna = try Caller(hub.tcp, hub.options(try hub.member("anna")))
    try anna.hello()
    let ben = try hub.member("ben")
    _ = try hub.invitation(for: "cleo")
    try Caller(hub.tcp, hub.options(ben)).hello()
    // Two heartbeats later the hub has looked at its members again.
    let heartbeats = try Caller(hub.ipc)
    try heartbeats.hello()
    try heartbeats.sub.subscribe(Topics.bytes(Topics.heartbeat))
    for _ in 0..<3 { try #require(try heartbeats.published(milliseconds: 20_000) != nil) }
    #expect(try anna.isListening())
  }

  @Test("a revocation that an enrolment finds in the file ends connections too")
  func revokedBeforeEnrolment() throws {
    let anna = try hub.member("anna")
    let gone = try Caller(hub.tcp, hub.options(anna))
    try gone.hello()
    let invitation = try hub.invitation(for: "ben")
    let own = try KeyPair.random()
    try hub.decide(.revoke(name: "anna"))
    #expect(try invitation.enrol(own.publicKey, label: "") == "ben")
    try gone.ends()
  }

  @Test("another user who takes a routing id over is not the one who had it, though it gets the same file descriptor")
  func takenOver() throws {
    let id = RoutingID.random()
    var anna: Caller? = try Caller(hub.tcp, hub.options(try hub.member("anna")), routingID: id)
    try anna?.hello()
    anna = nil
    let ben = hub.options(try hub.member("ben"))
    // libzmq refuses the id in silence as long as it has not noticed that the earlier connection is gone.
    let end = Date(timeIntervalSinceNow: 20)
    var isCut = false
    while !isCut, Date() < end {
      let thief = try Caller(hub.tcp, ben, routingID: id)
      try thief.send(.status)
      #expect(try thief.frame(milliseconds: 50) == nil)
      isCut = try thief.isCut()
    }
    #expect(isCut)
    #expect(try sessions() == 1)
  }

  @Test("revoking one key of a member leaves the other")
  func oneKey() throws {
    let (laptop, phone) = (try hub.member("anna"), try hub.member("anna"))
    let gone = try Caller(hub.tcp, hub.options(laptop))
    try gone.hello()
    try hub.decide(.revokeKey(laptop.publicKey))
    try gone.ends()
    try Caller(hub.tcp, hub.options(phone)).hello()
  }

  @Test("a file of members that is damaged revokes nobody and admits nobody new")
  func damaged() throws {
    let anna = try hub.member("anna")
    try Caller(hub.tcp, hub.options(anna)).hello()
    let whole = try Data(contentsOf: URL(fileURLWithPath: hub.keys.membersPath))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: hub.keys.membersPath))
    try file.seekToEnd()
    try file.write(contentsOf: Data("{\"e\":\"?\"}\n".utf8))
    try file.close()
    try Caller(hub.tcp, hub.options(anna)).hello()
    try whole.write(to: URL(fileURLWithPath: hub.keys.membersPath))
    let ben = try hub.member("ben")
    try Caller(hub.tcp, hub.options(ben)).hello()
  }

  @Test("a message of the largest size passes the encryption, a larger one is refused")
  func largest() throws {
    let peer = try Caller(hub.tcp, hub.options(try hub.member("anna")))
    try peer.hello()
    // Not readable as a message, so the hub answers with an error: it arrived.
    try peer.send([UInt8](repeating: 0xEE, count: Limits().maxFrameBytes))
    #expect(try peer.frame() != nil)
    try peer.send([UInt8](repeating: 0xEE, count: Limits().maxFrameBytes + 100))
    try peer.requestEnds()
  }
}
