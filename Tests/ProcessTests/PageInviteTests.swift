import Foundation
import Testing

@Suite("Invitations to pages, in the terminal", .serialized)
struct PageInviteTests {
  private let users: KeyedUsers

  init() throws {
    users = try KeyedUsers()
    let made = try users.run("bindhub", ["keys", "init"], as: "host")
    try #require(made.code == 0, "\(made.output)")
  }

  private func invite(_ options: String...) throws -> (code: Int32?, output: String) {
    try users.run("bindhub", ["invite", "gus", "--page"] + options, as: "host")
  }

  /// The address in the output of an invitation.
  private func address(_ output: String) throws -> URL {
    let line = try #require(output.split(separator: "\n").first { $0.hasPrefix("http") }, "\(output)")
    return try #require(URL(string: String(line)))
  }

  @Test("an address is of the pages that were served last, and is listed until it is withdrawn")
  func served() throws {
    let socket = "ipc://\(users.bench.folder.path)/s"
    let hub = try users.start(
      "bindhub", ["serve", "--listen", socket, "--store", "memory", "--web", "127.0.0.1:0"], as: "host")
    let line = try #require(hub.line { $0.hasPrefix("web http://127.0.0.1:") }, "\(hub.output)")
    let web = try #require(URL(string: String(line.dropFirst(4))))
    let invited = try invite("--role", "view", "--for", "2h")
    #expect(invited.code == 0 && invited.output.contains("Only browsers of this machine reach it"))
    let url = try address(invited.output)
    #expect(url.host == "127.0.0.1" && url.port == web.port && url.query?.count == "code=".count + 32)
    let listed = try users.run("bindhub", ["members", "--json"], as: "host").output
    let entry = try #require(try JSONSerialization.jsonObject(with: Data(listed.utf8)) as? [String: Any])
    #expect(entry["member"] as? String == "gus" && entry["role"] as? String == "view" && entry["page"] as? Bool == true)
    let id = try #require(entry["invitation"] as? String)
    #expect(!listed.contains(url.query?.suffix(32) ?? "-"))
    #expect(try users.run("bindhub", ["revoke", id], as: "host").code == 0)
    #expect(try users.run("bindhub", ["members"], as: "host").output.isEmpty)
    #expect(try users.run("bindhub", ["revoke", id], as: "host").code == 1)
  }

  @Test("without pages served the cure is named; an address that is given is used")
  func named() throws {
    let none = try invite()
    #expect(none.code == 78 && none.output.contains("bindhub serve --web"), "\(none.output)")
    let given = try invite("--address", "https://hall.example/")
    #expect(given.code == 0 && !given.output.contains("Only browsers"), "\(given.output)")
    #expect(try address(given.output).absoluteString.hasPrefix("https://hall.example/?code="))
  }

  @Test(
    "an address that no browser could open is refused",
    arguments: [
      "hall", "tcp://127.0.0.1:7877", "http://", "http://a/b", "http://u:p@a", "http://a?x=1", "javascript:alert(1)",
    ])
  func refused(_ text: String) throws {
    let refused = try invite("--address", text)
    #expect(refused.code == 64 && refused.output.contains("no address of pages"), "\(refused.output)")
    #expect(try invite("--address", "http://a", "--address", "http://b").code == 64)
  }

  @Test("a name that is none, and a role that no file defines, are refused")
  func names() throws {
    #expect(
      try users.run("bindhub", ["invite", "a b", "--page", "--address", "http://a"], as: "host").code == 64)
    #expect(try users.run("bindhub", ["access", "init"], as: "host").code == 0)
    #expect(try invite("--address", "http://a", "--role", "nobody").code == 65)
    #expect(try invite("--address", "http://a", "--role", "guest").code == 0)
  }
}
