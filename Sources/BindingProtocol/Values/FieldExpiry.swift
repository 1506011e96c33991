/// A field's time limit, and what it falls back to (protocol.md §8.1). A class, so that copying a rule copies one
/// reference.
package final class FieldExpiry: Sendable {
  /// The allowed limits, in milliseconds: 100 ms to 7 days.
  package static let range: ClosedRange<Int64> = 100...604_800_000
  /// The most fields of one model that may expire: they fall back in one commit.
  package static let mostFields = 256
  /// The policies that do not go with a limit: a field that expires is set, not merged.
  package static let mergingPolicies = ["add", "max", "min", "union", "text"]

  /// How long a value other than the default holds without a renewal, in milliseconds.
  package let milliseconds: UInt64
  /// The default; nil: the field falls back to no value.
  package let fallback: FieldValue?

  /// Makes a limit of so many milliseconds.
  package init(milliseconds: UInt64, fallback: FieldValue?) {
    self.milliseconds = milliseconds
    self.fallback = fallback
  }

  /// Whether a value is the one that the field falls back to, in whatever notation: such a value does not expire.
  package func isFallback(_ value: FieldValue?) -> Bool {
    guard let value, let fallback else { return value == nil && fallback == nil }
    return value == fallback || value.isSame(as: fallback)
  }

  /// Whether both have the same limit and default.
  package func isSame(as other: FieldExpiry) -> Bool {
    self === other || milliseconds == other.milliseconds && fallback == other.fallback
  }

  /// Parses the limit of a described field; nil: it has none.
  /// - Parameter rule: the rest of the field's rule, which the default has to fit.
  convenience init?(describedBy json: JSON, besides rule: FieldRule, at path: String) throws(DescriptionError) {
    guard let limit = json["expires"] else { return nil }
    guard let milliseconds = limit.int64, FieldExpiry.range.contains(milliseconds) else {
      let range = "\(FieldExpiry.range.lowerBound) to \(FieldExpiry.range.upperBound)"
      throw DescriptionError("\(path).expires", "is \(limit.short), not a whole number of milliseconds, \(range)")
    }
    guard !rule.isEphemeral else {
      throw DescriptionError("\(path).expires", "does not go with ephemeral, which ends with the writer")
    }
    if case .string(let policy)? = json["policy"], FieldExpiry.mergingPolicies.contains(policy) {
      throw DescriptionError("\(path).expires", "does not go with the policy \(policy): a field that expires is set")
    }
    let fallback = json["default"]
    if let fallback, let violation = rule.violation(fallback) {
      throw DescriptionError(
        "\(path).default", "\(rule.words(violation, of: fallback)), and a field that expires falls back to it")
    }
    self.init(milliseconds: UInt64(milliseconds), fallback: fallback.map { FieldValue(json: $0) })
  }
}
