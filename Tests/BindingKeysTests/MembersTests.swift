import BindingProtocol
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("Members")
struct MembersTests {
  var members = Members()
  let oneTime: PublicKey
  let anna: PublicKey
  let other: PublicKey

  init() throws {
    oneTime = try KeyPair.random().publicKey
    anna = try KeyPair.random().publicKey
    other = try KeyPair.random().publicKey
  }

  private mutating func invite(until: Int64 = 100) throws {
    try apply(.invite(id: "i1", name: "anna", oneTimeKey: oneTime, until: until))
  }

  private mutating func apply(_ decision: MemberRecord.Decision, at time: Int64 = 1) throws {
    try members.apply(MemberRecord(time: time, decision: decision))
  }

  private mutating func enrol(_ key: PublicKey, at now: Int64) throws {
    if let record = try members.enrolment(of: key, label: "laptop", by: "i1", at: now) { try members.apply(record) }
  }

  @Test("an invited key may enrol, until the invitation expires")
  mutating func invited() throws {
    try invite(until: 100)
    #expect(members.standing(of: oneTime, at: 99) == .invited(id: "i1"))
    #expect(members.standing(of: oneTime, at: 100) == .unknown)
  }

  @Test("an enrolled key is a member by the invitation's name, also after it has expired")
  mutating func enrolled() throws {
    try invite(until: 100)
    try enrol(anna, at: 50)
    #expect(members.standing(of: anna, at: 1_000) == .member(name: "anna"))
    #expect(members.keys(of: "anna").map(\.detail.label) == ["laptop"])
  }

  @Test("the same key again is answered the same, another one is refused")
  mutating func repeated() throws {
    try invite()
    try enrol(anna, at: 50)
    #expect(try members.enrolment(of: anna, label: "laptop", by: "i1", at: 60) == nil)
    #expect(throws: MemberError.used(id: "i1")) { try members.enrolment(of: other, label: "", by: "i1", at: 60) }
  }

  @Test("a name is kicked until a time, or until it is let in again; a clock set far back ends it")
  mutating func kicked() throws {
    try invite()
    try enrol(anna, at: 50)
    try apply(.kick(name: "anna", until: 10_060), at: 10_000)
    let kick = try #require(members.kicks["anna"])
    #expect([9_999, 10_000, 10_059, 10_060].map { kick.counts(at: $0) } == [true, true, true, false])
    #expect([6_400, 6_399].map { kick.counts(at: $0) } == [true, false])
    #expect(members.standing(of: anna, at: 10_001) == .member(name: "anna"))
    try apply(.readmit(name: "anna"), at: 10_010)
    #expect(members.kicks.isEmpty)
    #expect(throws: MemberError.notKicked("anna")) {
      try members.apply(MemberRecord(time: 1, decision: .readmit(name: "anna")))
    }
  }

  @Test("a local user can be kicked, a name that nobody has cannot", arguments: ["ben", "uid:", "uid:01", "uid:-1"])
  mutating func kickedNames(_ name: String) throws {
    try apply(.kick(name: "uid:1001", until: 9))
    #expect(throws: MemberError.unknownName(name)) {
      try members.apply(MemberRecord(time: 1, decision: .kick(name: name, until: 9)))
    }
  }

  @Test("a kick is read back as it was written")
  func kickRecord() {
    for decision in [MemberRecord.Decision.kick(name: "uid:7", until: 12), .readmit(name: "uid:7")] {
      let record = MemberRecord(time: 5, decision: decision)
      #expect(MemberRecord(record.json) == record)
    }
  }

  @Test("an expired, withdrawn or unknown invitation enrols nobody")
  mutating func invalid() throws {
    try invite(until: 100)
    #expect(throws: MemberError.expired(id: "i1", until: 100)) {
      try members.enrolment(of: anna, label: "", by: "i1", at: 100)
    }
    try apply(.withdraw(id: "i1"))
    #expect(throws: MemberError.noInvitation(id: "i1")) { try members.enrolment(of: anna, label: "", by: "i1", at: 5) }
    #expect(members.standing(of: oneTime, at: 5) == .unknown)
  }

  // MARK: Keys that members change

  private mutating func renew(_ key: PublicKey, by own: PublicKey, at now: Int64) throws {
    if let record = try members.renewal(of: key, label: "new", by: own, at: now) { try members.apply(record) }
  }

  @Test("a member's new key has the name and role of the key that asks; the same key again changes nothing")
  mutating func renewed() throws {
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil, role: "guest"))
    try renew(other, by: anna, at: 60)
    #expect(members.keys[other] == Members.Key(name: "anna", label: "new", since: 60, role: "guest", by: anna))
    #expect(try members.renewal(of: other, label: "new", by: anna, at: 61) == nil)
  }

  @Test("a member adds no key of another member or of an invitation, and is not told whose it is")
  mutating func liar() throws {
    try invite()
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    try apply(.admit(name: "ben", key: other, label: "", invitation: nil))
    for key in [anna, oneTime] {
      #expect(throws: MemberError.keyInUse(key, by: "somebody")) {
        try members.renewal(of: key, label: "", by: other, at: 60)
      }
    }
  }

  @Test("a member ends its own keys only, whether there is another's or none, and never the one that asks")
  mutating func retired() throws {
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    try apply(.admit(name: "ben", key: other, label: "", invitation: nil))
    #expect(try members.retirement(of: anna, by: other, at: 60) == nil)
    #expect(try members.retirement(of: oneTime, by: other, at: 60) == nil)
    #expect(throws: MemberError.inUse(other)) { try members.retirement(of: other, by: other, at: 60) }
    let third = try KeyPair.random().publicKey
    try renew(third, by: other, at: 60)
    try members.apply(try #require(try members.retirement(of: other, by: third, at: 61)))
    #expect(members.standing(of: other, at: 62) == .unknown)
    #expect(members.standing(of: third, at: 62) == .member(name: "ben"))
  }

  @Test("a member that has 16 keys adds none; the hub's own user may give it more")
  mutating func manyKeys() throws {
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    for _ in 1..<Members.keysOfName { try renew(try KeyPair.random().publicKey, by: anna, at: 60) }
    #expect(throws: MemberError.manyKeys("anna", limit: Members.keysOfName)) {
      try members.renewal(of: other, label: "", by: anna, at: 60)
    }
    try apply(.admit(name: "anna", key: other, label: "", invitation: nil))
    #expect(members.keys(of: "anna").count == Members.keysOfName + 1)
  }

  @Test("a member adds 16 keys a day, however many it ends; a day later it may again")
  mutating func manyRenewals() throws {
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    var key = anna
    for _ in 0..<Members.renewalsADay {
      let next = try KeyPair.random().publicKey
      try renew(next, by: key, at: 60)
      try members.apply(try #require(try members.retirement(of: key, by: next, at: 60)))
      key = next
    }
    #expect(throws: MemberError.manyRenewals("anna", limit: Members.renewalsADay)) {
      try members.renewal(of: other, label: "", by: key, at: 60 + 86_399)
    }
    try renew(other, by: key, at: 60 + 86_400)
    #expect(members.standing(of: other, at: 0) == .member(name: "anna"))
  }

  @Test("a revoked key is unknown at once; the member's other keys stay")
  mutating func revokedKey() throws {
    try apply(.admit(name: "anna", key: anna, label: "a", invitation: nil))
    try apply(.admit(name: "anna", key: other, label: "b", invitation: nil))
    try apply(.revokeKey(anna))
    #expect(members.standing(of: anna, at: 2) == .unknown)
    #expect(members.standing(of: other, at: 2) == .member(name: "anna"))
  }

  @Test("revoking a name ends its keys and its open invitations, and no one else's")
  mutating func revokedName() throws {
    try invite()
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    try apply(.admit(name: "bert", key: other, label: "", invitation: nil))
    try apply(.revoke(name: "anna"))
    #expect(members.standing(of: anna, at: 2) == .unknown)
    #expect(members.standing(of: oneTime, at: 2) == .unknown)
    #expect(members.standing(of: other, at: 2) == .member(name: "bert"))
  }

  @Test("a one-time key cannot be enrolled, nor a key belong to two")
  mutating func keyInUse() throws {
    try invite()
    #expect(throws: MemberError.keyInUse(oneTime, by: "an invitation")) { try enrol(oneTime, at: 5) }
    try apply(.admit(name: "anna", key: anna, label: "", invitation: nil))
    #expect(throws: MemberError.keyInUse(anna, by: "anna")) {
      try apply(.admit(name: "bert", key: anna, label: "", invitation: nil))
    }
  }

  @Test("revoking what is not there is refused")
  mutating func nothingToRevoke() throws {
    #expect(throws: MemberError.unknownName("anna")) { try apply(.revoke(name: "anna")) }
    #expect(throws: MemberError.unknownKey(anna)) { try apply(.revokeKey(anna)) }
  }

  @Test(
    "names that could pass for the hub's own, or for a path, are refused",
    arguments: ["", "uid:0", "invite:x", "../anna", ".hidden", "an na", "änna", String(repeating: "a", count: 65)])
  mutating func badNames(name: String) {
    #expect(throws: MemberError.badName(name)) {
      try apply(.admit(name: name, key: anna, label: "", invitation: nil))
    }
  }

  @Test("each record reads back from its line")
  func lines() throws {
    let decisions: [MemberRecord.Decision] = [
      .invite(id: "i", name: "anna", oneTimeKey: oneTime, until: 5), .withdraw(id: "i"),
      .admit(name: "anna", key: anna, label: "a \"b\"", invitation: "i"),
      .admit(name: "anna", key: anna, label: "", invitation: nil), .revoke(name: "anna"), .revokeKey(anna),
    ]
    for decision in decisions {
      let record = MemberRecord(time: 7, decision: decision)
      #expect(MemberRecord(try JSON(parsing: record.json.text)) == record)
    }
  }
}
