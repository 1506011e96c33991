/// The side that acts: the person at the screen, or the model by itself.
public enum Side: String, Sendable {
  case person, model
}

/// One action, and what the screen shows after it.
@MainActor
public struct Step<Shown: Screen> {
  let side: Side
  let words: String
  let act: @MainActor (Shown) -> Void
  let isShown: (@MainActor (Shown) -> Bool)?

  /// Makes a step of the person at the screen.
  /// - Parameters:
  ///   - words: what the person does, after "person".
  ///   - shows: whether the screen shows it. It must stay true until the other side's next step, because a process that
  ///     lags sees only the newest state. Nil if other processes have nothing to follow.
  public static func person(
    _ words: String, _ act: @escaping @MainActor (Shown) -> Void, shows: (@MainActor (Shown) -> Bool)? = nil
  ) -> Step { Step(side: .person, words: words, act: act, isShown: shows) }

  /// Makes a step of the model, which nobody performs at the screen. The parameters are those of `person(_:_:shows:)`.
  public static func model(
    _ words: String, _ act: @escaping @MainActor (Shown) -> Void, shows: (@MainActor (Shown) -> Bool)? = nil
  ) -> Step { Step(side: .model, words: words, act: act, isShown: shows) }
}
