import BindingModel
import BindingWire

/// What hears every reveal of a model, and tells some of it at its own pace.
protocol RevealFeed: AnyObject, Sendable {
  /// Takes in what was revealed; called under the runtime's lock, in order.
  func hear(_ reveal: Reveal)
  /// Tells what is due; called on the model's lane.
  func tell()
  var isOver: Bool { get }
}

/// The feed of one paced observer. What waits in it is folded by its pace, however far behind the lane is.
final class ModelFeed<Raw: Sendable, Value: Sendable>: RevealFeed {
  /// What of a step this observer is to be told, and how many changes it counts for; nil: nothing.
  typealias Part = @Sendable (RevealStep) -> (raw: Raw, weight: Int)?

  let delivery: PacedDelivery<Raw, Value>
  private let steps = Protected(RevealSteps())
  private let part: Part

  init(_ delivery: PacedDelivery<Raw, Value>, part: @escaping Part) {
    self.delivery = delivery
    self.part = part
  }

  var isOver: Bool { delivery.isOver }

  func tell() { delivery.tell() }

  /// Begins with what is there, which is told unless the observer has heard it already.
  func begin(with present: Reveal, isHeard: Bool) {
    let step = steps.withLock { $0.begin(with: present) }
    if !isHeard { hear(step) }
  }

  func hear(_ reveal: Reveal) {
    for step in steps.withLock({ $0.steps(of: reveal) }) { hear(step) }
  }

  private func hear(_ step: RevealStep) {
    if let (raw, weight) = part(step) { delivery.hear(raw, weight: weight) }
  }
}

extension SharedModel {
  /// Lets a feed hear what is there, and then each reveal, until the token is cancelled; without an owner also until
  /// it is released.
  /// - Parameter first: lets the feed hear what is there in its own way; runs under the runtime's lock.
  func follow<Raw, Value>(
    _ feed: ModelFeed<Raw, Value>, owner: AnyObject?,
    first: (@Sendable (borrowing PeerRuntime.State) -> Void)? = nil
  ) -> ObserverToken {
    let number = runtime.state.withLock { state in
      first?(state)
      if let present = state.session.present(id) { feed.begin(with: present, isHeard: first != nil) }
      return staged.withLock { staged in
        staged.lastObserver += 1
        staged.feeds[staged.lastObserver] = feed
        staged.isFeedNews = true
        return staged.lastObserver
      }
    }
    scheduleDelivery()
    return ObserverToken(cancelsWhenReleased: owner == nil) { [weak self, weak feed] in
      feed?.delivery.end()
      self?.drop(feed: number)
    }
  }

  /// Tells what the feeds have; called on the lane.
  func tell(_ feeds: [UInt64: any RevealFeed]) {
    for (number, feed) in feeds.sorted(by: { $0.key < $1.key }) {
      feed.tell()
      if feed.isOver { drop(feed: number) }
    }
  }

  private func drop(feed number: UInt64) {
    // What it holds may be anybody's: it goes without the lock.
    let gone = staged.withLock { $0.feeds.removeValue(forKey: number) }
    withExtendedLifetime(gone) {}
  }
}
