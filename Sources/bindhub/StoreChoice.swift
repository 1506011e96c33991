import ArgumentParser
import BindingHub
import BindingKeys
import BindingProtocol
import BindingStore
import Foundation

/// Selects the file in which a hub stores its models.
struct StoreChoice: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      """
      File to store the models in, 'memory' to lose them when the hub ends, or etcd://HOST:PORT,…/PREFIX (etcds:// \
      with TLS) for a log that several hubs share.
      """,
      discussion: "Default: a file of this user, which 'bindhub status' shows."))
  var store: String?

  /// The address of a log in etcd; nil: another store is chosen.
  var etcd: String? { EtcdChoice.isAddress(store) ? store : nil }

  /// The path of the store; nil: memory, or a log in etcd. By default the address determines it: for this user's
  /// default hub a file in the user's data directory, for any other `ipc://` a file beside its socket, for `tcp://` a
  /// file named after its port. With port 0 the hub could not find its store again, so it uses memory.
  func path(for address: HubAddress?) -> String? {
    switch store {
    case "memory": nil
    case let address? where EtcdChoice.isAddress(address): nil
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

  /// The path of the pages' token: beside the store, or where the store of a hub at this address would be.
  func webKeyPath(for address: HubAddress?) -> String? {
    if let path = path(for: address) { return StoreChoice.webKeyPath(of: path) }
    guard let path = StoreChoice.defaultPath(for: address ?? .userDefault),
      access((path as NSString).deletingLastPathComponent, W_OK) == 0
    else { return nil }
    return StoreChoice.webKeyPath(of: path)
  }

  static func webKeyPath(of store: String) -> String { store + ".web" }

  /// The directory for this user's permanent data (the XDG base directories).
  private static var userData: String { UserDirectory.base("XDG_DATA_HOME", else: ".local/share") + "/bindhub" }
}

/// Makes a typed path absolute: the hub that receives it may run in another directory.
func absolutePath(_ path: String) -> String {
  let isAtHome = path == "~" || path.hasPrefix("~/")
  let full = isAtHome ? UserDirectory.home + path.dropFirst() : (path as NSString).expandingTildeInPath
  return (full.hasPrefix("/") ? full as NSString : "\(FileManager.default.currentDirectoryPath)/\(full)" as NSString)
    .standardizingPath
}

/// The durability of a hub's commits.
enum Grade: String, ExpressibleByArgument, CaseIterable {
  case process, disk, memory
}
