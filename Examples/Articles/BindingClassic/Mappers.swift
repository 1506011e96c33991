public import BindingModel

/// Conversions to text under the names of the first article, and the ways back that it lacks.
public enum Mappers {
  public static let transformBoolToStringFunction: @Sendable (Bool) -> String = { String($0) }
  public static let transformFloatToStringFunction: @Sendable (Float) -> String = { String($0) }
  public static let transformIntToStringFunction: @Sendable (Int) -> String = { String($0) }

  public static let transformStringToBoolFunction: @Sendable (String) throws(BindingError) -> Bool = {
    (text: String) throws(BindingError) in try BooleanText("true", "false").back(text)
  }
  public static let transformStringToFloatFunction: @Sendable (String) throws(BindingError) -> Float = {
    (text: String) throws(BindingError) in try NumberText<Float>().back(text)
  }
  public static let transformStringToIntFunction: @Sendable (String) throws(BindingError) -> Int = {
    (text: String) throws(BindingError) in try NumberText<Int>().back(text)
  }
}
