import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer

/// A transport to a hub of this process that a test can cut, and on which it can drop, change or inject frames.
final class InterceptingTransport: InProcessTransport {
  private struct State: Sendable {
    var deliver: (@Sendable ([UInt8]) -> Void)?
    var session: SessionID = 0
    var start: StartNumber = 0
    var keepsUp: @Sendable (PeerMessage) -> Bool = { _ in false }
    var changesDown: @Sendable (HubMessage) -> HubMessage? = { $0 }
  }
  private let link: TestLink
  private let state = Protected(State())

  init(_ hub: Hub) { link = TestLink(to: hub) }

  func cut() { link.cut() }

  func heal() { link.heal() }

  /// Drops the peer's messages for which this is true.
  func keep(_ keeps: @escaping @Sendable (PeerMessage) -> Bool) { state.withLock { $0.keepsUp = keeps } }

  /// Changes the hub's messages; nil drops a message.
  func change(_ changes: @escaping @Sendable (HubMessage) -> HubMessage?) {
    state.withLock { $0.changesDown = changes }
  }

  /// Sends a message in the hub's place, to the session that sent last.
  func answer(_ message: (SessionID) -> HubMessage) {
    let (deliver, session, start) = state.withLock { ($0.deliver, $0.session, $0.start) }
    deliver?(message(session).encode(start: start))
  }

  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubConnection {
    let changed: @Sendable ([UInt8]) -> Void = { [state] frame in
      let changes = state.withLock { $0.changesDown }
      guard let (header, message) = try? HubMessage.decode(frame) else { return deliver(frame) }
      if let message = changes(message) { deliver(message.encode(topic: header.topic, start: header.start)) }
    }
    state.withLock { $0.deliver = deliver }
    return Inside(connection: link.connect(deliver: changed, ended: ended), transport: self)
  }

  fileprivate func lets(_ frame: [UInt8]) -> Bool {
    guard let (header, message) = try? PeerMessage.decode(frame) else { return true }
    let keeps = state.withLock { state in
      state.session = header.session
      state.start = header.start
      return state.keepsUp
    }
    return !keeps(message)
  }

  private final class Inside: HubConnection {
    let connection: any HubConnection
    let transport: InterceptingTransport

    init(connection: any HubConnection, transport: InterceptingTransport) {
      self.connection = connection
      self.transport = transport
    }

    func send(_ frame: [UInt8]) { if transport.lets(frame) { connection.send(frame) } }
    func subscribe(_ topic: [UInt8]) { connection.subscribe(topic) }
    func unsubscribe(_ topic: [UInt8]) { connection.unsubscribe(topic) }
    func close() { connection.close() }
  }
}
