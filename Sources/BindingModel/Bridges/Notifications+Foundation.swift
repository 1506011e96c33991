#if canImport(UIKit) || canImport(AppKit)
  import Foundation

  extension ObserverToken {
    /// Calls back on the main actor whenever one of these is posted for an object, until it is cancelled. For views
    /// that tell of edits by notification, so that their delegate stays their user's.
    @MainActor
    convenience init(notifications: [Notification.Name], of object: AnyObject, _ body: @escaping @MainActor () -> Void)
    {
      let center = NotificationCenter.default
      let observations = notifications.map { name in
        center.addObserver(forName: name, object: object, queue: .main) { _ in
          // Said by `queue: .main`.
          MainActor.assumeIsolated { body() }
        }
      }
      self.init(endOnMain: { for observation in observations { center.removeObserver(observation) } })
    }
  }
#endif
