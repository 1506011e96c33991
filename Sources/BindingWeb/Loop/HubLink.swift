import BindingProtocol
import NIOConcurrencyHelpers
import NIOCore

/// One connection to the hub. The hub's thread leaves frames here and goes on; the event loop is called once, and takes
/// all that has gathered by then.
final class HubLink: Sendable {
  private struct State: Sendable {
    var frames: [[UInt8]] = []
    var hasEnded = false
    /// The event loop has been called and has not come yet.
    var isCalled = false
    var isClosed = false
  }

  private let loop: any EventLoop
  private let whenReady: @Sendable (HubLink) -> Void
  private let state = NIOLockedValueBox(State())
  private let connection = NIOLockedValueBox<(any HubConnection)?>(nil)

  /// - Parameter whenReady: called on the event loop when there is something to `take`.
  init(to hub: any InProcessTransport, on loop: any EventLoop, whenReady: @escaping @Sendable (HubLink) -> Void) {
    self.loop = loop
    self.whenReady = whenReady
    let connection = hub.connect(
      deliver: { [weak self] frame in self?.call { $0.frames.append(frame) } },
      ended: { [weak self] in self?.call { $0.hasEnded = true } })
    self.connection.withLockedValue { $0 = connection }
  }

  /// What has come since the last time.
  func take() -> (frames: [[UInt8]], hasEnded: Bool) {
    state.withLockedValue { state in
      defer {
        state.frames = []
        state.isCalled = false
      }
      return state.isClosed ? ([], false) : (state.frames, state.hasEnded)
    }
  }

  func send(_ frame: [UInt8]) { open?.send(frame) }
  func subscribe(_ topic: [UInt8]) { open?.subscribe(topic) }
  func unsubscribe(_ topic: [UInt8]) { open?.unsubscribe(topic) }

  /// Nothing comes after it.
  func close() {
    state.withLockedValue { state in
      state.isClosed = true
      state.frames = []
    }
    connection.withLockedValue { $0.take() }?.close()
  }

  private var open: (any HubConnection)? { connection.withLockedValue { $0 } }

  /// On the hub's thread. The event loop is called under the lock, so that it still runs: it ends after `close`.
  private func call(_ change: (inout State) -> Void) {
    state.withLockedValue { state in
      guard !state.isClosed else { return }
      change(&state)
      guard !state.isCalled else { return }
      state.isCalled = true
      loop.execute { self.whenReady(self) }
    }
  }
}
