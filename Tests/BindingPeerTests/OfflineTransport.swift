import BindingHub
import BindingModel
import BindingPeer
import Dispatch

/// A transport without a hub until it is opened.
final class OfflineTransport: InProcessTransport {
  private let hub: Protected<Hub?> = Protected(nil)

  func open(to hub: Hub) { self.hub.withLock { $0 = hub } }

  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    if let hub = hub.withLock({ $0 }) { return hub.connect(deliver: deliver, ended: ended) }
    DispatchQueue.global().async { ended() }
    return Nobody()
  }

  private final class Nobody: HubConnection {
    func send(_ frame: [UInt8]) {}
    func subscribe(_ topic: [UInt8]) {}
    func unsubscribe(_ topic: [UInt8]) {}
    func close() {}
  }
}
