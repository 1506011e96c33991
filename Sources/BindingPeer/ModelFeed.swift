import BindingModel
import BindingWire

/// What hears every state of a model, and tells some of it at its own pace.
protocol RevealFeed: AnyObject, Sendable {
  /// Takes in the states that a reveal leads through; called under the runtime's lock, in order.
  /// - Returns: whether there is something to tell, which nobody was going to tell yet.
  func hear(_ steps: [RevealStep]) -> Bool
  /// Tells what is due; called on the model's lane.
  func tell()
  var isOver: Bool { get }
}

/// The feed of one paced observer. What waits in it is folded by its pace, however far behind the lane is.
final class ModelFeed<Raw: Sendable, Value: Sendable>: RevealFeed {
  /// What of a step this observer is to be told, and how many changes it counts for; nil: nothing.
  typealias Part = @Sendable (RevealStep) -> (raw: Raw, weight: Int)?

  let delivery: PacedDelivery<Raw, Value>
  private let part: Part

  init(_ delivery: PacedDelivery<Raw, Value>, part: @escaping Part) {
    self.delivery = delivery
    self.part = part
  }

  var isOver: Bool { delivery.isOver }

  func tell() { delivery.tell() }

  func hear(_ steps: [RevealStep]) -> Bool {
    var isNews = false
    for step in steps {
      guard let (raw, weight) = part(step) else { continue }
      if delivery.hear(raw, weight: weight) { isNews = true }
    }
    return isNews || delivery.isOrphaned
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
      let present = state.session.present(id)
      return staged.withLock { staged in
        if let present {
          let beginning = staged.steps.begin(with: present)
          if first == nil { _ = feed.hear([beginning]) }
        }
        staged.lastObserver += 1
        staged.feeds.append((staged.lastObserver, feed))
        staged.dueFeeds.append((staged.lastObserver, feed))
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
  func tell(_ feeds: [(number: UInt64, feed: any RevealFeed)]) {
    // In the order in which they began to observe.
    for (number, feed) in feeds.count > 1 ? feeds.sorted(by: { $0.number < $1.number }) : feeds {
      feed.tell()
      if feed.isOver { drop(feed: number) }
    }
  }

  private func drop(feed number: UInt64) {
    // What it holds may be anybody's: it goes without the lock.
    let gone = staged.withLock { staged in
      staged.feeds.firstIndex { $0.number == number }.map { staged.feeds.remove(at: $0) }
    }
    withExtendedLifetime(gone) {}
  }
}
