extension FieldRule {
  /// Why a value's text, which is known to be JSON, does not fit, in words that stand after the field's name; nil if it
  /// does.
  public func words(against value: UnsafeRawBufferPointer) -> String? {
    violation(value).map { words($0, of: (try? JSON(parsing: value)) ?? .null) }
  }

  /// Why a value does not fit, in words that stand after the field's name: `7 is not in 0...1`.
  public func words(_ violation: Violation, of value: JSON) -> String {
    let shown = value.short
    switch violation {
    case .type: return "\(shown) is not \(type.words)"
    case .choice: return "\(shown) is not one of \(choiceWords)"
    case .length(let count): return "\(shown) has \(count) characters, at most \(maximumLength ?? 0) are allowed"
    case .range:
      switch (minimum, maximum) {
      case (let minimum?, let maximum?): return "\(shown) is not in \(minimum)...\(maximum)"
      case (let minimum?, nil): return "\(shown) is not in \(minimum)..."
      case (nil, let maximum?): return "\(shown) is not in ...\(maximum)"
      case (nil, nil): return "\(shown) is not in its range"
      }
    }
  }

  /// What it takes, in words that stand after "as": `number, 0...1`.
  public var allowance: String {
    var words = [type.rawValue]
    if minimum != nil || maximum != nil {
      words.append("\(minimum?.description ?? "…")...\(maximum?.description ?? "…")")
    }
    if let maximumLength { words.append("of at most \(maximumLength) characters") }
    if !choices.isEmpty { words.append("one of \(choiceWords)") }
    if isEphemeral { words.append("ephemeral") }
    return words.joined(separator: ", ")
  }

  private var choiceWords: String {
    let shown = choices.prefix(10).map(\.short).joined(separator: ", ")
    return choices.count > 10 ? "\(shown), … (\(choices.count) in all)" : shown
  }
}

extension WireNumber: CustomStringConvertible {
  var description: String {
    switch self {
    case .integer(let number): "\(number)"
    case .unsigned(let number): "\(number)"
    // As in the escapes that stand for them, and as people and JavaScript write a whole number.
    case .double(let number) where number.isNaN: "NaN"
    case .double(let number) where number.isInfinite: number > 0 ? "Infinity" : "-Infinity"
    case .double(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }
  }
}

extension JSON {
  /// The value as it stands in a line for people: not without end, and without characters that move others about.
  package var short: String { PrintedText.escaped(WireNumber(self).map(\.description) ?? text, limit: 40) }
}
