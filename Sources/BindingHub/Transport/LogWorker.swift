/// What keeps the hub's log beside the hub's thread, which alone calls it: a store of the hub's own, or one that it
/// shares with other hubs.
protocol LogWorker: AnyObject {
  /// The store's state, half a second old at most.
  var status: StoreStatus { get }
  /// Passes on what the machine wants stored, read or forgotten.
  /// - Throws: the store's failure; nothing without an answer may then be acknowledged (R12).
  func handOver(_ output: inout HubOutput, of machine: inout HubMachine) throws(StoreError)
  /// Tells the machine what the store has answered since the last call.
  /// - Returns: whether it was anything.
  /// - Throws: the store's failure, as `handOver`.
  func deliver(to machine: inout HubMachine, time: HubTime, into output: inout HubOutput) throws(StoreError) -> Bool
  /// Returns when everything that was handed over has its answer, or none can be expected.
  func waitUntilDone() throws(StoreError)
  /// Closes the store, after `waitUntilDone`.
  func close() throws(StoreError)
  /// Returns when its threads have ended: after it was closed, or has failed.
  func join()
}
