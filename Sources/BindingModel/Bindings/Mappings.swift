/// A number as text, as a person types it: blanks around it do not matter. What is no such number is refused in words.
public struct NumberText<Number: LosslessStringConvertible & Sendable>: Mapping {
  public init() {}

  public func forward(_ source: Number) -> String { source.description }

  public func back(_ target: String) throws(BindingError) -> Number {
    guard let number = Number(target.trimmed) else {
      throw BindingError(.unmappable, "\"\(target)\" is no \(Number.self)")
    }
    return number
  }

  public func isSame(_ left: String, _ right: String) -> Bool {
    guard let left = Number(left.trimmed), let right = Number(right.trimmed) else { return false }
    return left.description == right.description
  }
}

/// A truth value as one of two words; upper and lower case do not matter on the way back.
public struct BooleanText: Mapping {
  private let yes: String
  private let no: String

  public init(_ yes: String, _ no: String) {
    self.yes = yes
    self.no = no
  }

  public func forward(_ source: Bool) -> String { source ? yes : no }

  public func back(_ target: String) throws(BindingError) -> Bool {
    let word = target.trimmed.lowercased()
    if word == yes.lowercased() { return true }
    if word == no.lowercased() { return false }
    throw BindingError(.unmappable, "\"\(target)\" is neither \"\(yes)\" nor \"\(no)\"")
  }

  public func isSame(_ left: String, _ right: String) -> Bool {
    guard let left = try? back(left), let right = try? back(right) else { return false }
    return left == right
  }
}

/// The opposite of a truth value: for a control that is on where the model says off.
public struct Opposite: Mapping {
  public init() {}
  public func forward(_ source: Bool) -> Bool { !source }
  public func back(_ target: Bool) -> Bool { !target }
}

/// Text without the blanks around it, on the way back.
public struct Trimmed: Mapping {
  public init() {}
  public func forward(_ source: String) -> String { source }
  public func back(_ target: String) -> String { target.trimmed }
  public func isSame(_ left: String, _ right: String) -> Bool { left.trimmed == right.trimmed }
}

/// One range stretched over another: a level of 0 to 1 on a slider of 0 to 100. What lies outside is shown, and taken
/// back, as the nearest end.
public struct Scaled: Mapping {
  private let source: ClosedRange<Double>
  private let target: ClosedRange<Double>

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
    // Both ends are met exactly, whatever rounding does in between.
    return share == 1 ? to.upperBound : to.lowerBound + share * (to.upperBound - to.lowerBound)
  }
}

/// Numbers in steps: what is entered is taken back as the nearest multiple of the step.
public struct Stepped<Number: BinaryFloatingPoint & Sendable>: Mapping {
  private let step: Number

  /// - Parameter step: greater than 0; other steps leave numbers as they are.
  public init(by step: Number) { self.step = step }

  public func forward(_ source: Number) -> Number { source }
  public func back(_ target: Number) -> Number { step > 0 ? (target / step).rounded() * step : target }
}

/// A value that may be missing, as one that may not: what is missing shows as the placeholder, and the placeholder
/// means missing.
public struct Placeholder<Wrapped: Equatable & Sendable>: Mapping {
  private let placeholder: Wrapped

  public init(_ placeholder: Wrapped) { self.placeholder = placeholder }

  public func forward(_ source: Wrapped?) -> Wrapped { source ?? placeholder }
  public func back(_ target: Wrapped) -> Wrapped? { target == placeholder ? nil : target }
}

/// A mapping made of two functions.
public struct Conversion<Source, Target>: Mapping {
  private let there: @Sendable (Source) -> Target
  private let andBack: @Sendable (Target) throws(BindingError) -> Source

  /// - Parameters:
  ///   - forward: what a source value looks like.
  ///   - back: the source value for what was entered. A `BindingError` that it throws is reported as it is, any other
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

/// Two mappings, one after the other.
public struct Chained<First: Mapping, Second: Mapping>: Mapping where First.Target == Second.Source {
  let first: First
  let second: Second

  public func forward(_ source: First.Source) -> Second.Target { second.forward(first.forward(source)) }

  public func back(_ target: Second.Target) throws(BindingError) -> First.Source {
    try first.back(second.back(target))
  }

  public func isSame(_ left: Second.Target, _ right: Second.Target) -> Bool {
    if second.isSame(left, right) { return true }
    guard let left = try? second.back(left), let right = try? second.back(right) else { return false }
    return first.isSame(left, right)
  }
}

extension Mapping {
  /// This mapping, then another.
  public func then<Next: Mapping>(_ next: Next) -> Chained<Self, Next> where Next.Source == Target {
    Chained(first: self, second: next)
  }
}

extension String {
  /// Without the blanks around it.
  var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }
}
