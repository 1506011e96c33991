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
