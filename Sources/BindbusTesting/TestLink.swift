import BindingHub
import BindingModel
public import BindingProtocol

/// A link to a hub in the same process that a test cuts and heals:
/// ```swift
/// let link = TestLink(to: hub)
/// let app = try Peer(name: "app", hub: .inProcess(link))
/// link.cut()                       // the peer is offline: its writes wait
/// link.heal()                      // it connects again within a second, and they are sent
/// ```
/// Several peers may share one link. All members may be called from any thread.
public final class TestLink: InProcessTransport {
  private struct State: Sendable {
    var isCut: Bool
    var connections: [Connection] = []
  }
  private let hub: any InProcessTransport
  private let state: Protected<State>

  /// Creates a link to a hub.
  /// - Parameter isCut: whether peers find no hub until the first `heal()`.
  public init(to hub: any InProcessTransport, isCut: Bool = false) {
    self.hub = hub
    state = Protected(State(isCut: isCut))
  }

  /// Ends all connections, of which hub and peers are notified, and refuses new ones until `heal()`.
  public func cut() {
    let connections = state.withLock { state in
      state.isCut = true
      defer { state.connections = [] }
      return state.connections
    }
    for connection in connections { connection.end(closing: true) }
  }

  /// Lets peers connect again, which they try at most a second apart.
  public func heal() { state.withLock { $0.isCut = false } }

  /// Opens a connection; `Peer` calls it.
  public func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    let connection = Connection(ended: ended)
    let isCut = state.withLock { state in
      state.connections.removeAll { !$0.isOpen }
      if !state.isCut { state.connections.append(connection) }
      return state.isCut
    }
    if isCut {
      connection.end(closing: false)
    } else {
      connection.open(
        hub.connect(
          deliver: { [weak connection] frame in if connection?.isOpen == true { deliver(frame) } },
          ended: { [weak connection] in connection?.end(closing: false) }))
    }
    return connection
  }
}

/// A connection that the link may end before the hub or the peer does.
private final class Connection: HubConnection {
  private struct State: Sendable {
    /// Nil until the hub has opened it, and after its end.
    var inner: (any HubConnection)?
    /// Tells the peer of the end; nil after it.
    var ended: (@Sendable () -> Void)?
  }
  private let state: Protected<State>

  init(ended: @escaping @Sendable () -> Void) { state = Protected(State(ended: ended)) }

  var isOpen: Bool { state.withLock { $0.ended != nil } }

  func open(_ inner: any HubConnection) {
    let isOpen = state.withLock { state in
      if state.ended != nil { state.inner = inner }
      return state.ended != nil
    }
    if !isOpen { inner.close() }
  }

  func end(closing: Bool) {
    let (inner, ended) = state.withLock { ($0.inner.take(), $0.ended.take()) }
    if closing { inner?.close() }
    ended?()
  }

  func send(_ frame: [UInt8]) { state.withLock { $0.inner }?.send(frame) }
  func subscribe(_ topic: [UInt8]) { state.withLock { $0.inner }?.subscribe(topic) }
  func unsubscribe(_ topic: [UInt8]) { state.withLock { $0.inner }?.unsubscribe(topic) }

  func close() {
    let (inner, _) = state.withLock { ($0.inner.take(), $0.ended.take()) }
    inner?.close()
  }
}
