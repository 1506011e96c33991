/// Why a write through a binding was refused, or stored as another value.
public struct BindingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of problem.
  public enum Reason: Hashable, Sendable {
    /// A mapping has no source value for the value that was written.
    case unmappable
    /// The owner of the value is gone; the binding shows the last value and refuses writes.
    case ended
    /// The location refuses this value (out of range, too long, not permitted).
    case refused
    /// The write was accepted as another value: rounded, trimmed, or clamped to a range.
    case corrected
  }

  /// The kind of problem.
  public let reason: Reason
  /// A description for people, without a full stop.
  public let message: String

  /// Creates an error from its kind and a description for people, without a full stop.
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
