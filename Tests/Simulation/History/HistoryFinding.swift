/// A violation found in a history.
package struct HistoryFinding: Sendable, Hashable, CustomStringConvertible {
  /// The kind of violation.
  package enum Name: String, Sendable, CaseIterable {
    /// A line that is not an entry.
    case malformed
    /// Versions of a model are not consecutive.
    case gapped
    /// A commit without a write.
    case phantom
    /// A commit that differs from its write.
    case changed
    /// A commit whose writer was told that it was not committed.
    case undone
    /// One proposal took effect twice.
    case twice
    /// A writer was told of a commit that the hub never stored.
    case unstored
    /// An acknowledged write does not stand, and no later one superseded it.
    case lost
    /// A counter is not the sum of its additions.
    case miscounted
    /// A write precedes one that had been acknowledged before it was made.
    case late
    /// A condition passed that did not hold.
    case unchecked
    /// A peer went back, or showed a version of an epoch that was over.
    case back
    /// A peer showed a value that was neither committed nor its own.
    case invented
    /// A peer showed fields of different versions together.
    case torn
    /// A peer did not read what it had written.
    case unread
    /// When all was quiet, a peer showed another value than the hub.
    case diverged
  }
  /// The kind of violation.
  package var name: Name
  /// The line that shows it.
  package var location: HistoryLocation
  /// What is wrong, in a sentence.
  package var text: String

  /// Creates a finding.
  package init(_ name: Name, _ location: HistoryLocation, _ text: String) {
    self.name = name
    self.location = location
    self.text = text
  }

  /// The location, kind and text.
  package var description: String { "\(location): \(name.rawValue): \(text)" }
}

/// What a history counts.
package struct HistoryFigures: Sendable, Equatable {
  /// Writes that peers made.
  package var writes = 0
  /// Writes acknowledged as committed.
  package var acknowledged = 0
  /// Writes that ended as refused, conflict or expired.
  package var refused = 0
  /// Writes that ended as superseded or unchanged.
  package var superseded = 0
  /// Writes without an outcome, or with `unknown`.
  package var unknown = 0
  /// Commits that hubs stored.
  package var commits = 0
  /// Commits that a later epoch holds again because peers recovered them.
  package var recovered = 0
  /// Updates that peers showed.
  package var updates = 0
  /// Epochs of the log.
  package var epochs = 0
  /// Writes acknowledged by a hub with a memory store and lost with it: no surviving peer had them.
  package var lostWithHub = 0
  /// Writes applied again after a restart of a hub with a memory store.
  package var repeatedAfterRestart = 0
  /// The longest time between two acknowledgements while there were writes, nanoseconds.
  package var longestPause: UInt64 = 0
  /// Acknowledged writes of each peer, by its name.
  package var acknowledgedBy: [String: Int] = [:]
}
