/// A number as text that a person types: surrounding whitespace is ignored. Other text is refused with a message.
public struct NumberText<Number: LosslessStringConvertible & Sendable>: Mapping {
  /// Creates a mapping between a number and its text.
  public init() {}

  public func forward(_ source: Number) -> String { source.description }

  /// Returns the number, or throws `.unmappable` if the text is none.
  public func back(_ target: String) throws(BindingError) -> Number {
    guard let number = Number(target.trimmed) else {
      throw BindingError(.unmappable, "\"\(target)\" is not a valid \(Number.self)")
    }
    return number
  }

  /// Whether both texts are the same number.
  public func isSame(_ left: String, _ right: String) -> Bool {
    guard let left = Number(left.trimmed), let right = Number(right.trimmed) else { return false }
    return left.description == right.description
  }
}

/// A truth value as one of two words, whose case is ignored on the way back.
public struct BooleanText: Mapping {
  private let yes: String
  private let no: String

  /// Creates a mapping from the words for true and false.
  public init(_ yes: String, _ no: String) {
    self.yes = yes
    self.no = no
  }

  public func forward(_ source: Bool) -> String { source ? yes : no }

  /// Returns the truth value, or throws `.unmappable` if the text is neither word.
  public func back(_ target: String) throws(BindingError) -> Bool {
    let word = target.trimmed.lowercased()
    if word == yes.lowercased() { return true }
    if word == no.lowercased() { return false }
    throw BindingError(.unmappable, "\"\(target)\" is neither \"\(yes)\" nor \"\(no)\"")
  }

  /// Whether both texts are the same word, regardless of case.
  public func isSame(_ left: String, _ right: String) -> Bool {
    guard let left = try? back(left), let right = try? back(right) else { return false }
    return left == right
  }
}

/// The opposite of a truth value: for a control that is on where the model is off.
public struct Opposite: Mapping {
  /// Creates a mapping that negates.
  public init() {}
  public func forward(_ source: Bool) -> Bool { !source }
  public func back(_ target: Bool) -> Bool { !target }
}

/// Text, from which surrounding whitespace is removed on the way back.
public struct Trimmed: Mapping {
  /// Creates a mapping that trims entered text.
  public init() {}
  public func forward(_ source: String) -> String { source }
  public func back(_ target: String) -> String { target.trimmed }
  /// Whether both texts are equal without surrounding whitespace.
  public func isSame(_ left: String, _ right: String) -> Bool { left.trimmed == right.trimmed }
}

/// One range stretched over another: a level of 0 to 1 on a slider of 0 to 100. A value outside is replaced by the
/// nearest end, both ways.
public struct Scaled: Mapping {
  private let source: ClosedRange<Double>
  private let target: ClosedRange<Double>

  /// Creates a mapping that stretches `source` over `target`.
  public init(_ source: ClosedRange<Double>, to target: ClosedRange<Double>) {
    self.source = source
    self.target = target
  }

  public func forward(_ value: Double) -> Double { Scaled.stretch(value, source, target) }
  public func back(_ value: Double) -> Double { Scaled.stretch(value, target, source) }

  private static func stretch(_ value: Double, _ from: ClosedRange<Double>, _ to: ClosedRange<Double>) -> Double {
    let width = from.upperBound - from.lowerBound
    guard width > 0 else { return to.lowerBound }
    let share = min(max((value - from.lowerBound) / width, 0), 1)
    // Both ends are met exactly, whatever the rounding in between.
    return share == 1 ? to.upperBound : to.lowerBound + share * (to.upperBound - to.lowerBound)
  }
}

/// A number in steps: an entered number is rounded to the nearest multiple of the step.
public struct Stepped<Number: BinaryFloatingPoint & Sendable>: Mapping {
  private let step: Number

  /// - Parameter step: greater than 0; other steps leave numbers as they are.
  public init(by step: Number) { self.step = step }

  public func forward(_ source: Number) -> Number { source }
  public func back(_ target: Number) -> Number { step > 0 ? (target / step).rounded() * step : target }
}

/// An optional value as one that is never missing: nil is shown as the placeholder, and the placeholder means nil.
public struct Placeholder<Wrapped: Equatable & Sendable>: Mapping {
  private let placeholder: Wrapped

  /// Creates a mapping whose placeholder stands for nil.
  public init(_ placeholder: Wrapped) { self.placeholder = placeholder }

  public func forward(_ source: Wrapped?) -> Wrapped { source ?? placeholder }
  public func back(_ target: Wrapped) -> Wrapped? { target == placeholder ? nil : target }
}

/// A mapping made of two functions.
public struct Conversion<Source, Target>: Mapping {
  private let there: @Sendable (Source) -> Target
  private let andBack: @Sendable (Target) throws(BindingError) -> Source

  /// - Parameters:
  ///   - forward: the target value for a source value.
  ///   - back: the source value for an entered value. A `BindingError` that it throws is reported as it is, any other
  ///     error as `.unmappable` with its description.
  public init(
    forward: @escaping @Sendable (Source) -> Target, back: @escaping @Sendable (Target) throws -> Source
  ) {
    there = forward
    andBack = { target throws(BindingError) in
      do {
        return try back(target)
      } catch {
        throw error as? BindingError ?? BindingError(.unmappable, "\(error)")
      }
    }
  }

  public func forward(_ source: Source) -> Target { there(source) }
  public func back(_ target: Target) throws(BindingError) -> Source { try andBack(target) }
}

/// Two mappings in sequence.
public struct Chained<First: Mapping, Second: Mapping>: Mapping where First.Target == Second.Source {
  let first: First
  let second: Second

  public func forward(_ source: First.Source) -> Second.Target { second.forward(first.forward(source)) }

  public func back(_ target: Second.Target) throws(BindingError) -> First.Source {
    try first.back(second.back(target))
  }

  /// Whether both forms mean the same by the second mapping, or by the first once mapped back.
  public func isSame(_ left: Second.Target, _ right: Second.Target) -> Bool {
    if second.isSame(left, right) { return true }
    guard let left = try? second.back(left), let right = try? second.back(right) else { return false }
    return first.isSame(left, right)
  }
}

extension Mapping {
  /// This mapping, followed by another.
  public func then<Next: Mapping>(_ next: Next) -> Chained<Self, Next> where Next.Source == Target {
    Chained(first: self, second: next)
  }
}

extension String {
  /// The string without surrounding whitespace.
  var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }
}
