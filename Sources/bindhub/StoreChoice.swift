import ArgumentParser
import BindingHub
import BindingProtocol
import BindingStore
import Foundation

/// Which file a hub keeps its models in.
struct StoreChoice: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where the models are kept: a file, or 'memory' for as long as the hub runs.",
      discussion: "Without it a file of this user's: see 'bindhub status'."))
  var store: String?

  /// The file; nil: memory. Where none is named, the address that the hub is started at has one: this user's own hub
  /// among the user's data, another `ipc://` beside its socket, `tcp://` by its port. A port that is picked by chance
  /// is not found again, so there nothing is kept.
  func path(for address: HubAddress?) -> String? {
    switch store {
    case "memory": nil
    case let named?: absolutePath(named)
    case nil: StoreChoice.defaultPath(for: address ?? .userDefault)
    }
  }

  static func defaultPath(for address: HubAddress) -> String? {
    if address == .userDefault { return "\(userData)/hub.db" }
    switch address.transport {
    case .ipc: return "\(address.hostOrPath).db"
    case .tcp: return address.port.flatMap { $0 == 0 ? nil : "\(userData)/tcp-\($0).db" }
    }
  }

  /// Where the token of the pages is kept: beside the store, or where the store of a hub at this address would be.
  func webKeyPath(for address: HubAddress?) -> String? {
    if let path = path(for: address) { return StoreChoice.webKeyPath(of: path) }
    guard let path = StoreChoice.defaultPath(for: address ?? .userDefault),
      access((path as NSString).deletingLastPathComponent, W_OK) == 0
    else { return nil }
    return StoreChoice.webKeyPath(of: path)
  }

  static func webKeyPath(of store: String) -> String { store + ".web" }

  /// Where this user's programs keep what is to last (the XDG base directories).
  private static var userData: String {
    let named = ProcessInfo.processInfo.environment["XDG_DATA_HOME"] ?? ""
    return (named.hasPrefix("/") ? named : homeDirectory + "/.local/share") + "/bindhub"
  }
}

/// This user's home: `HOME`, as every shell has it, else what the system knows.
private var homeDirectory: String {
  let named = ProcessInfo.processInfo.environment["HOME"] ?? ""
  return named.hasPrefix("/") ? named : NSHomeDirectory()
}

/// A path as it was typed, made whole: who is told it may be in another folder.
func absolutePath(_ path: String) -> String {
  let isAtHome = path == "~" || path.hasPrefix("~/")
  let full = isAtHome ? homeDirectory + path.dropFirst() : (path as NSString).expandingTildeInPath
  return (full.hasPrefix("/") ? full as NSString : "\(FileManager.default.currentDirectoryPath)/\(full)" as NSString)
    .standardizingPath
}

/// How durable a hub's commits are.
enum Grade: String, ExpressibleByArgument, CaseIterable {
  case process, disk, memory
}
