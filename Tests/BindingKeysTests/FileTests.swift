import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("Files of keys and members")
struct FileTests {
  let directory: TemporaryDirectory
  let key: PublicKey
  private var path: String { directory.path + "/members" }

  init() throws {
    directory = try TemporaryDirectory()
    key = try KeyPair.random().publicKey
  }

  private func admit(_ name: String, to file: inout MembersFile) throws {
    let key = try KeyPair.random().publicKey
    try file.append { _ in
      MemberRecord(time: 1, decision: .admit(name: name, key: key, label: "", invitation: nil))
    }
  }

  private func names(_ file: MembersFile) -> [String] { file.members.keys.values.map(\.name).sorted() }

  // MARK: Members

  @Test("two processes append to one file, and each reads what the other wrote")
  func shared() throws {
    var one = try MembersFile(at: path)
    var two = try MembersFile(at: path)
    try admit("anna", to: &one)
    try admit("bert", to: &two)
    #expect(names(two) == ["anna", "bert"])
    #expect(try one.hasChanged())
    try one.refresh()
    #expect(names(one) == ["anna", "bert"])
    #expect(try !one.hasChanged())
  }

  @Test("half a line, left by a writer that died, is skipped and then replaced")
  func torn() throws {
    var file = try MembersFile(at: path)
    try admit("anna", to: &file)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data(#"{"t":1,"e":"adm"#.utf8))
    try handle.close()
    var other = try MembersFile(at: path)
    #expect(names(other) == ["anna"])
    try admit("bert", to: &other)
    #expect(names(try MembersFile(at: path)) == ["anna", "bert"])
  }

  @Test("a refused decision leaves the file as it is")
  func refused() throws {
    var file = try MembersFile(at: path)
    try admit("anna", to: &file)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(throws: KeyError.member(.unknownName("bert"))) {
      try file.append { _ in MemberRecord(time: 1, decision: .revoke(name: "bert")) }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  @Test("a file that is removed revokes everybody")
  func removed() throws {
    var file = try MembersFile(at: path)
    try admit("anna", to: &file)
    try FileManager.default.removeItem(atPath: path)
    #expect(try file.hasChanged())
    try file.refresh()
    #expect(names(file) == [])
  }

  @Test(
    "a line of another release is an error that keeps the last members", arguments: ["[]", #"{"t":1,"e":"new"}"#, "x"])
  func unknownLine(line: String) throws {
    var file = try MembersFile(at: path)
    try admit("anna", to: &file)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data((line + "\n").utf8))
    try handle.close()
    #expect(throws: KeyError.self) { try file.refresh() }
    #expect(names(file) == ["anna"])
  }

  @Test("a file of members that others can change is refused")
  func exposedMembers() throws {
    var file = try MembersFile(at: path)
    try admit("anna", to: &file)
    #expect(chmod(path, 0o620) == 0)
    #expect(throws: KeyError.exposed(path: path, problem: "can be changed by other users")) {
      try MembersFile(at: path)
    }
  }

  // MARK: Keys

  @Test("a pair reads back from its file, which nobody else can read")
  func pair() throws {
    let keys = try KeyFile.create(.hub, at: path)
    #expect(try KeyFile.read(.hub, at: path) == keys)
    var info = stat()
    #expect(stat(path, &info) == 0)
    #expect(info.st_mode & 0o777 == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["members"])
  }

  @Test("no public key looks like an option of a command")
  func dash() throws {
    for number in 0..<600 {
      let keys = try KeyFile.create(.peer, at: "\(path)-\(number)")
      #expect(!"\(keys.publicKey)".hasPrefix("-"))
    }
  }

  @Test("keys are never overwritten")
  func existing() throws {
    let keys = try KeyFile.create(.hub, at: path)
    #expect(throws: KeyError.exists(path: path)) { try KeyFile.create(.hub, at: path) }
    #expect(try KeyFile.read(.hub, at: path) == keys)
  }

  @Test("a secret that others can read is refused", arguments: [0o640, 0o604, 0o644] as [mode_t])
  func exposed(mode: mode_t) throws {
    _ = try KeyFile.create(.peer, at: path)
    #expect(chmod(path, mode) == 0)
    #expect(throws: KeyError.exposed(path: path, problem: "can be read by other users")) {
      try KeyFile.read(.peer, at: path)
    }
  }

  @Test("the key of a hub is none of a peer, and the other way round")
  func otherKind() throws {
    _ = try KeyFile.create(.hub, at: path)
    #expect(throws: KeyError.malformed(path: path, problem: "does not hold the key of a peer")) {
      try KeyFile.read(.peer, at: path)
    }
    try FileManager.default.removeItem(atPath: path)
    _ = try KeyFile.create(.peer, at: path)
    #expect(throws: KeyError.malformed(path: path, problem: "does not hold the key of a hub")) {
      try KeyFile.read(.hub, at: path)
    }
  }

  @Test("a file of keys that is cut anywhere is refused and never half believed")
  func truncated() throws {
    _ = try KeyFile.create(.hub, at: path)
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    for count in 0..<(whole.count - 1) {
      try whole.prefix(count).write(to: URL(fileURLWithPath: path))
      #expect(throws: KeyError.self) { try KeyFile.read(.hub, at: path) }
    }
  }

  // MARK: Hubs

  @Test("a hub is remembered with its addresses and key, and a pair for it")
  func hub() throws {
    let hubs = directory.path + "/hubs"
    let keys = try KnownHub.keys(for: "shop", in: hubs)
    #expect(try KnownHub.keys(for: "shop", in: hubs) == keys)
    let address = HubAddress(tcp: "10.0.0.1", port: 7877)
    try KnownHub.remember("shop", addresses: [address], hubKey: key, in: hubs)
    let expected = KnownHub(name: "shop", addresses: [address], hubKey: key, keys: keys)
    #expect(try KnownHub(named: "shop", in: hubs) == expected)
    #expect(KnownHub.names(in: hubs) == ["shop"])
  }

  @Test("an unknown hub's error names those that are known")
  func unknownHub() throws {
    let hubs = directory.path + "/hubs"
    _ = try KnownHub.keys(for: "shop", in: hubs)
    try KnownHub.remember("shop", addresses: [.init(tcp: "h", port: 1)], hubKey: key, in: hubs)
    #expect(throws: KeyError.unknownHub(name: "shpo", known: ["shop"])) { try KnownHub(named: "shpo", in: hubs) }
    #expect(throws: KeyError.badHubName("../shop")) { try KnownHub(named: "../shop", in: hubs) }
  }
}

/// A directory of its own for each test.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "bindkeys-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
