public import BindingModel

/// Conversions to text under the names of the first article, and their reverse, which the article lacks.
public enum Mappers {
  /// Shows a truth value as `true` or `false`.
  public static let transformBoolToStringFunction: @Sendable (Bool) -> String = { String($0) }
  /// Shows a `Float` as text.
  public static let transformFloatToStringFunction: @Sendable (Float) -> String = { String($0) }
  /// Shows an `Int` as text.
  public static let transformIntToStringFunction: @Sendable (Int) -> String = { String($0) }

  /// Reads `true` or `false`; throws `BindingError` for other text.
  public static let transformStringToBoolFunction: @Sendable (String) throws(BindingError) -> Bool = {
    (text: String) throws(BindingError) in try BooleanText("true", "false").back(text)
  }
  /// Reads a `Float`; throws `BindingError` for text that is no number.
  public static let transformStringToFloatFunction: @Sendable (String) throws(BindingError) -> Float = {
    (text: String) throws(BindingError) in try NumberText<Float>().back(text)
  }
  /// Reads an `Int`; throws `BindingError` for text that is no whole number.
  public static let transformStringToIntFunction: @Sendable (String) throws(BindingError) -> Int = {
    (text: String) throws(BindingError) in try NumberText<Int>().back(text)
  }
}
