import BindingModel
import BindingProtocol

/// What hears of states of a model, and tells some of it at its own pace.
protocol UpdateFeed: AnyObject, Sendable {
  /// Tells what is due; called on the model's lane.
  func notify()
  /// Tells nothing any more.
  func end()
  var isOver: Bool { get }
  /// Whether its owner is gone: it is to be let tell once more, which finds that out.
  var isOrphaned: Bool { get }
}

/// The feed of one paced observer of a whole model. What waits in it is folded by its pace, however far behind the lane
/// is.
final class ModelFeed: UpdateFeed {
  private let delivery: PacedDelivery<ModelChange, ModelChange>

  init(_ delivery: PacedDelivery<ModelChange, ModelChange>) { self.delivery = delivery }

  var isOver: Bool { delivery.isOver }
  var isOrphaned: Bool { delivery.isOrphaned }
  func notify() { delivery.notify() }
  func end() { delivery.end() }

  /// Takes in the states that an update leads through; called under the runtime's lock, in order.
  /// - Returns: whether there is something to tell, which nobody was going to tell yet.
  func receive(_ steps: [UpdateStep]) -> Bool {
    var isDue = false
    for step in steps where delivery.enqueue(ModelChange(step), weight: step.commits) { isDue = true }
    return isDue || isOrphaned
  }
}

/// The feed of one paced observer of a field.
///
/// It does not know the type of the field's values: a program that observes much would look up its generic types
/// again for each value, which costs more than all else here.
final class FieldFeed: UpdateFeed {
  private let delivery: PacedDelivery<PacedFieldValue, FieldNotification>

  init(_ delivery: PacedDelivery<PacedFieldValue, FieldNotification>) { self.delivery = delivery }

  var isOver: Bool { delivery.isOver }
  var isOrphaned: Bool { delivery.isOrphaned }
  func notify() { delivery.notify() }
  func end() { delivery.end() }

  /// Takes in what the field shows; called under the runtime's lock, in order.
  /// - Returns: whether there is something to tell, which nobody was going to tell yet.
  func receive(_ paced: PacedFieldValue, weight: Int = 1) -> Bool {
    delivery.enqueue(paced, weight: weight) || isOrphaned
  }
}

/// What a field shows, not yet decoded; nil: it has no value.
struct PacedFieldValue: Sendable {
  var value: FieldValue?
  var hops: UInt8

  mutating func absorb(_ newer: PacedFieldValue) {
    value = newer.value
    hops = max(hops, newer.hops)
  }
}

/// The call of a field's observer with a value that was decoded for it.
struct FieldNotification: Sendable {
  /// Only for a pace that compares values.
  let value: (any Sendable)?
  let call: @Sendable (_ changes: Int) -> Void
}

extension SharedModel {
  /// Feeds by the numbers of their observers.
  struct Following<Feed: Sendable>: Sendable {
    let number: UInt64
    let feed: Feed
  }

  /// Lets a feed hear what is there, and then each update, until the token is cancelled; without an owner also until
  /// it is released.
  func follow(_ feed: ModelFeed, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      if let present = state.session.present(id) { _ = feed.receive([staged.steps.begin(with: present)]) }
      staged.feeds.append(Following(number: number, feed: feed))
    }
  }

  /// The same for one field.
  func follow(_ feed: FieldFeed, of field: String, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      _ = feed.receive(PacedFieldValue(value: state.session.shown(id, field), hops: 0))
      if let present = state.session.present(id) { _ = staged.steps.begin(with: present) }
      staged.fieldFeeds += 1
      let index = staged.fields.findOrInsert(field, StagedField())
      // Who would hear nothing for long is found out by who comes next.
      for other in staged.fields[at: index].feeds where other.feed.isOrphaned {
        staged.dueFeeds.append(Following(number: other.number, feed: other.feed))
      }
      staged.fields[at: index].feeds.append(Following(number: number, feed: feed))
    }
  }

  private func follow(
    _ feed: any UpdateFeed, owner: AnyObject?,
    enter: (borrowing PeerRuntime.State, inout Staged, _ number: UInt64) -> Void
  ) -> ObserverToken {
    let number = runtime.state.withLock { state in
      staged.withLock { staged in
        staged.lastObserver += 1
        enter(state, &staged, staged.lastObserver)
        staged.dueFeeds.append(Following(number: staged.lastObserver, feed: feed))
        return staged.lastObserver
      }
    }
    scheduleDelivery()
    return ObserverToken(cancelsWhenReleased: owner == nil) { [weak self, weak feed] in
      feed?.end()
      self?.drop(feed: number)
    }
  }

  /// Tells what the feeds have; called on the lane.
  func notify(_ feeds: [Following<any UpdateFeed>]) {
    // In the order in which they began to observe.
    for following in feeds.count > 1 ? feeds.sorted(by: { $0.number < $1.number }) : feeds {
      following.feed.notify()
      if following.feed.isOver { drop(feed: following.number) }
    }
  }

  private func drop(feed number: UInt64) {
    // What it holds may be anybody's: it goes without the lock.
    let gone: (any UpdateFeed)? = staged.withLock { $0.remove(feed: number) }
    withExtendedLifetime(gone) {}
  }
}

extension SharedModel.Staged {
  fileprivate mutating func remove(feed number: UInt64) -> (any UpdateFeed)? {
    if let index = feeds.firstIndex(where: { $0.number == number }) { return feeds.remove(at: index).feed }
    for field in fields.indices {
      guard let index = fields[at: field].feeds.firstIndex(where: { $0.number == number }) else { continue }
      fieldFeeds -= 1
      return fields[at: field].feeds.remove(at: index).feed
    }
    return nil
  }

  /// Lets those who follow at their own pace hear of an update.
  mutating func feed(_ update: ModelUpdate) {
    let steps = steps.steps(of: update)
    for following in feeds where following.feed.receive(steps) {
      dueFeeds.append(.init(number: following.number, feed: following.feed))
    }
    guard fieldFeeds > 0 else { return }
    for step in steps {
      for change in step.changes {
        guard let index = fields.index(of: change.field) else { continue }
        for following in fields[at: index].feeds
        where following.feed.receive(
          PacedFieldValue(value: change.value, hops: step.hops), weight: max(step.commits, 1))
        {
          dueFeeds.append(.init(number: following.number, feed: following.feed))
        }
      }
    }
  }
}
