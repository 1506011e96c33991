import BindingHub
import BindingModel
import BindingPeer

/// A door to a hub of this process that a test can shut, and at which it can hold frames back, or say something itself.
final class GuardedDoor: HubDoor {
  private struct State: Sendable {
    var deliver: (@Sendable ([UInt8]) -> Void)?
    var ended: (@Sendable () -> Void)?
    var isShut = false
    var session: SessionID = 0
    var start: StartNumber = 0
    var keepsUp: @Sendable (PeerMessage) -> Bool = { _ in false }
    var changesDown: @Sendable (HubMessage) -> HubMessage? = { $0 }
  }
  private let hub: Hub
  private let state = Protected(State())

  init(_ hub: Hub) { self.hub = hub }

  /// Cuts the connection, and lets nobody in before `open`.
  func shut() {
    let ended = state.withLock { state in
      state.isShut = true
      return state.ended
    }
    ended?()
  }

  func open() { state.withLock { $0.isShut = false } }

  /// Drops what the peer says and this is true of.
  func keep(_ keeps: @escaping @Sendable (PeerMessage) -> Bool) { state.withLock { $0.keepsUp = keeps } }

  /// Changes what the hub says, or, with nil, drops it.
  func change(_ changes: @escaping @Sendable (HubMessage) -> HubMessage?) {
    state.withLock { $0.changesDown = changes }
  }

  /// Says something in the hub's place, to the session that spoke last.
  func answer(_ message: (SessionID) -> HubMessage) {
    let (deliver, session, start) = state.withLock { ($0.deliver, $0.session, $0.start) }
    deliver?(message(session).encode(start: start))
  }

  func connect(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> any HubDoorConnection {
    let changed: @Sendable ([UInt8]) -> Void = { [state] frame in
      let changes = state.withLock { $0.changesDown }
      guard let (header, message) = try? HubMessage.decode(frame) else { return deliver(frame) }
      if let message = changes(message) { deliver(message.encode(topic: header.topic, start: header.start)) }
    }
    let isShut = state.withLock { state in
      state.deliver = deliver
      state.ended = ended
      return state.isShut
    }
    if isShut {
      ended()
      return Nowhere()
    }
    return Inside(connection: hub.connect(deliver: changed, ended: ended), door: self)
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

  private final class Inside: HubDoorConnection {
    let connection: any HubDoorConnection
    let door: GuardedDoor

    init(connection: any HubDoorConnection, door: GuardedDoor) {
      self.connection = connection
      self.door = door
    }

    func send(_ frame: [UInt8]) { if door.lets(frame) { connection.send(frame) } }
    func subscribe(_ topic: [UInt8]) { connection.subscribe(topic) }
    func unsubscribe(_ topic: [UInt8]) { connection.unsubscribe(topic) }
    func close() { connection.close() }
  }

  private final class Nowhere: HubDoorConnection {
    func send(_ frame: [UInt8]) {}
    func subscribe(_ topic: [UInt8]) {}
    func unsubscribe(_ topic: [UInt8]) {}
    func close() {}
  }
}
