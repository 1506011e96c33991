import BindingKeys
import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingHub

/// `bindpeer rotate`, begun in each state that an interruption can leave behind.
@Suite("A member's change of its own key")
struct KeyRenewalTests {
  private let hub: KeyedHub
  private let directory: String
  private let old: KeyPair
  private var path: String { directory + "/shop.key" }

  init() throws {
    hub = try KeyedHub()
    directory = hub.folder + "/hubs"
    old = try KnownHub.keys(for: "shop", in: directory)
    try KnownHub.remember("shop", addresses: [hub.ipc, hub.tcp], hubKey: hub.publicKey, in: directory)
    try hub.decide(.admit(name: "anna", key: old.publicKey, label: "", invitation: nil))
  }

  private func renew() throws -> KnownHub.Renewal {
    try KnownHub.renewKeys(for: "shop", label: "laptop", in: directory, milliseconds: 20_000)
  }

  private func members() throws -> [PublicKey] { Array(try MembersFile(at: hub.keys.membersPath).members.keys.keys) }

  private func present() throws -> PublicKey { try KnownHub(named: "shop", in: directory).keys.publicKey }

  /// What is left when all is done.
  private func expectRenewed(_ renewal: KnownHub.Renewal) throws {
    #expect(renewal.member == "anna" && renewal.old == old.publicKey && renewal.new != old.publicKey)
    #expect(try members() == [renewal.new])
    #expect(try present() == renewal.new)
    let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    #expect(files == ["shop.json", "shop.key"])
    #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("replaces"))
    try Caller(hub.tcp, hub.options(try KnownHub(named: "shop", in: directory).keys)).hello()
  }

  /// Writes the next pair as an interrupted change does.
  private func plantNext(replacing key: PublicKey, at path: String) throws -> KeyPair {
    let new = try KeyPair.random()
    let text =
      #"{"bindbus":"key","version":1,"of":"peer","public":"\#(new.publicKey)","secret":"\#(new.secretKey.text)","#
      + #""replaces":"\#(key)"}"#
    try? FileManager.default.removeItem(atPath: path)
    try Data("\(text)\n".utf8).write(to: URL(fileURLWithPath: path))
    chmod(path, 0o600)
    return new
  }

  @Test("the new pair is in the file and in force, and the old key is nobody's")
  func whole() throws {
    try expectRenewed(try renew())
    #expect(try hub.handshake(.dealer, at: hub.tcp.description, hub.options(old)) != .handshakeSucceeded)
  }

  @Test("interrupted before the hub knew the new key: the old one works, and the next run uses the same new pair")
  func drawn() throws {
    let new = try plantNext(replacing: old.publicKey, at: path + ".next")
    #expect(try present() == old.publicKey)
    let renewal = try renew()
    #expect(renewal.new == new.publicKey)
    try expectRenewed(renewal)
  }

  @Test("interrupted after the hub added the new key: both work, and the next run finishes")
  func added() throws {
    let new = try plantNext(replacing: old.publicKey, at: path + ".next")
    try hub.decide(
      .admit(name: "anna", key: new.publicKey, label: "", invitation: nil, by: old.publicKey))
    try expectRenewed(try renew())
  }

  @Test("the old key was revoked after the hub added the new one: the next run finishes with the new one")
  func revokedMeanwhile() throws {
    let new = try plantNext(replacing: old.publicKey, at: path + ".next")
    try hub.decide(.admit(name: "anna", key: new.publicKey, label: "", invitation: nil))
    try hub.decide(.revokeKey(old.publicKey))
    try expectRenewed(try renew())
  }

  @Test("interrupted after the file changed: the new pair works, and the next run ends the old key")
  func switched() throws {
    let new = try plantNext(replacing: old.publicKey, at: path)
    try hub.decide(.admit(name: "anna", key: new.publicKey, label: "", invitation: nil))
    #expect(try present() == new.publicKey)
    let renewal = try renew()
    #expect(renewal.new == new.publicKey)
    try expectRenewed(renewal)
  }

  @Test("interrupted after the hub ended the old key: the next run finds that it is done")
  func ended() throws {
    let new = try plantNext(replacing: old.publicKey, at: path)
    try hub.decide(.admit(name: "anna", key: new.publicKey, label: "", invitation: nil))
    try hub.decide(.revokeKey(old.publicKey))
    try expectRenewed(try renew())
  }

  @Test("a next pair that belonged to another change is not used")
  func leftover() throws {
    let new = try plantNext(replacing: try KeyPair.random().publicKey, at: path + ".next")
    let renewal = try renew()
    #expect(renewal.new != new.publicKey)
    try expectRenewed(renewal)
  }

  @Test("a key that the hub does not know any more changes nothing, and the error says how to get another")
  func revoked() throws {
    try hub.decide(.revokeKey(old.publicKey))
    #expect(throws: RenewalError.revoked(hub: "shop")) { try renew() }
    #expect(try present() == old.publicKey)
  }

  @Test("a hub whose key is another one is not asked, and the error says how to trust it")
  func otherHub() throws {
    try KnownHub.remember("shop", addresses: [hub.tcp], hubKey: try KeyPair.random().publicKey, in: directory)
    let error = #expect(throws: RenewalError.otherKey(address: hub.tcp.description, hub: "shop")) { try renew() }
    #expect(error.map { "\($0)" }?.contains("bindpeer trust shop KEY") == true)
    #expect(try members() == [old.publicKey])
  }

  @Test("a hub that has its next key already is found by it")
  func nextHubKey() throws {
    let next = try KeyPair.random().publicKey
    let lesson = KnownHub.Lesson(proven: next, present: next, next: hub.publicKey)
    try KnownHub.remember("shop", addresses: [hub.tcp], hubKey: next, in: directory)
    try KnownHub.learn(lesson, of: "shop", in: directory)
    try expectRenewed(try renew())
    let known = try KnownHub(named: "shop", in: directory)
    #expect(known.provenKey(at: hub.tcp) == hub.publicKey)
    guard case .report = HubStatus.answer(from: hub.tcp, as: known, timeout: .seconds(20)) else { throw Silence() }
  }

  @Test("a member that has its most keys is told so, and keeps the pair")
  func manyKeys() throws {
    for _ in 1..<Members.keysOfName {
      try hub.decide(.admit(name: "anna", key: try KeyPair.random().publicKey, label: "", invitation: nil))
    }
    let error = #expect(throws: RenewalError.self) { try renew() }
    #expect(error.map { "\($0)" }?.contains("keysOfName") == true, "\(String(describing: error))")
    #expect(try present() == old.publicKey)
  }
}
