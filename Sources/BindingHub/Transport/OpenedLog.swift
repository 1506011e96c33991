import BindingProtocol
import Logging
import ZeroMQ

/// The log that a hub has opened: of its own, or shared with other hubs.
enum OpenedLog {
  /// With the file that remembers its id, if the store itself does not.
  case own(any Store, LogFile?)
  case shared(any SharedStore)

  /// Opens the configured store. Without one, a file beside the socket remembers the log id.
  static func open(_ configuration: Hub.Configuration, at address: HubAddress?) throws(HubError) -> OpenedLog {
    // The log of an edge is its upstream hub's.
    guard configuration.upstream == nil else { return .own(MemoryStore(logID: 0, epoch: 0), nil) }
    guard let opening = configuration.store?.opening else {
      let file = LogFile(for: address)
      return .own(try wrap(try file.nextStore(), configuration), file)
    }
    do throws(StoreError) {
      switch opening {
      case .own(let open): return .own(try configuration.wrapStore(try open()), nil)
      case .shared(let open): return .shared(try open())
      }
    } catch {
      throw .store(error)
    }
  }

  private static func wrap(
    _ store: any Store, _ configuration: Hub.Configuration
  ) throws(HubError) -> any Store {
    do throws(StoreError) { return try configuration.wrapStore(store) } catch { throw .store(error) }
  }

  var isShared: Bool { if case .shared = self { true } else { false } }

  var durability: Durability {
    switch self {
    case .own(let store, _): store.durability
    case .shared(let store): store.grade.durability
    }
  }

  /// What this start of the hub has to know of the log.
  func birth(start: StartNumber) -> HubBirth {
    switch self {
    case .own(let store, _):
      HubBirth(
        logID: store.logID, epoch: store.epoch, start: start, tailProven: store.tail != .unproven, floor: store.floor)
    case .shared(let store): HubBirth(logID: store.logID, epoch: store.epoch, start: start, tailProven: true)
    }
  }

  /// Restores the models of a store of the hub's own. Those of a shared one are loaded while the hub runs.
  func restore(_ machine: inout HubMachine) throws(HubError) {
    guard case .own(let store, _) = self else { return }
    do throws(StoreError) {
      try store.load { model throws(StoreError) in try machine.restore(model) }
    } catch {
      throw .store(error)
    }
  }

  /// Starts the threads beside the hub's.
  /// - Parameter wakeup: signalled when there are answers.
  func startWorker(wakeup: Wakeup, _ log: Logger) throws(HubError) -> any LogWorker {
    switch self {
    case .own(let store, let file):
      do throws(ZeroMQError) {
        return try StoreWorker(store, file, wakeup: wakeup, log)
      } catch {
        throw .system("Cannot start the store's thread: \(error)")
      }
    case .shared(let store): return SharedStoreWorker(store, wakeup: wakeup, log)
    }
  }

  /// What the hub logs of it at its start.
  var metadata: Logger.Metadata {
    switch self {
    case .own(let store, _):
      [
        "durability": "\(store.durability)", "epoch": "\(store.epoch)", "tail": "\(store.tail)",
        "store": "\(store.status.path ?? "memory")",
      ]
    case .shared(let store): ["epoch": "\(store.epoch)", "store": "\(store.status.address)"]
    }
  }
}
