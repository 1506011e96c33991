import ArgumentParser
import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation
import ZeroMQ

/// Selects the directory of a hub's keys.
struct KeysChoice: ParsableArguments {
  @Option(
    name: .customLong("keys"),
    help: "Directory of the hub's keys and members. Default: $XDG_CONFIG_HOME/bindbus/hub or ~/.config/bindbus/hub.")
  var directory: String?

  var keys: HubKeys { directory.map { HubKeys(in: absolutePath($0)) } ?? .userDefault }
}

/// Creates and shows the hub's own keys.
struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create, show or change the keys of a hub that other machines may reach.",
    subcommands: [Init.self, Show.self, Rotate.self])

  struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Create the hub's keys. Existing keys are never replaced.")

    @OptionGroup var choice: KeysChoice

    func run() throws {
      let keys = choice.keys
      let pair = keyed { () throws(KeyError) in try keys.create() }
      print("\(pair.publicKey)")
      let option = choice.option
      StandardStreams.complain(
        """
        The hub's keys are in \(keys.directory).
        Start it:  bindhub serve --listen local --listen tcp://0.0.0.0:7877\(option)
        Then invite somebody:  bindhub invite NAME\(option)
        """)
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print the hub's public key, and on a second line the one that takes its place, with the moment.")

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var choice: KeysChoice

    func run() throws {
      let (present, next) = keyed { () throws(KeyError) in (try choice.keys.read().publicKey, try choice.keys.next()) }
      if json {
        let members: [JSON.Member] = [
          .init("key", .string("\(present)")),
          .init("next", next.map { .string("\($0.keys.publicKey)") } ?? .null),
          .init("nextFrom", next.map { .integer($0.moment) } ?? .null),
        ]
        return print(JSON.object(members).text)
      }
      print("\(present)")
      if let next { print("\(next.keys.publicKey)  from \(date(next.moment))") }
    }
  }
}

/// Makes an invitation, for a machine or for a browser.
struct Invite: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Invite somebody to the hub: print one line for `bindpeer join` on the other machine.",
    discussion: """
      Whoever uses the line first is the member, so pass it on in confidence. It can be used once, until it expires or
      is withdrawn with `bindhub revoke`.

      With --page it is an address for a browser instead. The browser that opens it stays signed in for 30 days, and
      its pages may do what the member may. `bindhub web` prints addresses for yourself.
      """)

  @Argument(help: "Name of the member: letters, digits, dots, dashes and underscores.")
  var name: String

  @Option(name: .long, help: "Role in access.json, for a name that the file does not list.")
  var role: String?

  @Flag(name: .long, help: "Invite to the hub's pages: print an address for a browser.")
  var page = false

  @Option(name: .customLong("for"), help: "How long the line can be used, such as 30m, 24h or 7d.")
  var lifetime = TimeSpan(seconds: 24 * 3_600)

  @Option(
    name: .long,
    help: """
      Address by which the other machine reaches the hub: tcp://HOST:PORT. Repeatable. Default: where it listens. With \
      --page one address of the pages, http://HOST:PORT or https://….
      """)
  var address: [String] = []

  @OptionGroup var choice: KeysChoice

  @Option(name: .customLong("out"), help: "New file for the line, which nobody else can read. Default: print it.")
  var file: String?

  func validate() throws {
    if lifetime.milliseconds < 1_000 { throw ValidationError("--for must be at least 1s") }
    if page, file != nil { throw ValidationError("--out is for a member's line; --page prints an address") }
    if page, address.count > 1 { throw ValidationError("--page takes one --address") }
  }

  func run() throws {
    if page { return invitePage() }
    let keys = choice.keys
    let known = keyed { () throws(KeyError) in try keys.listening() }
    var listening = HubKeys.Listening(name: known?.name ?? "hub", addresses: known?.addresses ?? [])
    if !address.isEmpty {
      do throws(HubAddressError) {
        listening.addresses = try HubAddress.all(in: address)
      } catch {
        fail("\(error)", 64)
      }
    }
    listening.addresses = listening.addresses.flatMap(NetworkAddresses.concrete)
    guard !listening.addresses.isEmpty else {
      fail(
        """
        No hub with these keys has listened at a tcp:// address yet.
        Start it:  bindhub serve --listen local --listen tcp://0.0.0.0:7877
        Or name one:  bindhub invite \(name) --address …
        """, 78)
    }
    choice.checkRole(role)
    let seconds = Int64(lifetime.milliseconds / 1_000)
    let (invitation, next) = keyed { () throws(KeyError) in
      let next = try keys.next()
      return (try keys.invite(name, as: role, to: listening, lifetime: seconds, to: file, at: now), next)
    }
    if file == nil { print(invitation.line) }
    let end = next.map { $0.moment == invitation.until } ?? false ? ", when the hub's key changes" : ""
    StandardStreams.complain(
      """
      Pass this \(file == nil ? "line" : "file") on to \(name) in confidence; it can be used once, until \
      \(date(invitation.until))\(end).
      On the other machine:  bindpeer join\(file == nil ? "        which asks for it." : " FILE")
      The hub is reached at \(listening.addresses.map(\.description).joined(separator: ", ")).
      """)
  }
}

/// Makes a key a member's by hand.
struct Admit: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a public key a member's, for machines that are set up by programs.",
    discussion: "The other machine makes the key with `bindpeer trust`, which prints it.")

  @Argument(help: "Name of the member.")
  var name: String

  @Argument(help: "Its public key: 40 characters.")
  var key: String

  @Option(name: .long, help: "What holds the key, for the list of members.")
  var label = ""

  @Option(name: .long, help: "Role in access.json, for a name that the file does not list.")
  var role: String?

  @OptionGroup var choice: KeysChoice

  func run() throws {
    guard let publicKey = PublicKey(key) else {
      fail("'\(PrintedText.escaped(key, limit: 80))' is not a public key: those have 40 characters", 64)
    }
    choice.checkRole(role)
    let (name, label, role) = (name, label.isEmpty ? "" : Names.fittingPeer(label), role)
    choice.append { _ throws(MemberError) in
      .admit(name: name, key: publicKey, label: label, invitation: nil, role: role)
    }
  }
}

/// Ends a membership, a key or an invitation.
struct Revoke: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Revoke a member with all its keys and browsers, one of them, or an invitation. A running hub ends them.",
    discussion: "The hub acts within one heartbeat. What the member has read by then, it has read.")

  @Argument(
    help: "Name of a member, a public key, or the id of a browser or an invitation, as `bindhub members` prints them.")
  var target: String

  @OptionGroup var choice: KeysChoice

  func run() throws {
    let target = target
    choice.append { members throws(MemberError) in
      if let key = PublicKey(target), members.keys[key] != nil { return .revokeKey(key) }
      // A member may be called like the id of an invitation: the wider right goes first.
      let isMember = members.isMember(target)
      if !isMember, members.invitations[target] != nil { return .withdraw(id: target) }
      if !isMember, members.pages.invitations[target] != nil { return .withdraw(id: target) }
      if !isMember, members.pages.sessions[target] != nil { return .endPage(id: target) }
      return .revoke(name: target)
    }
  }
}

extension KeysChoice {
  /// Appends a decision to the file of members; ends the program if it cannot.
  func append(_ decide: (Members) throws(MemberError) -> MemberRecord.Decision) {
    keyed { () throws(KeyError) in
      _ = try keys.read()
      var file = try MembersFile(at: keys.membersPath)
      try file.append { members throws(MemberError) in MemberRecord(time: now, decision: try decide(members)) }
    }
  }
}

/// Runs what reads or writes keys; ends the program with a sentence if it cannot.
func keyed<Value>(_ body: () throws(KeyError) -> Value) -> Value {
  do throws(KeyError) { return try body() } catch { fail(error.description, error.exitCode) }
}

extension KeyError {
  /// The exit code for scripts (EX_USAGE, EX_CANTCREAT, EX_IOERR, EX_CONFIG of sysexits).
  fileprivate var exitCode: Int32 {
    switch self {
    case .badHubName, .noInvitation, .member(.badName): 64
    case .member, .unknownHub, .changing, .notChanging: 1
    case .exists: 73
    case .unusable, .malformed: 74
    case .missing, .exposed: 78
    }
  }
}

/// The present, in seconds since 1970.
var now: Int64 { Int64(Date().timeIntervalSince1970) }

/// A time in seconds since 1970, in UTC.
func date(_ seconds: Int64) -> String {
  Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
}
