import ArgumentParser
import BindingKeys
import BindingTerminal
import Foundation
import ZeroMQ

/// Changes this user's key for a hub.
struct RotateKey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Change this user's key for a hub that it has joined.",
    discussion: """
      Draws a new pair, has the hub add its public key, tries it, and has the hub end the old one. Programs that run go
      on with the new pair by themselves. Interrupted, it leaves a pair that works; to finish, run it again.
      """)

  @Argument(help: "Name by which this user calls the hub.")
  var hub: String

  @Option(name: .long, help: "What the hub's list of members shows for this machine. Default: its name.")
  var label = ProcessInfo.processInfo.hostName

  func run() throws {
    do throws(RenewalError) {
      let renewal = try KnownHub.renewKeys(for: hub, label: label)
      Terminal.print("\(renewal.new)")
      Terminal.complain(
        "This user, \(renewal.member), has a new key at the hub \(hub). \(renewal.old) is nobody's now.")
    } catch {
      throw Failure(error)
    }
  }
}

extension Failure {
  fileprivate init(_ error: RenewalError) {
    switch error {
    case .key, .otherKey: self.init(.refusedConfiguration, error.description)
    case .unreachable: self.init(.noHub, error.description)
    case .revoked, .refused: self.init(.notPermitted, error.description)
    case .tooOld: self.init(.otherProtocol, error.description)
    case .system: self.init(.ourBug, error.description)
    }
  }
}
