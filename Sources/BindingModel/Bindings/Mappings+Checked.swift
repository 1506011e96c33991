/// Text that must be present: empty or blank text is refused with a message.
public struct Required: Mapping {
  private let message: String

  /// - Parameter message: shown to the person who leaves the text empty.
  public init(_ message: String = "this must not be empty") { self.message = message }

  public func forward(_ source: String) -> String { source }

  /// Returns the text, or throws `.unmappable` if it is empty or blank.
  public func back(_ target: String) throws(BindingError) -> String {
    if target.trimmed.isEmpty { throw BindingError(.unmappable, message) }
    return target
  }
}

/// A value that must lie in a range: a value outside is refused with a message, where `Scaled` takes the nearest end.
/// Use it before a number's text: `age.bind(to: field, map: Within(0...150).then(NumberText()))`.
public struct Within<Bound: Comparable & Sendable>: Mapping {
  private let range: ClosedRange<Bound>

  /// - Parameter range: the accepted values, both ends included.
  public init(_ range: ClosedRange<Bound>) { self.range = range }

  public func forward(_ source: Bound) -> Bound { source }

  /// Returns the value, or throws `.unmappable` if it lies outside the range.
  public func back(_ target: Bound) throws(BindingError) -> Bound {
    guard range.contains(target) else {
      throw BindingError(.unmappable, "\(target) is not between \(range.lowerBound) and \(range.upperBound)")
    }
    return target
  }
}

/// A number in another precision: a `Double` for a slider whose value is a `Float`.
/// `slider.bind(to: lamp.$level, map: Precision())`
public struct Precision<Source: BinaryFloatingPoint & Sendable, Target: BinaryFloatingPoint & Sendable>: Mapping {
  /// Creates a mapping between two floating-point types.
  public init() {}
  public func forward(_ source: Source) -> Target { Target(source) }
  public func back(_ target: Target) -> Source { Source(target) }
}

/// A whole number as one with a fraction, for a slider or a stepper; an entered number is rounded to the nearest.
public struct Rounded<Source: FixedWidthInteger & Sendable, Target: BinaryFloatingPoint & Sendable>: Mapping {
  /// Creates a mapping between an integer type and a floating-point type.
  public init() {}

  public func forward(_ source: Source) -> Target { Target(source) }

  /// Returns the nearest integer, or throws `.unmappable` if the type has none.
  public func back(_ target: Target) throws(BindingError) -> Source {
    guard let number = Source(exactly: target.rounded()) else {
      throw BindingError(.unmappable, "\(target) is not a valid \(Source.self)")
    }
    return number
  }
}

/// A choice as its index among all cases: an enumeration for a segmented control or a list.
/// `segments.bind(to: lamp.$mood, map: CaseIndex())`
public struct CaseIndex<Choice: CaseIterable & Equatable & Sendable & SendableMetatype>: Mapping {
  /// Creates a mapping between a choice and its index.
  public init() {}

  /// Returns -1 for a choice that is not in `allCases`.
  public func forward(_ source: Choice) -> Int {
    for (index, choice) in Choice.allCases.enumerated() where choice == source { return index }
    return -1
  }

  /// Returns the choice at an index, or throws `.unmappable` if there is none.
  public func back(_ target: Int) throws(BindingError) -> Choice {
    for (index, choice) in Choice.allCases.enumerated() where index == target { return choice }
    throw BindingError(.unmappable, "there is no choice \(target) of \(Choice.allCases.count)")
  }
}
