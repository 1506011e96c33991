import BindingPeer
import BindingProtocol

/// What is shown, held against what is committed and pending: the two may part only as long as something is pending.
extension World {
  /// Notes what observers are told.
  func recordNotified(_ update: ModelUpdate, _ peer: SimulatedPeer, in model: Int) {
    for change in update.changes {
      if let field = SimulatedField.index(of: change.field) { peer.notified[model][field] = change.new }
    }
  }

  /// Where nothing waits, whatever became of the writes, what shows is what is committed, and observers know.
  func checkNothingParted(_ peer: SimulatedPeer) throws(Broken) {
    for (model, name) in modelNames.enumerated() {
      for (field, title) in SimulatedField.names.enumerated() {
        let record = peer.read { $0.fieldRecord(name, title) }
        let notified = peer.notified[model][field]
        guard record?.shown != record?.committed || record?.isPending == true || notified != record?.committed else {
          continue
        }
        throw broken(
          .readYourWrites,
          "p\(peer.index) shows \(title) = \(describe(record?.shown)) of \(name) where nothing waits and "
            + "\(describe(record?.committed)) is committed; its observers were told \(describe(notified))")
      }
    }
  }
}
