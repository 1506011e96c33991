import ArgumentParser
import BindingHub
import BindingProtocol
import BindingTerminal
import Foundation

/// Selects a store: the named one, else that of the hub that answers, else the default one for the hub's address.
struct KeptStore: ParsableArguments {
  @Option(name: .long, help: "Store file. Default: the store of the hub.")
  var store: String?

  @OptionGroup var choice: HubChoice

  /// Where a store is.
  enum Place {
    case file(String)
    /// The address of a log in etcd.
    case etcd(String)

    fileprivate init(_ store: String) {
      self = EtcdChoice.isAddress(store) ? .etcd(store) : .file(absolutePath(store))
    }
  }

  /// The path of a store in a file. Ends the program where it is in etcd.
  func path() -> String { KeptStore.path(place()) }

  func place() -> Place {
    if let store { return Place(store) }
    let address = choice.address()
    if let reported = HubStatus.ask(address, timeout: .milliseconds(1_000))?["store"]?["path"] {
      guard reported != .null else {
        fail("The hub at \(address) stores its models in memory and has no store file.\nName a file:  --store FILE", 1)
      }
      return EtcdChoice.isAddress(reported.plain) ? .etcd(reported.plain) : .file(reported.plain)
    }
    guard let path = StoreChoice.defaultPath(for: address), FileManager.default.fileExists(atPath: path) else {
      let location = StoreChoice.defaultPath(for: address).map { " at \($0)" } ?? ""
      fail("There is no store\(location), and no hub answers at \(address).\nName a file:  --store FILE", 73)
    }
    return .file(path)
  }
}

extension KeptStore {
  private static func path(_ place: Place) -> String {
    switch place {
    case .file(let path): return path
    case .etcd(let address):
      let words = "\(PrintedText.escaped(address)) is a log in etcd, not a file."
      fail("\(words) Copy it first:  bindhub backup FILE --store \(PrintedText.escaped(address))", 64)
    }
  }

  /// The path of a store that may be lost: the named one, else the default one for the hub's address.
  func pathOfLost() -> String {
    if let store { return KeptStore.path(Place(store)) }
    let address = choice.address()
    guard let path = StoreChoice.defaultPath(for: address) else {
      fail("A hub at \(address) has no default store file.\nName a file:  --store FILE", 73)
    }
    return path
  }
}
