import BindingProtocol
import NIOCore

/// Connects the gateway to its hub, as often as the machine asks for it. Belongs to the event loop.
final class HubConnector: @unchecked Sendable {  // SAFETY: all mutable state is accessed on `loop` only
  private let hub: any InProcessTransport
  private let loop: any EventLoop
  private var opening: Scheduled<Void>?
  /// The connection; nil while there is none.
  private(set) var link: HubLink?

  init(to hub: any InProcessTransport, on loop: any EventLoop) {
    self.hub = hub
    self.loop = loop
  }

  /// Closes the connection if there is one, and opens a new one after a pause.
  /// - Parameters:
  ///   - pause: milliseconds.
  ///   - opened: called once the connection is open.
  ///   - received: called with the frames that have arrived, and whether the connection has ended.
  func open(
    after pause: UInt64, opened: @escaping @Sendable () -> Void,
    received: @escaping @Sendable (_ frames: [[UInt8]], _ hasEnded: Bool) -> Void
  ) {
    close()
    opening = loop.scheduleTask(in: .milliseconds(Int64(clamping: pause))) {
      self.link = HubLink(to: self.hub, on: self.loop) { link in
        guard link === self.link else { return }
        let (frames, hasEnded) = link.take()
        if hasEnded { self.link = nil }
        received(frames, hasEnded)
      }
      opened()
    }
  }

  /// Closes the connection, or does not open it.
  func close() {
    opening?.cancel()
    link?.close()
    link = nil
  }
}
