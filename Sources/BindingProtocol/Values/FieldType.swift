/// The type of a field's values in a description; the raw value is the word in the description's JSON.
public enum FieldType: String, Sendable, Hashable, CaseIterable {
  case boolean, integer, number, string, array, object, any

  /// Whether `json` is a value of this type. An integer may have a fraction or an exponent if it is whole and below
  /// 2^53, and may be a `$int` of up to 64 bits, signed or unsigned.
  public func admits(_ json: JSON) -> Bool {
    switch (self, json) {
    case (.any, _), (.boolean, .bool), (.integer, .integer), (.number, .integer), (.number, .number),
      (.string, .string), (.array, .array):
      true
    case (.integer, .number(let number)): number == number.rounded() && abs(number) < 9_007_199_254_740_992
    case (.integer, .object), (.number, .object): json.unsignedPastInt64 != nil
    case (.object, .object): json.unsignedPastInt64 == nil
    default: false
    }
  }

  /// The type with its article, as in "takes an integer".
  public var words: String {
    switch self {
    case .integer, .array, .object: "an \(rawValue)"
    case .boolean, .number, .string: "a \(rawValue)"
    case .any: "anything"
    }
  }
}
