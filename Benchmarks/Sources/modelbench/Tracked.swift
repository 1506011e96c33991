import Observation

/// A model of the standard library's kind with one tracking reader.
final class Tracked {
  @Observable
  final class Model {
    var value = 0.0
  }

  let model = Model()
  /// Set by the change before it takes place: the new value can be read only afterwards.
  private let change = Change()

  func trackAgain(_ tally: Tally) {
    guard change.isThere else { return }
    change.isThere = false
    track(tally)
  }

  func track(_ tally: Tally) {
    let change = change
    let value = withObservationTracking {
      model.value
    } onChange: {
      change.isThere = true
    }
    tally.add(value)
  }

  // SAFETY: one thread runs everything here.
  private final class Change: @unchecked Sendable {
    var isThere = false
  }
}
