import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("The log of who was let in")
struct AuditLogTests {
  private let path = NSTemporaryDirectory() + "audit-\(UInt32.random(in: 0 ... .max)).log"

  private func events(_ path: String) throws -> [JSON] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { try JSON(parsing: String($0)) }
  }

  private func names(_ path: String) throws -> [String] { try events(path).map { $0["event"]?.string ?? "?" } }

  @Test("each event is a line of JSON with its time in UTC, in a file that its owner alone can read")
  func lines() throws {
    let key = try KeyPair.random().publicKey
    let log = AuditLog(at: path) { Issue.record("\($0)") }
    log.record(
      .refused(address: "10.0.0.7", key: key, domain: "publish", reason: "no \"member\""), at: 1_700_000_000_250)
    log.record(.admitted(name: "anna", key: key, invitation: nil), at: 1_700_000_000_300)
    log.flush()
    let events = try events(path)
    #expect(events.map { $0["event"]?.string } == ["refused", "admitted"])
    #expect(events[0]["time"]?.string == "2023-11-14T22:13:20.250Z" && events[0]["reason"]?.string == "no \"member\"")
    #expect(events[0]["key"]?.string == "\(key)" && events[1]["invitation"] == .null)
    var info = stat()
    #expect(stat(path, &info) == 0 && info.st_mode & 0o777 == 0o600)
  }

  @Test("past its limit the file is set aside, one of them is kept, and no line is torn")
  func rotation() throws {
    let log = AuditLog(at: path, limit: 1_000, linesASecond: 1_000) { Issue.record("\($0)") }
    for number in 0..<100 {
      log.record(.denied("denial \(number)"), at: 1_000)
      log.flush()
    }
    let texts = try (events(path + ".1") + events(path)).map { $0["text"]?.string ?? "?" }
    #expect(texts == (100 - texts.count..<100).map { "denial \($0)" })
    var info = stat()
    #expect(stat(path, &info) == 0 && info.st_size <= 1_000)
    #expect(stat(path + ".1", &info) == 0 && info.st_size <= 1_000)
    #expect(stat(path + ".2", &info) != 0)
  }

  @Test("past the lines of a second events are counted, and the count is told in a later one")
  func pace() throws {
    let log = AuditLog(at: path, linesASecond: 3) { Issue.record("\($0)") }
    for number in 0..<10 { log.record(.denied("\(number)"), at: 5_000) }
    log.record(.denied("later"), at: 6_000)
    log.flush()
    #expect(try names(path) == ["denied", "denied", "denied", "leftOut", "denied"])
    #expect(try events(path)[3]["events"]?.int64 == 7)
  }

  @Test("what becomes of members and invitations is written down, and what stays is not")
  func members() throws {
    let (anna, ben) = (try KeyPair.random().publicKey, try KeyPair.random().publicKey)
    let file = path + ".members"
    var members = try MembersFile(at: file)
    let log = AuditLog(at: path) { Issue.record("\($0)") }
    for (key, name) in [(anna, "anna"), (ben, "ben")] {
      let before = members.members
      try members.append { _ throws(MemberError) in
        MemberRecord(time: 1, decision: .admit(name: name, key: key, label: "", invitation: nil))
      }
      log.record(from: before, to: members.members)
    }
    log.record(from: members.members, to: members.members)
    log.record(from: members.members, to: Members())
    log.flush()
    let events = try events(path).map { "\($0["event"]?.string ?? "?") \($0["name"]?.string ?? "?")" }
    #expect(events.prefix(2) == ["admitted anna", "admitted ben"])
    #expect(Set(events.dropFirst(2)) == ["revoked anna", "revoked ben"])
  }

  @Test("a log that others can read is not written, and that is told once")
  func exposed() throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]))
    let told = Told()
    let log = AuditLog(at: path) { told.add($0) }
    for _ in 0..<3 { log.record(.denied("x")) }
    log.flush()
    #expect(told.texts.count == 1 && told.texts[0].contains("can be read by other users"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
  }
}

/// What a log complained of.
private final class Told: @unchecked Sendable {  // SAFETY: `all` is used only while `lock` is held
  private let lock = NSLock()
  private var all: [String] = []

  func add(_ text: String) { lock.withLock { all.append(text) } }

  var texts: [String] { lock.withLock { all } }
}
