import BindingProtocol
import ZeroMQ

/// Sockets in an array: each has a class around it, as they are not copyable.
final class Sockets {
  private final class Box {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
  }
  private var boxes: [Box] = []
  private var message = Message()

  init(
    _ count: Int, to endpoint: String, _ prefix: [UInt8], _ options: [SocketOption] = [], in context: Context
  ) throws {
    for _ in 0..<count {
      let socket = try Socket(.sub, in: context)
      try socket.set([.receiveHighWaterMark(messages: 0)] + options)
      try socket.subscribe(prefix)
      try socket.connect(endpoint)
      boxes.append(Box(socket))
    }
  }

  /// Passes on arrived messages; false if none arrived in time.
  @discardableResult
  func drain(timeoutMilliseconds: Int, _ body: (Int, UnsafeRawBufferPointer) -> Void) throws -> Bool {
    var poller = Poller()
    for box in boxes { _ = poller.add(box.socket) }
    guard try poller.wait(timeoutMilliseconds: timeoutMilliseconds) > 0 else { return false }
    for (index, box) in boxes.enumerated() {
      for _ in 0..<1_000 {
        guard try box.socket.receive(into: &message) else { break }
        message.withBytes { body(index, $0) }
      }
    }
    return true
  }
}
