package import BindingProtocol
package import ZeroMQ

/// One line of the file of members: what an administrator or a hub decided about keys.
package struct MemberRecord: Hashable, Sendable {
  /// When it was decided, in seconds since 1970.
  package var time: Int64
  /// What was decided.
  package var decision: Decision

  /// A decision about keys.
  package enum Decision: Hashable, Sendable {
    /// The holder of a one-time key may enrol a key of its own under that name, until a time in seconds since 1970.
    /// `role`: what the member may, unless the file of rights names it.
    case invite(id: String, name: String, oneTimeKey: PublicKey, until: Int64, role: String? = nil)
    /// An invitation ends unused.
    case withdraw(id: String)
    /// A key belongs to a member. `invitation`: the one that it came by. `by`: the member's key that asked for it.
    case admit(
      name: String, key: PublicKey, label: String, invitation: String?, role: String? = nil, by: PublicKey? = nil)
    /// A key is a member's no longer.
    case revokeKey(PublicKey)
    /// None of a member's keys and invitations is valid any longer.
    case revoke(name: String)
    /// A member, or a local user (`uid:N`), may not connect until a time in seconds since 1970.
    case kick(name: String, until: Int64)
    /// It may connect again.
    case readmit(name: String)
    /// The first browser that shows a code is let in.
    case invitePage(id: String, MemberPages.Invitation)
    /// A browser is let in.
    case admitPage(id: String, MemberPages.Session)
    /// A browser is let in no longer.
    case endPage(id: String)
  }

  /// Makes a record.
  package init(time: Int64, decision: Decision) {
    self.time = time
    self.decision = decision
  }
}

extension MemberRecord {
  /// Reads a line.
  /// - Returns: nil if it is none, or of a kind that this release does not know.
  package init?(_ json: JSON) {
    guard let time = json["t"]?.int64, let decision = Decision(json, at: time) else { return nil }
    self.init(time: time, decision: decision)
  }

  fileprivate static func role(_ role: String?) -> [JSON.Member] { role.map { [.init("role", .string($0))] } ?? [] }

  /// The line, without its end.
  package var json: JSON { .object([.init("t", .integer(time))] + decision.members) }
}

extension MemberRecord.Decision {
  init?(_ json: JSON, at time: Int64) {
    let decision: Self?
    let (name, id) = (json["name"]?.string, json["id"]?.string)
    let key = json["key"]?.string.flatMap { PublicKey($0) }
    let role = json["role"]?.string
    switch json["e"]?.string {
    case "invite":
      guard let id, let name, let key, let until = json["until"]?.int64 else { return nil }
      decision = .invite(id: id, name: name, oneTimeKey: key, until: until, role: role)
    case "withdraw": decision = id.map { .withdraw(id: $0) }
    case "admit":
      guard let name, let key else { return nil }
      decision = .admit(
        name: name, key: key, label: json["label"]?.string ?? "", invitation: json["invitation"]?.string, role: role,
        by: json["by"]?.string.flatMap { PublicKey($0) })
    case "revoke": decision = name.map { .revoke(name: $0) }
    case "revoke-key": decision = key.map { .revokeKey($0) }
    case "kick":
      guard let name, let until = json["until"]?.int64 else { return nil }
      decision = .kick(name: name, until: until)
    case "readmit": decision = name.map { .readmit(name: $0) }
    case "page-invite":
      guard let id, let name, let hash = json["hash"]?.string, let until = json["until"]?.int64 else { return nil }
      decision = .invitePage(id: id, MemberPages.Invitation(name: name, role: role, codeHash: hash, until: until))
    case "page-admit":
      guard let id, let name, let hash = json["hash"]?.string, let until = json["until"]?.int64,
        let invitation = json["invitation"]?.string
      else { return nil }
      let session = MemberPages.Session(
        name: name, role: role, label: json["label"]?.string ?? "", since: time, until: until, invitation: invitation,
        secretHash: hash)
      decision = .admitPage(id: id, session)
    case "page-end": decision = id.map { .endPage(id: $0) }
    default: decision = nil
    }
    guard let decision else { return nil }
    self = decision
  }

  var members: [JSON.Member] {
    switch self {
    case .invite(let id, let name, let key, let until, let role):
      [
        .init("e", "invite"), .init("id", .string(id)), .init("name", .string(name)),
        .init("key", .string("\(key)")), .init("until", .integer(until)),
      ] + MemberRecord.role(role)
    case .withdraw(let id): [.init("e", "withdraw"), .init("id", .string(id))]
    case .admit(let name, let key, let label, let invitation, let role, let by):
      [
        .init("e", "admit"), .init("name", .string(name)), .init("key", .string("\(key)")),
        .init("label", .string(label)),
      ] + (invitation.map { [.init("invitation", .string($0))] } ?? []) + MemberRecord.role(role)
        + (by.map { [.init("by", .string("\($0)"))] } ?? [])
    case .revokeKey(let key): [.init("e", "revoke-key"), .init("key", .string("\(key)"))]
    case .revoke(let name): [.init("e", "revoke"), .init("name", .string(name))]
    case .kick(let name, let until):
      [.init("e", "kick"), .init("name", .string(name)), .init("until", .integer(until))]
    case .readmit(let name): [.init("e", "readmit"), .init("name", .string(name))]
    case .invitePage(let id, let invitation):
      [
        .init("e", "page-invite"), .init("id", .string(id)), .init("name", .string(invitation.name)),
        .init("hash", .string(invitation.codeHash)), .init("until", .integer(invitation.until)),
      ] + MemberRecord.role(invitation.role)
    case .admitPage(let id, let session):
      [
        .init("e", "page-admit"), .init("id", .string(id)), .init("name", .string(session.name)),
        .init("label", .string(session.label)), .init("invitation", .string(session.invitation)),
        .init("hash", .string(session.secretHash)), .init("until", .integer(session.until)),
      ] + MemberRecord.role(session.role)
    case .endPage(let id): [.init("e", "page-end"), .init("id", .string(id))]
    }
  }
}
