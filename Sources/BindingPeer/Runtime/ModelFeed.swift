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
  /// The form that the description gives the field.
  var form: DescribedForm?

  mutating func absorb(_ newer: PacedFieldValue) {
    (value, form) = (newer.value, newer.form)
    hops = max(hops, newer.hops)
  }
}

/// The call of a field's observer with a value that was decoded for it.
struct FieldNotification: Sendable {
  /// Set only for a pace that compares values.
  let value: (any Sendable)?
  let call: @Sendable (_ changes: Int) -> Void
}
