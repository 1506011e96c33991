package import BindingProtocol
import Foundation
package import ZeroMQ

/// The directory of a hub's keys, which only its user may read: the hub's pair, its members, and where it listened
/// last.
package struct HubKeys: Hashable, Sendable {
  /// The path of the directory.
  package let directory: String

  /// The file of the hub's pair.
  package var keyPath: String { directory + "/hub.key" }
  /// The file of members.
  package var membersPath: String { directory + "/members" }
  /// The file in which a hub writes down whom it let in, and whom not.
  package var auditPath: String { directory + "/audit.log" }
  private var listeningPath: String { directory + "/listening" }

  private static let version: Int64 = 1

  /// This user's own: `$XDG_CONFIG_HOME/bindbus/hub`, else `~/.config/bindbus/hub`.
  package static var userDefault: HubKeys { HubKeys(in: KnownHub.configuration + "/hub") }

  /// The keys in a directory.
  package init(in directory: String) { self.directory = directory }

  /// Whether the hub has a pair, readable or not.
  package var exist: Bool { access(keyPath, F_OK) == 0 }

  /// Draws the hub's pair.
  /// - Throws: `KeyError.exists` if it has one already.
  package func create() throws(KeyError) -> KeyPair {
    try PrivateFile.makeDirectory(directory)
    return try KeyFile.create(.hub, at: keyPath)
  }

  /// Reads the hub's pair.
  package func read() throws(KeyError) -> KeyPair { try KeyFile.read(.hub, at: keyPath) }

  /// Where a hub with these keys listens, and its name: for invitations.
  package struct Listening: Hashable, Sendable {
    /// The hub's name.
    package var name: String
    /// Its encrypted addresses.
    package var addresses: [HubAddress]

    /// Makes one.
    package init(name: String, addresses: [HubAddress]) {
      self.name = name
      self.addresses = addresses
    }
  }

  /// Writes down where the hub listens.
  package func record(_ listening: Listening) throws(KeyError) {
    let json = JSON.object([
      .init("bindbus", "listening"), .init("version", .integer(HubKeys.version)),
      .init("name", .string(listening.name)),
      .init("addresses", .array(listening.addresses.map { .string($0.description) })),
    ])
    try PrivateFile.write(json.text + "\n", to: listeningPath, replaces: true)
  }

  /// Where the hub listened last.
  /// - Returns: nil if it has not run with these keys.
  package func listening() throws(KeyError) -> Listening? {
    guard let bytes = try PrivateFile.read(listeningPath, isSecret: false) else { return nil }
    guard let json = try? JSON(parsing: String(decoding: bytes, as: UTF8.self)), json["bindbus"] == "listening",
      json["version"]?.int64 == HubKeys.version, let name = json["name"]?.string
    else { throw .malformed(path: listeningPath, problem: "does not say where the hub listens") }
    let addresses = (json["addresses"]?.elements ?? []).compactMap { $0.string.flatMap { try? HubAddress($0) } }
    return Listening(name: name, addresses: addresses)
  }
}

extension HubKeys {
  /// Invites somebody: draws a one-time key and appends the invitation to the file of members. An invitation names the
  /// hub's key, and so ends with it: at the moment of a change that is under way.
  /// - Parameters:
  ///   - role: what it may, unless the file of rights names it.
  ///   - lifetime: how long it may be used, in seconds.
  ///   - path: where its line is written, to a new file that nobody else can read; nil: nowhere.
  ///   - now: seconds since 1970.
  /// - Throws: `KeyError` if the name is none, or the files cannot be used.
  package func invite(
    _ name: String, as role: String? = nil, to listening: Listening, lifetime: Int64, to path: String? = nil,
    at now: Int64
  ) throws(KeyError) -> Invitation {
    let (hubKey, end) = try keyForInvitation(at: now)
    let oneTime: KeyPair
    do throws(ZeroMQError) { oneTime = try .random() } catch { throw .unusable(path: keyPath, problem: error.clause) }
    let invitation = Invitation(
      hub: listening.name, member: name, addresses: listening.addresses, hubKey: hubKey,
      secret: oneTime.secretKey, until: min(now + lifetime, end))
    // Its id is not secret: the first letters of the public key, in letters that no shell reads.
    let id = hexDigits(oneTime.publicKey.bytes.prefix(5))
    var file = try MembersFile(at: membersPath)
    try file.append { _ throws(MemberError) in
      let invite = MemberRecord.Decision.invite(
        id: id, name: name, oneTimeKey: oneTime.publicKey, until: invitation.until, role: role)
      return MemberRecord(time: now, decision: invite)
    }
    guard let path else { return invitation }
    do throws(KeyError) { try PrivateFile.write(invitation.line + "\n", to: path) } catch {
      // Nobody has the line.
      try file.append { _ throws(MemberError) in MemberRecord(time: now, decision: .withdraw(id: id)) }
      throw error
    }
    return invitation
  }

  /// The key that the hub has for longest, and when that ends.
  private func keyForInvitation(at now: Int64) throws(KeyError) -> (PublicKey, end: Int64) {
    let present = try read().publicKey
    guard let next = try next() else { return (present, .max) }
    // A hub that runs makes the change any moment, another one at its start.
    return next.moment <= now ? (next.keys.publicKey, .max) : (present, next.moment)
  }
}
