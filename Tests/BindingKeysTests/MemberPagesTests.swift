import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("Browsers of members")
struct MemberPagesTests {
  private let folder = NSTemporaryDirectory() + "pages-\(UInt32.random(in: 0 ... .max))"
  private let keys: HubKeys
  private let code: String
  private let id: String
  private var file: MembersFile

  /// A hub with an invitation for gus that can be used from 100 to 200.
  init() throws {
    keys = HubKeys(in: folder)
    _ = try keys.create()
    (code, id) = try keys.invitePage("gus", as: "view", lifetime: 100, at: 100)
    file = try MembersFile(at: keys.membersPath)
  }

  private mutating func admit(_ code: String, as id: String = "s1", secret: String = "secret", at now: Int64) throws {
    try file.append { members throws(MemberError) in
      try members.pages.admission(code: code, of: "Firefox", as: id, secret: secret, at: now)
    }
  }

  private mutating func decide(_ decision: MemberRecord.Decision, at time: Int64 = 150) throws {
    try file.append { _ throws(MemberError) in MemberRecord(time: time, decision: decision) }
  }

  private var again: Members { get throws { try MembersFile(at: keys.membersPath).members } }

  @Test("a code lets one browser in, with the invitation's name and role, and is read back")
  mutating func admission() throws {
    try admit(code, at: 150)
    let session = try #require(try again.pages.sessions["s1"])
    #expect(session.name == "gus" && session.role == "view" && session.label == "Firefox" && session.since == 150)
    #expect(session.until == 150 + 30 * 86_400 && session.invitation == id)
    #expect(session.secretHash == PageSecret.hash("secret"))
    #expect(try again == file.members && again.isMember("gus"))
    #expect(throws: KeyError.member(.noPage)) { try admit(code, as: "s2", at: 160) }
  }

  @Test("a code that is wrong, expired or withdrawn is refused alike", arguments: [99, 100, 200, 1_000])
  mutating func refused(_ now: Int64) throws {
    #expect(throws: KeyError.member(.noPage)) { try admit(PageSecret.random(), at: now) }
    #expect(throws: KeyError.member(.noPage)) { try admit("", at: now) }
    if now >= 200 { #expect(throws: KeyError.member(.noPage)) { try admit(code, at: now) } }
    try decide(.withdraw(id: id))
    #expect(throws: KeyError.member(.noPage)) { try admit(code, at: now) }
    #expect(try again.pages.count == 0)
  }

  @Test("the file holds hashes, neither the code nor what the cookie holds")
  mutating func hashes() throws {
    try admit(code, secret: "a-cookie", at: 150)
    let text = try String(contentsOfFile: keys.membersPath, encoding: .utf8)
    #expect(!text.contains(code) && !text.contains("a-cookie") && text.contains(PageSecret.hash(code)))
    #expect(PageSecret.hash(code).count == 64 && PageSecret.random().count == PageSecret.digits)
  }

  @Test("revoking a member ends its browsers and invitations, and those of no other member")
  mutating func revoked() throws {
    try admit(code, at: 150)
    let other = try keys.invitePage("eva", lifetime: 100, at: 100)
    try admit(other.code, as: "s2", at: 150)
    _ = try keys.invitePage("gus", lifetime: 100, at: 100)
    try decide(.revoke(name: "gus"))
    #expect(try again.pages.sessions.keys.sorted() == ["s2"] && again.pages.invitations.count == 1)
    #expect(try !again.isMember("gus"))
  }

  @Test("one browser is ended by its id, once; one that has a browser alone can be kicked")
  mutating func ended() throws {
    try admit(code, at: 150)
    try decide(.kick(name: "gus", until: 500))
    #expect(try again.kicks["gus"]?.until == 500)
    try decide(.endPage(id: "s1"))
    #expect(try again.pages.sessions.isEmpty)
    #expect(throws: KeyError.member(.noPageSession(id: "s1"))) { try decide(.endPage(id: "s1")) }
  }

  @Test("a forged record is no record: another name or role than the invitation's, an id twice, a code twice")
  mutating func forged() throws {
    try admit(code, at: 150)
    let session = try #require(file.members.pages.sessions["s1"])
    let second = try keys.invitePage("gus", as: "view", lifetime: 100, at: 100)
    var other = session
    other.invitation = second.id
    #expect(throws: KeyError.member(.duplicate(id: "s1"))) { try decide(.admitPage(id: "s1", other)) }
    other.role = "staff"
    #expect(throws: KeyError.member(.noInvitation(id: second.id))) { try decide(.admitPage(id: "s3", other)) }
    (other.role, other.name) = ("view", "anna")
    #expect(throws: KeyError.member(.noInvitation(id: second.id))) { try decide(.admitPage(id: "s3", other)) }
    #expect(throws: KeyError.member(.used(id: id))) { try decide(.admitPage(id: "s3", session)) }
    let same = MemberPages.Invitation(name: "gus", role: nil, codeHash: PageSecret.hash(code), until: 9)
    #expect(throws: KeyError.member(.duplicate(id: "x"))) { try decide(.invitePage(id: "x", same)) }
  }

  @Test("keys, browsers and invitations count against one limit together")
  func limit() throws {
    var members = Members()
    for number in 0..<Members.limit {
      let invitation = MemberPages.Invitation(name: "gus", role: nil, codeHash: "\(number)", until: 9)
      try members.apply(MemberRecord(time: 1, decision: .invitePage(id: "i\(number)", invitation)))
    }
    #expect(throws: MemberError.full(limit: Members.limit)) {
      try members.apply(
        MemberRecord(
          time: 1,
          decision: .invitePage(id: "x", MemberPages.Invitation(name: "gus", role: nil, codeHash: "x", until: 9))))
    }
  }

  @Test("records of an earlier release are read as before, and stay beside those of browsers")
  func earlier() throws {
    let key = try KeyPair.random().publicKey
    let path = folder + "/members-of-before"
    let text = """
      {"bindbus":"members","version":1}
      {"t":1,"e":"admit","name":"anna","key":"\(key)","label":"laptop","role":"staff"}
      {"t":2,"e":"page-invite","id":"i","name":"gus","hash":"00","until":9}
      {"t":3,"e":"page-admit","id":"s","name":"gus","label":"Firefox","invitation":"i","hash":"11","until":9}

      """
    try #require(
      FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
    let members = try MembersFile(at: path).members
    #expect(members.keys[key]?.role == "staff" && members.pages.sessions["s"]?.secretHash == "11")
  }

  @Test("where pages were served is remembered")
  func address() throws {
    #expect(try keys.pagesURL() == nil)
    try keys.recordPages(at: "http://127.0.0.1:7880")
    try keys.recordPages(at: "http://127.0.0.1:7881")
    #expect(try keys.pagesURL() == "http://127.0.0.1:7881")
  }

  @Test("what becomes of browsers is written into the log")
  mutating func audit() throws {
    let path = folder + "/audit.log"
    let log = AuditLog(at: path) { Issue.record("\($0)") }
    let (nobody, invited) = (Members(), file.members)
    try admit(code, at: 150)
    let present = file.members
    try decide(.endPage(id: "s1"))
    for (before, after) in [(nobody, invited), (invited, present), (present, file.members)] {
      log.record(from: before, to: after)
    }
    log.flush()
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let events = try text.split(separator: "\n").map { try JSON(parsing: String($0)) }
    #expect(events.map { $0["event"] } == ["invited", "pageAdmitted", "pageEnded"])
    #expect(events[1]["label"] == "Firefox" && events[1]["invitation"]?.string == id && events[2]["id"] == "s1")
    #expect(!text.contains(code))
  }
}
