import ArgumentParser
import BindingKeys
import BindingPeer
import BindingTerminal
import Foundation
import ZeroMQ

/// Uses an invitation.
struct JoinHub: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Join a hub with an invitation. From then on --hub NAME reaches it.",
    discussion: """
      Asks for the line that `bindhub invite` printed, or reads it from a file or, with -, from standard input. It is
      not taken from the command line, which other users of this machine can read.
      """)

  @Argument(help: "File with the invitation, or - for standard input. Default: ask for it.")
  var file: String?

  @Option(name: .customLong("as"), help: "Name by which this user calls the hub. Default: the hub's own.")
  var name: String?

  @Option(name: .long, help: "What the hub's list of members shows for this machine. Default: its name.")
  var label = ProcessInfo.processInfo.hostName

  func run() throws {
    try keyed {
      let invitation = try Invitation(line: try line())
      let name = name ?? invitation.hub
      try check(name, invitation)
      let keys = try KnownHub.keys(for: name)
      let member: String
      do throws(EnrolmentError) {
        member = try invitation.enrol(keys.publicKey, label: label)
      } catch {
        throw Failure(error)
      }
      try KnownHub.remember(name, addresses: invitation.addresses, hubKey: invitation.hubKey)
      Terminal.print("\(name)")
      Terminal.complain("This user is \(member) at the hub \(name). Try:  bindpeer --hub \(name) ls")
    }
  }

  /// A name that stands for another hub is not taken from it.
  private func check(_ name: String, _ invitation: Invitation) throws {
    guard let known = try? KnownHub(named: name), !known.hubKeys.contains(invitation.hubKey) else { return }
    throw Failure(
      .usage,
      """
      Another hub is known by the name \(name) here. Choose one for this hub:  bindpeer join --as NAME
      If it is the same hub, and its key has changed:  bindpeer trust \(name) '\(invitation.hubKey)'
      """)
  }

  private func line() throws -> String {
    switch file {
    case "-"?: return String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
    case let file?:
      if file.hasPrefix("bindbus") {
        throw Failure(
          .usage,
          "An invitation on the command line can be read by every user of this machine. Give it when asked:  "
            + "bindpeer join")
      }
      guard let data = FileManager.default.contents(atPath: file) else {
        throw Failure(.usage, "Cannot read \(PrintedText.escaped(file))")
      }
      return String(decoding: data, as: UTF8.self)
    case nil:
      if isatty(STDIN_FILENO) == 1 { FileHandle.standardError.write(Data("Invitation: ".utf8)) }
      return readLine() ?? ""
    }
  }
}

/// Trusts a hub's key without an invitation.
struct TrustHub: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust",
    abstract: "Trust a hub's public key, and print this user's own for `bindhub admit`.",
    discussion: "For machines that are set up by programs, and for a hub whose key has changed.")

  @Argument(help: "Name by which this user calls the hub.")
  var name: String

  @Argument(help: "The hub's public key, as `bindhub keys show` prints it: 40 characters.")
  var key: String

  @Option(name: .long, help: "Address of the hub: tcp://HOST:PORT. Repeatable. Default: those known.")
  var address: [String] = []

  func run() throws {
    try keyed {
      guard let hubKey = PublicKey(key) else {
        throw Failure(.usage, "'\(excerpt(key))' is not a public key: those have 40 characters")
      }
      var addresses: [HubAddress] = []
      do throws(HubAddressError) {
        addresses = try HubAddress.all(in: address)
      } catch {
        throw Failure(.usage, "\(error)")
      }
      let keys = try KnownHub.keys(for: name)
      if addresses.isEmpty { addresses = (try? KnownHub(named: name))?.addresses ?? [] }
      guard !addresses.isEmpty else {
        throw Failure(.usage, "Where is the hub \(name)? Say it:  bindpeer trust \(name) KEY --address tcp://HOST:PORT")
      }
      try KnownHub.remember(name, addresses: addresses, hubKey: hubKey)
      Terminal.print("\(keys.publicKey)")
    }
  }
}

/// Runs what reads or writes keys.
func keyed(_ body: () throws -> Void) throws {
  do { try body() } catch let error as KeyError { throw Failure(.refusedConfiguration, error.description) }
}

extension Failure {
  fileprivate init(_ error: EnrolmentError) {
    switch error {
    case .unreachable, .otherKey: self.init(.noHub, error.description)
    case .unknownInvitation, .refused: self.init(.notPermitted, error.description)
    case .system: self.init(.ourBug, error.description)
    }
  }
}
