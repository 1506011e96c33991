import NIOCore

/// A connection of its own that finds what a broker retains: over the bridge's own one it could not be told from what
/// is published now. All of it is on its event loop.
final class RetainedScan {
  /// After so many milliseconds without another retained message a broker has told all.
  private static let quietMilliseconds: Int64 = 300

  private let filters: [String]
  private let isWanted: (String) -> Bool
  private var retained: [String: [UInt8]] = [:]
  private var connection: MQTTConnection?
  private var deadline: Scheduled<Void>?
  private var isDone = false
  private var problem: String?

  init(_ filters: [String], isWanted: @escaping (String) -> Bool) {
    (self.filters, self.isWanted) = (filters, isWanted)
  }

  /// Begins to look. `answer` gets what is retained under the filters and wanted, or why that could not be found out.
  /// - Returns: what ends it.
  func begin(
    _ configuration: MQTTBridge.Configuration, on loop: any EventLoop,
    _ answer: @escaping (Result<[String: [UInt8]], MQTTError>) -> Void
  ) -> MQTTConnection {
    var connect = configuration.connect(as: configuration.client + "-look")
    connect.keepsSession = false
    let connection = MQTTConnection.open(
      configuration.broker, connect, trusting: configuration.authorities, on: loop
    ) { [self] event in handle(event, loop, answer) }
    self.connection = connection
    return connection
  }

  private func handle(
    _ event: MQTTEvent, _ loop: any EventLoop, _ answer: (Result<[String: [UInt8]], MQTTError>) -> Void
  ) {
    switch event {
    case .opened:
      connection?.send(.subscribe(1, filters))
      connection?.send(.ping)
    case .packet(.subscribed(_, let codes)) where codes.contains(0x80):
      problem = "the broker does not let this client read \(filters.joined(separator: " and "))"
      connection?.close()
    case .packet(.publish(let message, let id)):
      if id != 0 { connection?.send(.published(id)) }
      if message.isRetained, isWanted(message.topic) { retained[message.topic] = message.payload }
      if deadline != nil { waitForMore(loop) }
    case .packet(.pong): waitForMore(loop)
    case .packet: break
    case .closed(let reason):
      deadline?.cancel()
      connection = nil
      answer(isDone ? .success(retained) : .failure(MQTTError(description: problem ?? reason)))
    }
  }

  private func waitForMore(_ loop: any EventLoop) {
    deadline?.cancel()
    let bound = NIOLoopBound(self, eventLoop: loop)
    deadline = loop.scheduleTask(in: .milliseconds(RetainedScan.quietMilliseconds)) {
      bound.value.isDone = true
      bound.value.connection?.close()
    }
  }
}
