import Observation

/// A model of the standard library's kind with one who looks at it.
final class Tracked {
  @Observable
  final class Model {
    var value = 0.0
  }

  let model = Model()
  /// Set by the change, before it takes place: the new value can be read only afterwards.
  private let news = News()

  func trackAgain(_ tally: Tally) {
    guard news.isThere else { return }
    news.isThere = false
    track(tally)
  }

  func track(_ tally: Tally) {
    let news = news
    let value = withObservationTracking {
      model.value
    } onChange: {
      news.isThere = true
    }
    tally.add(value)
  }

  // SAFETY: one thread runs everything here.
  private final class News: @unchecked Sendable {
    var isThere = false
  }
}
