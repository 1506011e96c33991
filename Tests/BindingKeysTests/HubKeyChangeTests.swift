import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("The change of a hub's key, in its files")
struct HubKeyChangeTests {
  private let directory: TemporaryDirectory
  private let keys: HubKeys
  private let first: KeyPair

  init() throws {
    directory = try TemporaryDirectory()
    keys = HubKeys(in: directory.path)
    first = try keys.create()
  }

  private var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).sorted()
  }

  @Test("the next pair is beside the present one, and nobody else can read it")
  func next() throws {
    let next = try keys.changeKey(at: 1_000)
    #expect(try keys.next() == next && next.moment == 1_000 && next.keys != first)
    #expect(try keys.read() == first)
    var info = stat()
    #expect(stat(keys.nextKeyPath, &info) == 0 && info.st_mode & 0o777 == 0o600)
    #expect(files == ["hub.key", "hub.key.next"])
  }

  @Test("while a change is under way another one is refused, and the error says when, and how to hasten or end it")
  func twice() throws {
    let next = try keys.changeKey(at: 1_000)
    let error = #expect(throws: KeyError.changing(to: next.keys.publicKey, at: 1_000)) { try keys.changeKey(at: 2_000) }
    let words = error.map { "\($0)" } ?? ""
    #expect(words.contains("1970-01-01T00:16:40Z") && words.contains("--now") && words.contains("--cancel"), "\(words)")
    #expect(try keys.next() == next)
  }

  @Test("a hastened change keeps the pair that members know; without one under way a pair is drawn")
  func hastened() throws {
    let drawn = try keys.changeKey(try keys.next(), now: 500)
    #expect(drawn.moment == 500)
    try keys.cancelChange()
    let next = try keys.changeKey(at: 1_000)
    let now = try keys.changeKey(next, now: 700)
    #expect(now.keys == next.keys && now.moment == 700)
    #expect(try keys.next() == now)
  }

  @Test("a change that the hub has made meanwhile is not made again by hastening it")
  func hastenedLate() throws {
    let next = try keys.changeKey(at: 1_000)
    #expect(try keys.completeChange(to: next.keys.publicKey))
    #expect(try keys.changeKey(next, now: 700) == next)
    #expect(try keys.next() == nil)
  }

  @Test("a cancelled change leaves the present key, and there is none to cancel any more")
  func cancelled() throws {
    let next = try keys.changeKey(at: 1_000)
    try keys.cancelChange()
    #expect(throws: KeyError.notChanging) { try keys.cancelChange() }
    #expect(try !keys.completeChange(to: next.keys.publicKey))
    #expect(try keys.read() == first)
  }

  @Test("after the change the old secret is in no file, and a second process finds it made")
  func completed() throws {
    let next = try keys.changeKey(at: 1_000)
    #expect(try keys.completeChange(to: next.keys.publicKey))
    #expect(try keys.completeChange(to: next.keys.publicKey))
    #expect(try keys.read() == next.keys)
    #expect(try keys.next() == nil)
    #expect(files == ["hub.key"])
    let text = try String(contentsOfFile: keys.keyPath, encoding: .utf8)
    #expect(!text.contains(first.secretKey.text))
  }

  @Test("a hub that starts after the moment has the next key, one that starts before has the present one")
  func start() throws {
    let next = try keys.changeKey(at: 1_000)
    let before = try keys.readForStart(at: 999)
    #expect(before.keys == first && before.next == next)
    let after = try keys.readForStart(at: 1_000)
    #expect(after.keys == next.keys && after.next == nil)
    #expect(try keys.readForStart(at: 1_001).keys == next.keys)
  }

  @Test("a next pair that is torn, exposed or of a peer starts no hub, and cancelling the change removes it")
  func damaged() throws {
    _ = try keys.changeKey(at: 1_000)
    let whole = try Data(contentsOf: URL(fileURLWithPath: keys.nextKeyPath))
    for count in [0, 1, whole.count / 2, whole.count - 2] {
      try whole.prefix(count).write(to: URL(fileURLWithPath: keys.nextKeyPath))
      #expect(throws: KeyError.self) { try keys.readForStart(at: 999) }
    }
    try whole.write(to: URL(fileURLWithPath: keys.nextKeyPath))
    #expect(chmod(keys.nextKeyPath, 0o644) == 0)
    #expect(throws: KeyError.exposed(path: keys.nextKeyPath, problem: "can be read by other users")) { try keys.next() }
    try keys.cancelChange()
    _ = try KeyFile.create(.peer, at: keys.nextKeyPath)
    #expect(throws: KeyError.malformed(path: keys.nextKeyPath, problem: "does not hold the key of a hub")) {
      try keys.readForStart(at: 999)
    }
    try keys.cancelChange()
    _ = try KeyFile.create(.hub, at: keys.nextKeyPath)
    #expect(throws: KeyError.malformed(path: keys.nextKeyPath, problem: "does not say from when it counts")) {
      try keys.next()
    }
    #expect(try keys.read() == first)
  }

  // MARK: Invitations

  private func invite(_ lifetime: Int64, to file: String? = nil) throws -> Invitation {
    try keys.invite(
      "anna", to: .init(name: "shop", addresses: [.init(tcp: "h", port: 1)]), lifetime: lifetime, to: file, at: 100)
  }

  @Test("an invitation ends with the key that it names")
  func invitation() throws {
    #expect(try invite(5_000).until == 5_100)
    let next = try keys.changeKey(at: 1_000)
    let cut = try invite(5_000)
    #expect(cut.until == 1_000 && cut.hubKey == first.publicKey)
    #expect(try invite(10).until == 110)
    let members = try MembersFile(at: keys.membersPath).members
    #expect(members.invitations.values.map(\.until).sorted() == [110, 1_000, 5_100])
    // The moment has passed: a hub makes the change any moment.
    _ = try keys.changeKey(next, now: 50)
    let late = try invite(5_000)
    #expect(late.until == 5_100 && late.hubKey == next.keys.publicKey)
  }

  @Test("an invitation goes to a new file that nobody else can read; where it cannot be written there is none")
  func file() throws {
    let path = directory.path + "/line"
    let invitation = try invite(10, to: path)
    #expect(try Invitation(line: String(contentsOfFile: path, encoding: .utf8)) == invitation)
    var info = stat()
    #expect(stat(path, &info) == 0 && info.st_mode & 0o777 == 0o600)
    #expect(throws: KeyError.exists(path: path)) { try invite(10, to: path) }
    #expect(throws: KeyError.self) { try invite(10, to: directory.path + "/none/line") }
    #expect(try MembersFile(at: keys.membersPath).members.invitations.count == 1)
  }
}
