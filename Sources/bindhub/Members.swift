import ArgumentParser
import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation

/// Ends a user's connections, and keeps it out for a time.
struct Kick: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the connections of a member or local user, and refuse new ones for a time.",
    discussion: """
      A running hub acts within one heartbeat. The time counts by the hub's clock, also while no hub runs. Afterwards \
      the user's programs are back by themselves. To keep a member out for good: `bindhub revoke`.
      """)

  @Argument(help: "Name of a member, or uid:N for a user of this machine, as `bindhub status` prints them.")
  var name: String

  @Option(name: .customLong("for"), help: "How long, such as 30s, 1h or 7d.")
  var time = TimeSpan(seconds: 10)

  @Flag(name: .long, help: "Let the user in again now.")
  var end = false

  @OptionGroup var choice: KeysChoice

  func validate() throws {
    if time.milliseconds < 1_000 || time.milliseconds > 366 * 86_400_000 {
      throw ValidationError("--for must be from 1s to 366d. For good:  bindhub revoke NAME")
    }
    if ["uid:0", "uid:\(getuid())"].contains(name) {
      throw ValidationError("\(name) may always connect: root, and the user who runs the hub")
    }
  }

  func run() throws {
    let (name, end) = (name, end)
    // The seconds of the clock are cut off; the user is out for at least the time named.
    let until = now + Int64((time.milliseconds + 999) / 1_000) + 1
    choice.append { _ throws(MemberError) in end ? .readmit(name: name) : .kick(name: name, until: until) }
    if !end {
      StandardStreams.complain(
        "\(name) is kept out until \(date(until)). To end it before:  bindhub kick \(name) --end")
    }
  }
}

/// Lists the members.
struct ListMembers: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "members",
    abstract: "List the members with their keys and browsers, the open invitations, and who is kicked.")

  @Flag(name: .long, help: "Print JSON, one object per line.")
  var json = false

  @OptionGroup var choice: KeysChoice

  func run() throws {
    let members = keyed { () throws(KeyError) in try MembersFile(at: choice.keys.membersPath) }.members
    let keys = members.keys.sorted { ($0.value.name, $0.value.since) < ($1.value.name, $1.value.since) }
    for (key, detail) in keys {
      print(
        json
          ? JSON.object([
            .init("member", .string(detail.name)), .init("key", .string("\(key)")),
            .init("label", .string(detail.label)), .init("since", .integer(detail.since)),
            .init("role", detail.role.map { .string($0) } ?? .null),
          ]).text
          : "\(detail.name)  \(key)  since \(date(detail.since))  \(detail.label)\(words(detail.role))")
    }
    for (id, invitation) in members.invitations.sorted(by: { $0.key < $1.key })
    where invitation.usedBy == nil && invitation.until > now {
      printInvitation(id, of: invitation.name, until: invitation.until, role: invitation.role)
    }
    for (id, page) in members.pages.sessions.sorted(by: { ($0.value.name, $0.key) < ($1.value.name, $1.key) })
    where page.until > now {
      print(
        json
          ? JSON.object([
            .init("page", .string(id)), .init("member", .string(page.name)), .init("label", .string(page.label)),
            .init("since", .integer(page.since)), .init("until", .integer(page.until)),
            .init("role", page.role.map { .string($0) } ?? .null),
          ]).text
          : "\(page.name)  page \(id)  since \(date(page.since))  \(page.label)\(words(page.role))")
    }
    for (id, invitation) in members.pages.invitations.sorted(by: { $0.key < $1.key })
    where invitation.usedBy == nil && invitation.until > now {
      printInvitation(id, of: invitation.name, until: invitation.until, role: invitation.role, isToPages: true)
    }
    for (name, kick) in members.kicks.sorted(by: { $0.key < $1.key }) where kick.counts(at: now) {
      print(
        json
          ? JSON.object([.init("kicked", .string(name)), .init("until", .integer(kick.until))]).text
          : "\(name)  kicked until \(date(kick.until))")
    }
  }

  /// An open invitation: to be a member, or only to the hub's pages.
  private func printInvitation(_ id: String, of name: String, until: Int64, role: String?, isToPages: Bool = false) {
    let object: [JSON.Member] = [
      .init("invitation", .string(id)), .init("member", .string(name)), .init("until", .integer(until)),
      .init("role", role.map { .string($0) } ?? .null),
    ]
    print(
      json
        ? JSON.object(object + (isToPages ? [.init("page", true)] : [])).text
        : "\(name)  invited \(isToPages ? "to the pages " : "")until \(date(until))  invitation \(id)\(words(role))")
  }

  private func words(_ role: String?) -> String { role.map { "  role \($0)" } ?? "" }
}
