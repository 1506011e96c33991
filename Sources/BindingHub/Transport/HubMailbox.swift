import BindingProtocol
import Dispatch
import ZeroMQ

/// A value behind a lock. State that the hub's threads share uses it.
final class HubLock<Value: Sendable>: @unchecked Sendable {  // SAFETY: `value` is touched only while `lock` is held
  private var value: Value
  private let lock = DispatchSemaphore(value: 1)

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.wait()
    defer { lock.signal() }
    return body(&value)
  }
}

/// Messages of other threads to the hub's thread: in-process connections and the request to stop.
final class HubMailbox: Sendable {
  enum Message: Sendable {
    case opened(InProcessConnection)
    case frame(InProcessConnection, [UInt8])
    case subscribed(InProcessConnection, [UInt8])
    case unsubscribed(InProcessConnection, [UInt8])
    case closed(InProcessConnection)
    case play(PlayRequest)
    case call(@Sendable () -> Void)
    case stop

    var isHello: Bool {
      guard case .frame(_, let frame) = self else { return false }
      return frame.first == PeerMessageKind.hello.rawValue
    }
  }
  private struct State: Sendable {
    var messages: [Message] = []
    var addresses: [HubAddress] = []
    var thread: SocketThread?
    var lastConnection: UInt64 = 0
    var hasEnded = false
    var failure: StoreError?
    var whenEnded: [@Sendable () -> Void] = []
  }

  let wakeup: Wakeup
  private let state = HubLock(State())

  init() throws(ZeroMQError) { wakeup = try Wakeup() }

  var addresses: [HubAddress] { state.withLock { $0.addresses } }
  func setAddresses(_ addresses: [HubAddress]) { state.withLock { $0.addresses = addresses } }
  func setThread(_ thread: SocketThread) { state.withLock { $0.thread = thread } }

  func open(
    deliver: @escaping @Sendable ([UInt8]) -> Void, ended: @escaping @Sendable () -> Void
  ) -> InProcessConnection {
    let number = state.withLock { state in
      state.lastConnection += 1
      return state.lastConnection
    }
    let connection = InProcessConnection(number: number, mailbox: self, deliver: deliver, ended: ended)
    post(.opened(connection))
    return connection
  }

  func post(_ message: Message) {
    let isLate = state.withLock { state in
      if !state.hasEnded { state.messages.append(message) }
      return state.hasEnded
    }
    if isLate { HubMailbox.refuse(message) }
    wakeup.signal()
  }

  /// Answers a message that the hub handles no more.
  private static func refuse(_ message: Message) {
    switch message {
    case .opened(let connection): connection.ended()
    case .play(let request): request.reply(PlayedCommits())
    case .frame, .subscribed, .unsubscribed, .closed, .call, .stop: break
    }
  }

  func takeMessages() -> [Message] {
    state.withLock { state in
      let messages = state.messages
      state.messages.removeAll(keepingCapacity: true)
      return messages
    }
  }

  var failure: StoreError? { state.withLock { $0.failure } }

  func markEnded(_ failure: StoreError? = nil) {
    let (waiting, late) = state.withLock { state in
      state.hasEnded = true
      state.failure = failure
      defer {
        state.messages.removeAll()
        state.whenEnded.removeAll()
      }
      return (state.whenEnded, state.messages)
    }
    for message in late { if case .play = message { HubMailbox.refuse(message) } }
    for body in waiting { body() }
  }

  /// Calls `body` once the hub has ended: on its thread, or now.
  func whenEnded(_ body: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.whenEnded.append(body) }
      return state.hasEnded
    }
    if hasEnded { body() }
  }

  func stop(timeout: Duration) -> Bool {
    post(.stop)
    return join(timeout: timeout)
  }

  func join(timeout: Duration) -> Bool {
    state.withLock { $0.thread }?.join(timeoutMilliseconds: Int(clamping: timeout.wholeMilliseconds)) ?? true
  }
}

/// A connection from this process. The machine sees it as a request connection and a subscriber with the same
/// number.
final class InProcessConnection: HubConnection {
  let number: UInt64
  private let mailbox: HubMailbox
  let deliver: @Sendable ([UInt8]) -> Void
  let ended: @Sendable () -> Void

  init(
    number: UInt64, mailbox: HubMailbox, deliver: @escaping @Sendable ([UInt8]) -> Void,
    ended: @escaping @Sendable () -> Void
  ) {
    self.number = number
    self.mailbox = mailbox
    self.deliver = deliver
    self.ended = ended
  }

  func send(_ frame: [UInt8]) { mailbox.post(.frame(self, frame)) }
  func subscribe(_ topic: [UInt8]) { mailbox.post(.subscribed(self, topic)) }
  func unsubscribe(_ topic: [UInt8]) { mailbox.post(.unsubscribed(self, topic)) }
  func close() { mailbox.post(.closed(self)) }
}
