import BindingProtocol

/// The connections of this process. Their numbers have the top bit set, so they never collide with those of the
/// sockets.
struct InProcessClients {
  static let firstNumber = HubMachine.firstInProcessConnection

  private struct Client {
    let connection: InProcessConnection
    var topics: Set<[UInt8]> = []
  }
  private var clients: [UInt64: Client] = [:]

  static func owns(_ number: UInt64) -> Bool { number >= firstNumber }

  /// Passes one message to the machine. Returns false for the request to stop.
  mutating func receive(
    _ message: HubMailbox.Message, _ machine: inout HubMachine, time: HubTime, into output: inout HubOutput
  ) -> Bool {
    switch message {
    case .opened(let connection): clients[id(connection)] = Client(connection: connection)
    case .frame(let connection, let frame):
      guard clients[id(connection)] != nil else { break }
      frame.withUnsafeBytes { machine.receive($0, on: id(connection), time: time, into: &output) }
    case .subscribed(let connection, let topic):
      guard clients[id(connection)]?.topics.insert(topic).inserted == true else { break }
      topic.withUnsafeBytes { machine.subscribed($0, by: id(connection), time: time, into: &output) }
    case .unsubscribed(let connection, let topic):
      guard clients[id(connection)]?.topics.remove(topic) != nil else { break }
      topic.withUnsafeBytes { machine.unsubscribed($0, by: id(connection), time: time, into: &output) }
    case .closed(let connection): _ = remove(id(connection), &machine, time: time, into: &output)
    case .call(let body): body()
    case .play: break
    case .stop: return false
    }
    return true
  }

  /// Ends a connection, and tells its peer.
  mutating func end(_ number: UInt64, _ machine: inout HubMachine, time: HubTime, into output: inout HubOutput) {
    remove(number, &machine, time: time, into: &output)?.ended()
  }

  /// - Returns: the connection; nil: it has ended before.
  private mutating func remove(
    _ number: UInt64, _ machine: inout HubMachine, time: HubTime, into output: inout HubOutput
  ) -> InProcessConnection? {
    guard let client = clients.removeValue(forKey: number) else { return nil }
    for topic in client.topics {
      topic.withUnsafeBytes { machine.unsubscribed($0, by: number, time: time, into: &output) }
    }
    machine.closed(number, time: time, into: &output)
    return client.connection
  }

  func send(_ frame: UnsafeRawBufferPointer, to number: UInt64) {
    clients[number]?.connection.deliver(Array(frame))
  }

  func publish(_ frame: UnsafeRawBufferPointer) {
    guard !clients.isEmpty else { return }
    let topic = Array(frame.prefix(4))
    let copy = Array(frame)
    for client in clients.values where client.topics.contains(topic) { client.connection.deliver(copy) }
  }

  mutating func endAll() {
    for client in clients.values { client.connection.ended() }
    clients.removeAll()
  }

  private func id(_ connection: InProcessConnection) -> UInt64 { InProcessClients.firstNumber + connection.number }
}
