/// Why a write through a binding changed nothing.
public struct BindingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of no it was.
  public enum Reason: Hashable, Sendable {
    /// A mapping has no source value for what was written.
    case unmappable
    /// The owner of the value is gone; the binding shows the last value and takes no more writes.
    case ended
    /// The location does not take this value (out of range, too long, not permitted).
    case refused
    /// It was taken, as another value than was written: rounded, trimmed, or kept in its range.
    case corrected
  }

  /// What kind of no it was.
  public let reason: Reason
  /// What happened, in words for a person, without a full stop.
  public let message: String

  public init(_ reason: Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }

  public var description: String { message }

  static func corrected(_ written: some Any, to accepted: some Any) -> BindingError {
    BindingError(.corrected, "\(written) was taken as \(accepted)")
  }

  static var ended: BindingError { BindingError(.ended, "the owner of this value is gone") }
}
