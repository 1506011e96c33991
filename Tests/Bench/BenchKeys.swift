import ArgumentParser
import BindingKeys
import Foundation
import ZeroMQ

/// Makes the keys of an encrypted contender: a hub's, and those of one member, as which all its clients connect. Its
/// role allows everything, because the standard limits of a name are far below what is measured.
struct MakeKeys: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "make-keys", shouldDisplay: false)
  @Argument var folder: String

  func run() throws {
    let hub = HubKeys(in: folder)
    _ = try hub.create()
    let own = try KeyFile.create(.peer, at: BenchKeys.ownPath(in: folder))
    var members = try MembersFile(at: hub.membersPath)
    try members.append { _ throws(MemberError) in
      MemberRecord(
        time: Int64(Date().timeIntervalSince1970),
        decision: .admit(name: "bench", key: own.publicKey, label: "", invitation: nil))
    }
    try Data(MakeKeys.access.utf8).write(to: URL(fileURLWithPath: folder + "/access.json"))
  }

  private static let access = #"""
    {"bindbus": "access", "version": 1, "members": {"bench": ["bench"]}, "roles": {"bench": {
      "read": ["*"], "write": ["*"], "delete": ["*"], "own": ["*"], "present": ["*"], "describe": ["*"], "fanout": true,
      "limits": {"writesPerSecond": 1000000000, "bytesPerSecond": 1000000000}}}}
    """#
}

/// Selects the keys that `make-keys` made; without them connections are plain.
struct BenchKeys: ParsableArguments {
  @Option(name: .customLong("keys")) var folder: String?

  static func ownPath(in folder: String) -> String { folder + "/bench.key" }

  /// What a client's socket is set to before it connects.
  func client() throws -> [SocketOption] {
    guard let folder else { return [] }
    let own = try KeyFile.read(.peer, at: BenchKeys.ownPath(in: folder))
    return [.encryptedClient(server: try HubKeys(in: folder).read().publicKey, own: own)]
  }

  /// What a server's socket is set to before it is bound.
  func server() throws -> [SocketOption] {
    guard let folder else { return [] }
    return [.encryptedServer(try HubKeys(in: folder).read().secretKey)]
  }
}
