package import BindingHub

/// A log that the contract is checked on: opens handles of it, and does to it what only its engine can.
package protocol SharedStoreBench: Sendable {
  /// Opens another handle, whose way to the log has these faults.
  func open(_ faults: SharedStoreFaults) throws -> SharedStoreClient
  /// Holds the way from the log to a handle, or lets it go on, where it left off.
  func setHeld(_ isHeld: Bool, _ client: SharedStoreClient) throws
  /// Makes the log forget what a tail reads.
  func compact() throws
  /// Pretends that the log has so much room.
  func setRoom(_ room: SharedRoom) throws
  /// Begins another epoch of the log.
  func beginEpoch() throws
  /// How many keys of chunks the log has of a model; nil: it has no keys.
  func chunkKeys(of model: String) throws -> Int?
}

/// Faults on the way of appends.
package enum SharedStoreFaults: String, Sendable, CaseIterable {
  case none, late, lost, repeated, mixed
  /// No answer comes until the store has given up the first append.
  case silent
}

/// A check that failed.
package struct ContractError: Error, CustomStringConvertible {
  package var description: String

  package init(_ description: String) { self.description = description }
}

func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws(ContractError) {
  if !condition { throw ContractError(text()) }
}
