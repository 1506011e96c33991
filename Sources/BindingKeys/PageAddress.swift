import BindingProtocol
import Foundation

/// The hub's pages: where they are served, and invitations to them.
extension HubKeys {
  private var pagesPath: String { directory + "/pages" }
  private static let pagesVersion: Int64 = 1

  /// Writes down where the hub's pages are served.
  /// - Parameter url: without path, such as `http://127.0.0.1:7880`.
  package func recordPages(at url: String) throws(KeyError) {
    let json = JSON.object([
      .init("bindbus", "pages"), .init("version", .integer(HubKeys.pagesVersion)), .init("url", .string(url)),
    ])
    try PrivateFile.write(json.text + "\n", to: pagesPath, replaces: true)
  }

  /// Where the hub's pages were served last.
  /// - Returns: nil if they have not been served with these keys.
  package func pagesURL() throws(KeyError) -> String? {
    let json = try PrivateFile.readJSON(
      "pages", HubKeys.pagesVersion, at: pagesPath, isSecret: false, otherwise: "does not say where pages are served")
    guard let json else { return nil }
    guard let url = json["url"]?.string else {
      throw .malformed(path: pagesPath, problem: "does not say where pages are served")
    }
    return url
  }

  /// Invites somebody to the hub's pages: draws a code and appends its hash to the file of members.
  /// - Parameters:
  ///   - role: what it may, unless the file of rights names it.
  ///   - lifetime: how long the code may be used, in seconds.
  ///   - now: seconds since 1970.
  /// - Returns: the code, for the member alone, and the invitation's id.
  package func invitePage(
    _ name: String, as role: String? = nil, lifetime: Int64, at now: Int64
  ) throws(KeyError) -> (code: String, id: String) {
    _ = try read()
    let (code, id) = (PageSecret.random(), PageSecret.randomID())
    let invitation = MemberPages.Invitation(
      name: name, role: role, codeHash: PageSecret.hash(code), until: now + lifetime)
    var file = try MembersFile(at: membersPath)
    try file.append { _ throws(MemberError) in MemberRecord(time: now, decision: .invitePage(id: id, invitation)) }
    return (code, id)
  }
}
