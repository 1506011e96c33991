import BindingModel
import BindingProtocol

/// Receives states of a model and delivers them to one observer at its own pace.
protocol UpdateFeed: AnyObject, Sendable {
  /// Delivers what is due; called on the model's lane.
  func notify()
  /// Delivers nothing any more.
  func end()
  var isOver: Bool { get }
  /// Whether its owner is gone: the next delivery finds that out and ends the feed.
  var isOrphaned: Bool { get }
}

/// The feed of one paced observer of a whole model. Undelivered changes are coalesced by its pace, however far the
/// lane lags.
final class ModelFeed: UpdateFeed {
  private let delivery: PacedDelivery<ModelChange, ModelChange>

  init(_ delivery: PacedDelivery<ModelChange, ModelChange>) { self.delivery = delivery }

  var isOver: Bool { delivery.isOver }
  var isOrphaned: Bool { delivery.isOrphaned }
  func notify() { delivery.notify() }
  func end() { delivery.end() }

  /// Receives the states that an update leads through; called under the runtime's lock, in order.
  /// - Returns: whether a delivery is due that was not due before.
  func receive(_ steps: [UpdateStep]) -> Bool {
    var isDue = false
    for step in steps where delivery.enqueue(ModelChange(step), weight: step.commits) { isDue = true }
    return isDue || isOrphaned
  }
}

/// The feed of one paced observer of a field.
///
/// It does not know the type of the field's values: a program that observes much would look up its generic types
/// again for each value, which costs more than everything else here.
final class FieldFeed: UpdateFeed {
  private let delivery: PacedDelivery<PacedFieldValue, FieldNotification>

  init(_ delivery: PacedDelivery<PacedFieldValue, FieldNotification>) { self.delivery = delivery }

  var isOver: Bool { delivery.isOver }
  var isOrphaned: Bool { delivery.isOrphaned }
  func notify() { delivery.notify() }
  func end() { delivery.end() }

  /// Receives what the field shows; called under the runtime's lock, in order.
  /// - Returns: whether a delivery is due that was not due before.
  func receive(_ paced: PacedFieldValue, weight: Int = 1) -> Bool {
    delivery.enqueue(paced, weight: weight) || isOrphaned
  }
}

/// What a field shows, not yet decoded; nil: no value.
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
  /// Set only for a pace that compares values.
  let value: (any Sendable)?
  let call: @Sendable (_ changes: Int) -> Void
}

extension SharedModel {
  /// A feed with the number of its observer.
  struct Following<Feed: Sendable>: Sendable {
    let number: UInt64
    let feed: Feed
  }

  /// Adds a feed of the present state and of each later update. It ends when the token is cancelled, and without an
  /// owner also when the token is released.
  func follow(_ feed: ModelFeed, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      if let present = state.session.present(id) { _ = feed.receive([staged.steps.begin(with: present)]) }
      staged.feeds.append(Following(number: number, feed: feed))
    }
  }

  /// Adds a feed of a field's present value and of each later one. It ends like that of a whole model.
  func follow(_ feed: FieldFeed, of field: String, owner: AnyObject?) -> ObserverToken {
    follow(feed, owner: owner) { state, staged, number in
      _ = feed.receive(PacedFieldValue(value: state.session.shown(id, field), hops: 0))
      if let present = state.session.present(id) { _ = staged.steps.begin(with: present) }
      staged.fieldFeeds += 1
      let index = staged.fields.findOrInsert(field, StagedField())
      // A field that seldom changes would not find its orphaned feeds: a new one looks for them.
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

  /// Delivers what the feeds hold; called on the lane.
  func notify(_ feeds: [Following<any UpdateFeed>]) {
    // In the order in which the observations began.
    for following in feeds.count > 1 ? feeds.sorted(by: { $0.number < $1.number }) : feeds {
      following.feed.notify()
      if following.feed.isOver { drop(feed: following.number) }
    }
  }

  private func drop(feed number: UInt64) {
    // It is released outside the lock: its captures may run any code.
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

  /// Passes an update to the paced observers.
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
