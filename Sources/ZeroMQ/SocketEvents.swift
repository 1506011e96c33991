import CZMQ

/// The events of one socket, polled in the same loop. Lives on the socket's thread; either may end first.
///
/// A socket has at most one of these: a second one takes over and the first receives no more events. Events are
/// neither dropped nor bounded (a bound would stop libzmq's I/O thread, and closing would then hang), so read them
/// in every turn.
package struct SocketEvents: ~Copyable {
  let reader: Socket
  private let core: SocketCore
  private var frame = Message()

  /// Receives events from now on: make it before ``Socket/bind(_:)`` or ``Socket/connect(_:)``.
  package init(of socket: borrowing Socket) throws(ZeroMQError) {
    let core = socket.core
    let reader = try core.makeMonitorReader()
    try reader.set(.receiveHighWaterMark(messages: 0))
    let endpoint = "inproc://socket-events-\(UInt64.random(in: .min ... .max))"
    try core.startMonitoring(at: endpoint, events: ZMQ_EVENT_ALL)
    do { try reader.connect(endpoint) } catch {
      core.stopMonitoring()
      throw error
    }
    self.core = core
    self.reader = reader
  }

  deinit { core.stopMonitoring() }

  /// The oldest unread event; nil when there is none. Never waits.
  package mutating func next() throws(ZeroMQError) -> SocketEvent? {
    while try reader.receive(into: &frame) {
      var head: UInt64 = 0
      let length = frame.withBytes { bytes in
        withUnsafeMutableBytes(of: &head) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(8))) }
        return bytes.count
      }
      guard frame.hasMore, try reader.receive(into: &frame) else { continue }
      let endpoint = frame.withBytes { String(decoding: $0, as: UTF8.self) }
      try reader.discardRemainingFrames(after: &frame)
      let event = withUnsafeBytes(of: head) {
        SocketEvent(head: UnsafeRawBufferPointer(rebasing: $0.prefix(length)), endpoint: endpoint)
      }
      if let event { return event }
    }
    return nil
  }
}

@available(*, unavailable)
extension SocketEvents: Sendable {}
