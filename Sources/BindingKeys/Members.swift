import BindingProtocol
package import ZeroMQ

/// Who may connect from another machine: members with their keys, and open invitations. The sum of all records, without
/// file or clock.
package struct Members: Hashable, Sendable {
  /// A key of a member.
  package struct Key: Hashable, Sendable {
    /// The member.
    package var name: String
    /// The machine or program that holds the key, in its own words.
    package var label: String
    /// Since when, in seconds since 1970.
    package var since: Int64
    /// The invitation that it came by; nil: it was admitted by hand.
    package var invitation: String?
    /// What it may, unless the file of rights names the member.
    package var role: String?
    /// The member's key that asked for this one.
    package var by: PublicKey?
  }

  /// An invitation that has not been withdrawn.
  package struct Invitation: Hashable, Sendable {
    package var name: String
    package var oneTimeKey: PublicKey
    /// Seconds since 1970.
    package var until: Int64
    /// The key that was enrolled with it.
    package var usedBy: PublicKey?
    /// The role that it gives.
    package var role: String?
  }

  /// A time in which a name may not connect, in seconds since 1970.
  package struct Kick: Hashable, Sendable {
    package var since: Int64
    package var until: Int64

    /// Whether it counts at a time. It does not if the clock shows a time long before it began: somebody has set the
    /// clock back, and the kick would last for as long.
    package func counts(at now: Int64) -> Bool { now < until && since <= now + Kick.mostClockError }

    private static let mostClockError: Int64 = 3_600
  }

  /// What a key is to a hub.
  package enum Standing: Hashable, Sendable {
    case member(name: String)
    /// It may enrol another key, and nothing else.
    case invited(id: String)
    case unknown
  }

  /// The keys of all members.
  package private(set) var keys: [PublicKey: Key] = [:]
  /// The invitations by their ids.
  package private(set) var invitations: [String: Invitation] = [:]
  private var invitationOfKey: [PublicKey: String] = [:]
  /// Who may not connect for a time, by name.
  package private(set) var kicks: [String: Kick] = [:]
  /// Their browsers.
  package private(set) var pages = MemberPages()
  /// When members added keys by themselves, in seconds since 1970: the last few of each.
  private var renewals: [String: [Int64]] = [:]

  /// The most keys of one name to which a member may add one by itself; who runs the hub may give it more.
  package static let keysOfName = 16
  /// The most keys that a member may add by itself in a day, so that the file of members cannot be filled.
  package static let renewalsADay = 16
  /// The most keys, browsers and invitations together.
  package static let limit = 100_000

  /// Nobody.
  package init() {}

  /// What a key is at a time, in seconds since 1970.
  package func standing(of key: PublicKey, at now: Int64) -> Standing {
    if let member = keys[key] { return .member(name: member.name) }
    guard let id = invitationOfKey[key], let invitation = invitations[id], now < invitation.until else {
      return .unknown
    }
    return .invited(id: id)
  }

  /// The keys of a member, oldest first.
  package func keys(of name: String) -> [(key: PublicKey, detail: Key)] {
    keys.filter { $0.value.name == name }.map { ($0.key, $0.value) }
      .sorted { ($0.detail.since, "\($0.key)") < ($1.detail.since, "\($1.key)") }
  }

  /// The decision that enrols a key by an invitation.
  /// - Returns: nil if the same key has been enrolled with it already: an answer was lost, and is given again.
  /// - Throws: `MemberError` if the invitation does not allow it.
  package func enrolment(
    of key: PublicKey, label: String, by id: String, at now: Int64
  ) throws(MemberError) -> MemberRecord? {
    guard let invitation = invitations[id] else { throw .noInvitation(id: id) }
    if invitation.usedBy == key, keys[key] != nil { return nil }
    guard invitation.usedBy == nil else { throw .used(id: id) }
    guard now < invitation.until else { throw .expired(id: id, until: invitation.until) }
    return MemberRecord(
      time: now,
      decision: .admit(name: invitation.name, key: key, label: label, invitation: id, role: invitation.role))
  }

  /// The decision that adds a key of a member, which one of its keys asks for.
  /// - Returns: nil if it is the member's already.
  /// - Throws: `MemberError` if the key is another's, or the member has added too many.
  package func renewal(
    of key: PublicKey, label: String, by own: PublicKey, at now: Int64
  ) throws(MemberError) -> MemberRecord? {
    guard let holder = keys[own] else { throw .unknownKey(own) }
    if keys[key]?.name == holder.name { return nil }
    // Whose it is does not concern another member.
    guard keys[key] == nil, invitationOfKey[key] == nil else { throw .keyInUse(key, by: "somebody") }
    guard keys.values.lazy.filter({ $0.name == holder.name }).count < Self.keysOfName else {
      throw .manyKeys(holder.name, limit: Self.keysOfName)
    }
    let today = (renewals[holder.name] ?? []).filter { $0 > now - 86_400 && $0 < now + 86_400 }
    guard today.count < Self.renewalsADay else { throw .manyRenewals(holder.name, limit: Self.renewalsADay) }
    return MemberRecord(
      time: now,
      decision: .admit(name: holder.name, key: key, label: label, invitation: nil, role: holder.role, by: own))
  }

  /// The decision that ends a key of a member, which another one of its keys asks for.
  /// - Returns: nil if it is none of the member's keys, whoever has it.
  /// - Throws: `MemberError` if it is the key that asks.
  package func retirement(of key: PublicKey, by own: PublicKey, at now: Int64) throws(MemberError) -> MemberRecord? {
    guard let holder = keys[own] else { throw .unknownKey(own) }
    guard key != own else { throw .inUse(own) }
    return keys[key]?.name == holder.name ? MemberRecord(time: now, decision: .revokeKey(key)) : nil
  }

  /// Takes a decision into account.
  /// - Throws: `MemberError` if it contradicts an earlier one; nothing has changed then.
  package mutating func apply(_ record: MemberRecord) throws(MemberError) {
    switch record.decision {
    case .invite(let id, let name, let key, let until, let role):
      try Self.checkName(name)
      if let role { try Self.checkName(role) }
      guard invitations[id] == nil else { throw .duplicate(id: id) }
      try checkUnused(key)
      try checkRoom()
      invitations[id] = Invitation(name: name, oneTimeKey: key, until: until, role: role)
      invitationOfKey[key] = id
    case .withdraw(let id):
      guard !pages.withdraw(id) else { return }
      guard let invitation = invitations.removeValue(forKey: id) else { throw .noInvitation(id: id) }
      invitationOfKey[invitation.oneTimeKey] = nil
    case .admit(let name, let key, let label, let invitation, let role, let by):
      try Self.checkName(name)
      if let role { try Self.checkName(role) }
      try checkUnused(key)
      try checkRoom()
      if let invitation { try use(invitation, for: key, of: name) }
      keys[key] = Key(name: name, label: label, since: record.time, invitation: invitation, role: role, by: by)
      if by != nil { renewals[name] = (renewals[name] ?? []).suffix(Self.renewalsADay - 1) + [record.time] }
    case .revokeKey(let key):
      guard keys.removeValue(forKey: key) != nil else { throw .unknownKey(key) }
    case .revoke(let name): try revoke(name)
    case .kick(let name, let until):
      guard HubUser.isLocal(name) || isMember(name) else { throw .unknownName(name) }
      kicks[name] = Kick(since: record.time, until: until)
    case .readmit(let name):
      guard kicks.removeValue(forKey: name) != nil else { throw .notKicked(name) }
    case .invitePage(let id, let invitation):
      try Self.checkName(invitation.name)
      if let role = invitation.role { try Self.checkName(role) }
      guard invitations[id] == nil else { throw .duplicate(id: id) }
      try checkRoom()
      try pages.invite(id, invitation)
    case .admitPage(let id, let session):
      try checkRoom()
      try pages.admit(id, session)
    case .endPage(let id): try pages.end(id)
    }
  }

  /// Whether somebody has a key or a browser that is in.
  package func isMember(_ name: String) -> Bool {
    pages.isIn(name) || keys.values.contains { $0.name == name }
  }

  private mutating func use(_ id: String, for key: PublicKey, of name: String) throws(MemberError) {
    guard let invitation = invitations[id], invitation.name == name else { throw .noInvitation(id: id) }
    guard invitation.usedBy == nil else { throw .used(id: id) }
    invitations[id]?.usedBy = key
  }

  private mutating func revoke(_ name: String) throws(MemberError) {
    let ids = invitations.filter { $0.value.name == name }
    let ended = keys.filter { $0.value.name == name }
    let hadPages = pages.revoke(name)
    guard !ids.isEmpty || !ended.isEmpty || hadPages else { throw .unknownName(name) }
    for (id, invitation) in ids {
      invitations[id] = nil
      invitationOfKey[invitation.oneTimeKey] = nil
    }
    for key in ended.keys { keys[key] = nil }
  }

  private func checkUnused(_ key: PublicKey) throws(MemberError) {
    if let holder = keys[key] { throw .keyInUse(key, by: holder.name) }
    if invitationOfKey[key] != nil { throw .keyInUse(key, by: "an invitation") }
  }

  private func checkRoom() throws(MemberError) {
    guard keys.count + invitations.count + pages.count < Self.limit else { throw .full(limit: Self.limit) }
  }

  /// Checks a member's name: 1 to 64 of `A-Z a-z 0-9 . _ -`, the first a letter or a digit. So it is never one of the
  /// hub's own names, which have a colon.
  package static func checkName(_ name: String) throws(MemberError) {
    let isLetter = { (byte: UInt8) in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    guard (1...64).contains(name.utf8.count), name.utf8.first.map(isLetter) == true,
      name.utf8.allSatisfy({ isLetter($0) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0) })
    else { throw .badName(name) }
  }
}

/// Why a decision about members is refused. The description names the cure.
package enum MemberError: Error, Hashable, Sendable, CustomStringConvertible {
  case badName(String)
  case keyInUse(PublicKey, by: String)
  case duplicate(id: String)
  case noInvitation(id: String)
  case used(id: String)
  /// `until`: seconds since 1970.
  case expired(id: String, until: Int64)
  case unknownKey(PublicKey)
  case unknownName(String)
  case notKicked(String)
  /// No invitation to pages can be used with a code.
  case noPage
  case noPageSession(id: String)
  /// The key that asks cannot be ended.
  case inUse(PublicKey)
  case manyKeys(String, limit: Int)
  case manyRenewals(String, limit: Int)
  case full(limit: Int)

  package var description: String {
    switch self {
    case .badName(let name):
      "'\(PrintedText.escaped(name, limit: 80))' is not a member's name: 1 to 64 letters, digits, dots, dashes and "
        + "underscores, a letter or digit first"
    case .keyInUse(let key, let holder):
      "The key \(key) belongs to \(holder) already. Each machine has a key of its own"
    case .duplicate(let id): "There is another invitation \(id)"
    case .noInvitation(let id): "There is no invitation \(id), or it was withdrawn. Ask for another"
    case .used(let id): "The invitation \(id) has been used by another key. Ask for another"
    case .expired(let id, _): "The invitation \(id) has expired. Ask for another"
    case .unknownKey(let key): "No member has the key \(key). To list them:  bindhub members"
    case .unknownName(let name):
      "There is no member '\(PrintedText.escaped(name, limit: 80))'. To list them:  bindhub members"
    case .notKicked(let name):
      "'\(PrintedText.escaped(name, limit: 80))' is not kicked. To list the members:  bindhub members"
    case .noPage: "This address was used already, has expired or was withdrawn. Ask for another"
    case .noPageSession(let id):
      "No browser has the session \(PrintedText.escaped(id, limit: 80)). To list them:  bindhub members"
    case .inUse(let key): "The key \(key) cannot be ended over its own connection"
    case .manyKeys(let name, let limit):
      "\(name) has \(limit) keys (keysOfName). Have one revoked that is not used any more:  bindhub revoke KEY"
    case .manyRenewals(let name, let limit):
      "\(name) has added \(limit) keys in a day (renewalsADay). Try again tomorrow, or ask who runs the hub for an "
        + "invitation"
    case .full(let limit): "There are \(limit) keys, browsers and invitations. Revoke some first"
    }
  }
}
