import BindingProtocol
import NIOConcurrencyHelpers
import NIOCore

/// One connection to the hub. The hub's thread queues frames here without waiting, and wakes the event loop once,
/// which takes all queued frames.
final class HubLink: Sendable {
  private struct State: Sendable {
    var frames: [[UInt8]] = []
    var hasEnded = false
    /// Whether the event loop has been woken and has not taken the frames yet.
    var isCalled = false
    var isClosed = false
  }

  private let loop: any EventLoop
  private let whenReady: @Sendable (HubLink) -> Void
  private let state = NIOLockedValueBox(State())
  private let connection = NIOLockedValueBox<(any HubConnection)?>(nil)

  /// - Parameter whenReady: called on the event loop when `take` has something to return.
  init(to hub: any InProcessTransport, on loop: any EventLoop, whenReady: @escaping @Sendable (HubLink) -> Void) {
    self.loop = loop
    self.whenReady = whenReady
    let connection = hub.connect(
      deliver: { [weak self] frame in self?.call { $0.frames.append(frame) } },
      ended: { [weak self] in self?.call { $0.hasEnded = true } })
    self.connection.withLockedValue { $0 = connection }
  }

  /// The frames since the last call.
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

  /// Closes the connection; no frames arrive afterwards.
  func close() {
    state.withLockedValue { state in
      state.isClosed = true
      state.frames = []
    }
    connection.withLockedValue { $0.take() }?.close()
  }

  private var open: (any HubConnection)? { connection.withLockedValue { $0 } }

  /// Called on the hub's thread. Wakes the event loop under the lock: the loop ends only after `close`, so it still
  /// runs.
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
