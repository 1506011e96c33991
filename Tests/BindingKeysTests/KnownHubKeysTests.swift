import BindingProtocol
import Foundation
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("What a user knows of a hub's keys")
struct KnownHubKeysTests {
  private let directory: TemporaryDirectory
  private let first: PublicKey
  private let second: PublicKey
  private let third: PublicKey
  private let address = HubAddress(tcp: "10.0.0.1", port: 7877)

  init() throws {
    directory = try TemporaryDirectory()
    (first, second, third) = (
      try KeyPair.random().publicKey, try KeyPair.random().publicKey, try KeyPair.random().publicKey
    )
    _ = try KnownHub.keys(for: "shop", in: directory.path)
    try KnownHub.remember("shop", addresses: [address], hubKey: first, in: directory.path)
  }

  private func learn(_ proven: PublicKey, _ present: PublicKey, _ next: PublicKey?) throws -> [PublicKey] {
    try KnownHub.learn(.init(proven: proven, present: present, next: next), of: "shop", in: directory.path)
    return try KnownHub(named: "shop", in: directory.path).hubKeys
  }

  @Test("the next key is stored beside the present one, and takes its place once it is the present one")
  func change() throws {
    #expect(try learn(first, first, second) == [first, second])
    #expect(try KnownHub(named: "shop", in: directory.path).addresses == [address])
    #expect(try learn(second, second, nil) == [second])
    // The old key announces nothing any more.
    #expect(try learn(first, first, third) == [second])
  }

  @Test("a connection from before the change tells of it too")
  func openConnection() throws {
    #expect(try learn(first, first, second) == [first, second])
    #expect(try learn(first, second, nil) == [second])
  }

  @Test("where the other hubs are stays with what is known, also what told of them, through a change of the key")
  func others() throws {
    func others() throws -> [HubAddress] { try KnownHub(named: "shop", in: directory.path).others }
    let (near, far) = (HubAddress(tcp: "10.0.0.2", port: 7877), HubAddress(tcp: "10.0.0.3", port: 7877))
    #expect(try others().isEmpty)
    let local = try HubAddress("ipc:///run/hub.sock")
    try KnownHub.learn([local, near, far], at: address, of: "shop", in: directory.path)
    #expect(try others() == [near, far])
    #expect(try learn(first, first, second) == [first, second])
    #expect(try others() == [near, far])
    // The near one names the first alone.
    try KnownHub.learn([address], at: near, of: "shop", in: directory.path)
    #expect(try others() == [near])
    #expect(try KnownHub(named: "shop", in: directory.path).addresses == [address])
  }

  @Test("a cancelled change leaves the present key alone")
  func cancelled() throws {
    #expect(try learn(first, first, second) == [first, second])
    #expect(try learn(first, first, nil) == [first])
    #expect(try learn(second, second, nil) == [first])
  }

  @Test("a key that is not trusted teaches nothing")
  func stranger() throws {
    #expect(try learn(second, second, third) == [first])
    #expect(try learn(third, first, third) == [first])
  }

  @Test("what the user trusts by hand is all that is trusted, whatever was announced before")
  func trusted() throws {
    #expect(try learn(first, first, second) == [first, second])
    try KnownHub.remember("shop", addresses: [address], hubKey: third, in: directory.path)
    #expect(try KnownHub(named: "shop", in: directory.path).hubKeys == [third])
    #expect(try learn(first, second, nil) == [third])
  }

  @Test("a file of before the announcement is read, and so is one whose next key is none")
  func olderFile() throws {
    let path = directory.path + "/shop.json"
    let old = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!old.contains("next"))
    try (old.dropLast(2) + #","next":"short"}"#).write(toFile: path, atomically: true, encoding: .utf8)
    #expect(try KnownHub(named: "shop", in: directory.path).hubKeys == [first])
  }

  @Test("processes that learn at the same time leave a whole file")
  func together() async throws {
    let (path, keys) = (directory.path, [first, second, third])
    await withTaskGroup(of: Void.self) { group in
      for round in 0..<60 {
        group.addTask {
          let lesson = KnownHub.Lesson(proven: keys[0], present: keys[0], next: keys[1 + round % 2])
          try? KnownHub.learn(lesson, of: "shop", in: path)
        }
      }
    }
    let known = try KnownHub(named: "shop", in: path)
    #expect(known.hubKey == first && (known.nextKey == second || known.nextKey == third))
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["shop.json", "shop.key"])
  }
}
