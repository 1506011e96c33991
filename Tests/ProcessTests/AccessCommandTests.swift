import Foundation
import Testing

@Suite("Rights, between processes", .serialized)
struct AccessCommandTests {
  private let users: KeyedUsers

  init() throws { users = try KeyedUsers() }

  private var file: String { users.bench.folder.appendingPathComponent("host/bindbus/hub/access.json").path }

  private func write(_ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    chmod(file, 0o600)
  }

  private static let guests = #"""
    {"bindbus": "access", "version": 1,
     "roles": {"guest": {"read": ["shop/*"], "write": ["shop/till.open"]}}, "members": {}}
    """#

  @Test("a first file lets everybody in as before, and is never replaced")
  func first() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    #expect(try users.run("bindhub", ["access", "init"], as: "host").code == 0)
    let checked = try users.run("bindhub", ["access", "check"], as: "host")
    #expect(checked.code == 0 && checked.output.contains("good: 2 roles, 1 names"), "\(checked.output)")
    #expect(try users.run("bindhub", ["access", "init"], as: "host").code == 73)
  }

  @Test("explain names the role and the pattern that decides, and says no where none does")
  func explain() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    try write(
      AccessCommandTests.guests.replacingOccurrences(of: "\"members\": {}", with: "\"members\": {\"*\": [\"guest\"]}"))
    let open = try users.run("bindhub", ["access", "explain", "anna", "shop/till.open"], as: "host")
    #expect(open.output.contains("write  yes, by guest: shop/till.open"), "\(open.output)")
    let total = try users.run("bindhub", ["access", "explain", "anna", "shop/till.total"], as: "host")
    #expect(
      total.output.contains("write  no") && total.output.contains("read  yes, by guest: shop/*"), "\(total.output)")
  }

  @Test("a file that the hub would refuse is refused by check with 65, and the hub does not start with it")
  func wrong() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    try write("{}")
    #expect(try users.run("bindhub", ["access", "check"], as: "host").code == 65)
    let served = try users.run("bindhub", ["serve", "--listen", "tcp://127.0.0.1:0", "--store", "memory"], as: "host")
    #expect(served.code == 78 && served.output.contains("bindhub access check"), "\(served.output)")
  }

  @Test("an invitation gives a role; what it lacks ends with 77 and names the right; apply widens it at once")
  func journey() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    try write(AccessCommandTests.guests)
    let hub = try users.serve()
    let unknown = try users.run("bindhub", ["invite", "anna", "--role", "gast"], as: "host")
    #expect(unknown.code == 65 && unknown.output.contains("defines no role gast"), "\(unknown.output)")
    #expect(try users.run("bindpeer", ["join", try users.invite("anna", ["--role", "guest"])], as: "guest").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.open=true"], as: "guest").code == 0)
    let total = try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.total=1"], as: "guest")
    #expect(total.code == 77 && total.output.contains("anna (guest) lacks the right write"), "\(total.output)")
    let plan = try users.run("bindpeer", ["--hub", "shop", "get", "plan"], as: "guest")
    #expect(plan.code == 77 && plan.output.contains("anna (guest) lacks the right read"), "\(plan.output)")
    try write(AccessCommandTests.guests.replacingOccurrences(of: "shop/till.open", with: "shop/*"))
    let applied = try users.run("bindhub", ["access", "apply"], as: "host")
    #expect(applied.code == 0 && applied.output.contains("in force"), "\(applied.output)")
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.total=1"], as: "guest").code == 0)
    try write("{}")
    #expect(try users.run("bindhub", ["access", "apply"], as: "host").code == 65)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.total=2"], as: "guest").code == 0)
    withExtendedLifetime(hub) {}
  }

  @Test("a watch that loses the right to read says so and waits, and goes on when it has the right again")
  func watch() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    try write(AccessCommandTests.guests)
    let hub = try users.serve()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna", ["--role", "guest"])], as: "guest").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.open=true"], as: "guest").code == 0)
    let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "shop/till"], as: "guest")
    #expect(watch.line { $0.contains("open true") } != nil, "\(watch.output)")
    try write(AccessCommandTests.guests.replacingOccurrences(of: "shop/", with: "hall/"))
    #expect(try users.run("bindhub", ["access", "apply"], as: "host").code == 0)
    #expect(
      watch.line { $0.contains("refused: shop/till: anna (guest) lacks the right read") } != nil, "\(watch.output)")
    try write(AccessCommandTests.guests)
    #expect(try users.run("bindhub", ["access", "apply"], as: "host").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "shop/till.open=false"], as: "guest").code == 0)
    #expect(watch.line { $0.contains("open") && $0.contains("false") } != nil, "\(watch.output)")
    withExtendedLifetime(hub) {}
  }
}
