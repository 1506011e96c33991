import BindingProtocol

/// Browsers of members: invitations to the hub's pages, and the browsers that they have let in. Secrets are kept as
/// hashes only, so that a reader of the list cannot use them.
package struct MemberPages: Hashable, Sendable {
  /// An address that lets one browser in, once.
  package struct Invitation: Hashable, Sendable {
    /// The member.
    package var name: String
    /// What the member may, unless the file of rights names it.
    package var role: String?
    /// `PageSecret.hash` of the code in the address.
    package var codeHash: String
    /// Seconds since 1970.
    package var until: Int64
    /// The session that it has begun.
    package var usedBy: String?

    /// Makes one that has not been used.
    package init(name: String, role: String?, codeHash: String, until: Int64) {
      (self.name, self.role, self.codeHash, self.until) = (name, role, codeHash, until)
    }
  }

  /// A browser that was let in.
  package struct Session: Hashable, Sendable {
    package var name: String
    package var role: String?
    /// The browser, in its own words.
    package var label: String
    /// Seconds since 1970.
    package var since: Int64
    package var until: Int64
    /// The invitation that it came by.
    package var invitation: String
    /// `PageSecret.hash` of what the browser's cookie holds.
    package var secretHash: String
  }

  /// The invitations by their ids.
  package private(set) var invitations: [String: Invitation] = [:]
  /// The browsers that are in, by the ids of their sessions.
  package private(set) var sessions: [String: Session] = [:]
  private var invitationOfHash: [String: String] = [:]

  /// How long a browser stays in.
  package static let sessionSeconds: Int64 = 30 * 86_400

  var count: Int { invitations.count + sessions.count }

  /// Whether a member has a browser that is in.
  func isIn(_ name: String) -> Bool { sessions.values.contains { $0.name == name } }

  /// The invitation with this code, if it can be used at a time.
  /// - Throws: `MemberError.noPage`, the same for a code that is wrong, used, expired or withdrawn.
  package func invitation(code: String, at now: Int64) throws(MemberError) -> (id: String, Invitation) {
    guard let id = invitationOfHash[PageSecret.hash(code)], let invitation = invitations[id],
      invitation.usedBy == nil, now < invitation.until
    else { throw .noPage }
    return (id, invitation)
  }

  /// The decision that lets a browser in.
  /// - Parameters:
  ///   - code: what the address holds.
  ///   - id: the new session's.
  ///   - secret: what the browser's cookie will hold.
  package func admission(
    code: String, of label: String, as id: String, secret: String, at now: Int64
  ) throws(MemberError) -> MemberRecord {
    let (invitationID, invitation) = try invitation(code: code, at: now)
    let session = Session(
      name: invitation.name, role: invitation.role, label: label, since: now, until: now + MemberPages.sessionSeconds,
      invitation: invitationID, secretHash: PageSecret.hash(secret))
    return MemberRecord(time: now, decision: .admitPage(id: id, session))
  }

  // MARK: Decisions

  mutating func invite(_ id: String, _ invitation: Invitation) throws(MemberError) {
    guard invitations[id] == nil, invitationOfHash[invitation.codeHash] == nil else { throw .duplicate(id: id) }
    invitations[id] = invitation
    invitationOfHash[invitation.codeHash] = id
  }

  mutating func admit(_ id: String, _ session: Session) throws(MemberError) {
    guard sessions[id] == nil else { throw .duplicate(id: id) }
    guard let invitation = invitations[session.invitation], invitation.name == session.name,
      invitation.role == session.role
    else { throw .noInvitation(id: session.invitation) }
    guard invitation.usedBy == nil else { throw .used(id: session.invitation) }
    invitations[session.invitation]?.usedBy = id
    sessions[id] = session
  }

  mutating func end(_ id: String) throws(MemberError) {
    guard sessions.removeValue(forKey: id) != nil else { throw .noPageSession(id: id) }
  }

  /// - Returns: whether there was one.
  mutating func withdraw(_ id: String) -> Bool {
    guard let invitation = invitations.removeValue(forKey: id) else { return false }
    invitationOfHash[invitation.codeHash] = nil
    return true
  }

  /// Ends all invitations and browsers of a member.
  /// - Returns: whether there were any.
  mutating func revoke(_ name: String) -> Bool {
    let before = count
    for (id, invitation) in invitations where invitation.name == name { _ = withdraw(id) }
    for (id, session) in sessions where session.name == name { sessions[id] = nil }
    return count < before
  }
}

/// The secrets of pages: the code in the address of an invitation, and what a browser's cookie holds.
package enum PageSecret {
  /// The number of hexadecimal digits of a secret.
  package static let digits = 32

  /// A new secret, of 128 random bits.
  package static func random() -> String { hexDigits(bytes(16)) }

  /// A new id, which is not secret.
  package static func randomID() -> String { hexDigits(bytes(5)) }

  /// What the list of members holds of a secret. Nobody can guess one that has 128 bits, so a plain hash suffices.
  package static func hash(_ secret: String) -> String {
    hexDigits(SHA256.digest(Array("bindbus page 1\0\(secret)".utf8)))
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    var system = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &system) }
  }
}
