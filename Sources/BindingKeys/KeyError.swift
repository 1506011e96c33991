import BindingProtocol
import Foundation
package import ZeroMQ

/// Why a file of keys or an invitation cannot be used. The description names the cure.
package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// There is no such file.
  case missing(path: String, kind: KeyFile.Kind)
  /// Other users can read the file, or it belongs to another one.
  case exposed(path: String, problem: String)
  /// The file is not what it should be.
  case malformed(path: String, problem: String)
  /// The system refused to read or write the file.
  case unusable(path: String, problem: String)
  /// A file with keys exists already: it is never overwritten.
  case exists(path: String)
  /// What was given is no invitation, or no complete one.
  case noInvitation(problem: String)
  /// No hub is known by that name.
  case unknownHub(name: String, known: [String])
  /// A text that cannot name a hub.
  case badHubName(String)
  /// A change of the hub's key is under way.
  case changing(to: PublicKey, at: Int64)
  /// No change of the hub's key is under way.
  case notChanging
  /// What was asked contradicts the list of members.
  case member(MemberError)

  package var description: String {
    switch self {
    case .missing(let path, .hub): "There is no hub key at \(path). Create one:  bindhub keys init"
    case .missing(let path, .peer): "There is no key at \(path). Get an invitation and use it:  bindpeer join"
    case .exposed(let path, let problem): "\(path) \(problem). A secret that others may have read is none: replace it"
    case .malformed(let path, let problem): "\(path) \(problem). Restore it from a copy, or remove it and start anew"
    case .unusable(let path, let problem): "Cannot use \(path): \(problem)"
    case .exists(let path): "\(path) exists already, and keys are never overwritten. Move it away first"
    case .noInvitation(let problem): "This is not an invitation: \(problem). Copy the whole line, or ask for another"
    case .unknownHub(let name, let known):
      "No hub '\(name)' is known here" + (known.isEmpty ? "" : ", only \(known.joined(separator: ", "))")
        + ". Get an invitation and use it:  bindpeer join"
    case .badHubName(let name):
      "'\(PrintedText.escaped(name, limit: 80))' is not a name of a hub: 1 to 64 letters, digits, dots, dashes and "
        + "underscores, a letter or digit first"
    case .changing(let key, let moment):
      "The hub's key is to become \(key) at \(Self.date(moment)) already.\n"
        + "To change it now:  bindhub keys rotate --now\n"
        + "To keep the present one:  bindhub keys rotate --cancel"
    case .notChanging: "The hub's key is not being changed. To begin:  bindhub keys rotate"
    case .member(let error): error.description
    }
  }

  /// A time in seconds since 1970, in UTC.
  private static func date(_ seconds: Int64) -> String {
    Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
  }
}
