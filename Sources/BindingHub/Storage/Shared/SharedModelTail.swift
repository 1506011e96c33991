import BindingProtocol

/// How far a hub has one model of a shared store, and what is to be done with a record of it.
package struct SharedModelTail: Sendable, Hashable {
  /// The last record that was taken in; 0: none.
  package private(set) var record: UInt64
  /// Its revision, on which the next batch is decided.
  package private(set) var revision: SharedRevision

  /// The tail of a model whose head was just loaded.
  package init(_ head: SharedHead) { (record, revision) = (head.record, head.revision) }

  /// What is to be done with a record.
  package enum Step: Sendable, Hashable {
    /// It is the next one: apply it.
    case apply
    /// It is there already.
    case skip
    /// Records before it are missing: load the model.
    case load
  }

  /// Takes a record in, wherever it came from: followed, moved, or stored by this hub.
  package mutating func take(_ record: UInt64, revision: SharedRevision) -> Step {
    guard record > self.record else { return .skip }
    guard record == self.record + 1 else { return .load }
    (self.record, self.revision) = (record, revision)
    return .apply
  }

  /// Whether a head shows records that were not taken in.
  package func isBehind(_ head: SharedHead) -> Bool { head.record > record }
}
