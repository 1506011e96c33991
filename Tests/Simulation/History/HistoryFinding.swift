/// Something in a history that must not be.
public struct HistoryFinding: Sendable, Hashable, CustomStringConvertible {
  public enum Name: String, Sendable, CaseIterable {
    /// A line that is none.
    case malformed
    /// Versions of a model do not follow each other.
    case gapped
    /// A commit that nobody asked for.
    case phantom
    /// A commit that is not what its writer asked for.
    case changed
    /// A commit whose writer was told that it was none.
    case undone
    /// One proposal took effect twice.
    case twice
    /// A writer was told of a commit that the hub never stored.
    case unstored
    /// What was acknowledged does not stand, and nothing later took its place.
    case lost
    /// A counter is not the sum of what was added.
    case miscounted
    /// A write comes before another one that had been acknowledged when it was made.
    case late
    /// A comparison passed that did not hold.
    case unchecked
    /// A peer went back, or showed a version of an epoch that was over.
    case back
    /// A peer showed what was neither committed nor its own.
    case invented
    /// A peer showed fields of different versions together.
    case torn
    /// A peer did not read what it had written.
    case unread
    /// When all was quiet a peer showed something else than the hub has.
    case diverged
  }
  public var name: Name
  public var location: HistoryLocation
  public var text: String

  public init(_ name: Name, _ location: HistoryLocation, _ text: String) {
    self.name = name
    self.location = location
    self.text = text
  }

  public var description: String { "\(location): \(name.rawValue): \(text)" }
}

/// What a history counts.
public struct HistoryFigures: Sendable, Equatable {
  public var writes = 0
  public var acknowledged = 0
  /// Ended as refused, conflict or expired.
  public var refused = 0
  public var superseded = 0
  /// Without an outcome, or `unknown`.
  public var unknown = 0
  public var commits = 0
  /// Commits that a later epoch holds again because peers brought them back.
  public var recovered = 0
  public var updates = 0
  public var epochs = 0
  /// Acknowledged by a hub that keeps nothing, and gone with it: no peer that lived on had it.
  public var lostWithHub = 0
  /// Carried out again after a restart of a hub that keeps nothing.
  public var repeatedAfterRestart = 0
  /// The longest time between two acknowledgements while there were writes, nanoseconds.
  public var longestPause: UInt64 = 0
  /// Acknowledged writes of each peer, by its name.
  public var acknowledgedBy: [String: Int] = [:]
}
