#if canImport(UIKit) || canImport(AppKit)
  import Foundation

  extension ObserverToken {
    /// Calls the body on the main actor whenever one of these notifications is posted for an object, until cancelled.
    /// For views that post their edits, so that their delegate stays free for the user.
    @MainActor
    convenience init(notifications: [Notification.Name], of object: AnyObject, _ body: @escaping @MainActor () -> Void)
    {
      let center = NotificationCenter.default
      let observations = notifications.map { name in
        center.addObserver(forName: name, object: object, queue: .main) { _ in
          // Guaranteed by `queue: .main`.
          MainActor.assumeIsolated { body() }
        }
      }
      self.init(endOnMain: { for observation in observations { center.removeObserver(observation) } })
    }
  }
#endif
