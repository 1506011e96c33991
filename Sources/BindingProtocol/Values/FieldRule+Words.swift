extension FieldRule {
  /// Why a value does not fit, phrased to follow the field's name; nil if it fits. The text must be valid JSON.
  package func words(against value: UnsafeRawBufferPointer) -> String? {
    violation(value).map { words($0, of: (try? JSON(parsing: value)) ?? .null) }
  }

  /// Why a value does not fit, phrased to follow the field's name: `7 is not in 0...1`.
  package func words(_ violation: Violation, of value: JSON) -> String {
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

  /// The allowed values, phrased to follow "as": `number, 0...1`.
  package var allowance: String {
    var words = [type.rawValue]
    if minimum != nil || maximum != nil {
      words.append("\(minimum?.description ?? "…")...\(maximum?.description ?? "…")")
    }
    if let maximumLength { words.append("of at most \(maximumLength) characters") }
    if !choices.isEmpty { words.append("one of \(choiceWords)") }
    if isEphemeral { words.append("ephemeral") }
    if let expiry { words.append("expiring after \(expiry.milliseconds) ms") }
    if isList { return "list of \(words.joined(separator: ", "))" }
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
    // As in the escapes for these values, and as people and JavaScript write a whole number.
    case .double(let number) where number.isNaN: "NaN"
    case .double(let number) where number.isInfinite: number > 0 ? "Infinity" : "-Infinity"
    case .double(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }
  }
}

extension JSON {
  /// The value for display in one line: at most 40 characters, without control characters or direction marks.
  package var short: String { PrintedText.escaped(WireNumber(self).map(\.description) ?? text, limit: 40) }
}
