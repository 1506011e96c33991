import NIOCore

/// The connections that are open now, and which of them have shown neither token nor session. Belongs to the event
/// loop.
final class OpenConnections: @unchecked Sendable {  // SAFETY: all mutable state is accessed on the event loop only
  private(set) var count = 0
  /// Open connections without token or session, by their order of arrival.
  private var strangers: [UInt64: any Channel] = [:]
  private var lastStranger: UInt64 = 0

  /// Counts a connection until it closes.
  func add(_ channel: any Channel) {
    count += 1
    lastStranger += 1
    let number = lastStranger
    strangers[number] = channel
    channel.closeFuture.whenComplete { _ in
      self.count -= 1
      self.strangers[number] = nil
    }
  }

  /// Removes the oldest connection without token or session, if there are this many, for the caller to close.
  func removeOldestStranger(of limit: Int) -> (any Channel)? {
    guard strangers.count >= limit, let oldest = strangers.keys.min() else { return nil }
    return strangers.removeValue(forKey: oldest)
  }

  /// Stops counting an authenticated connection among the unauthenticated ones.
  func letIn(_ channel: any Channel) {
    guard let number = strangers.first(where: { $0.value === channel })?.key else { return }
    strangers[number] = nil
  }
}
