import BindingPeer
import BindingProtocol

/// Shown values, checked against committed and pending ones: they may differ only while a write is pending.
extension World {
  /// Records what observers are notified of.
  func recordNotified(_ update: ModelUpdate, _ peer: SimulatedPeer, in model: Int) {
    for change in update.changes {
      if let field = SimulatedField.index(of: change.field) { peer.observed.notified[model][field] = change.new }
    }
  }

  /// Where nothing is pending, the shown values equal the committed ones, and observers have received them.
  func checkNothingParted(_ peer: SimulatedPeer) throws(Violation) {
    for (model, name) in context.modelNames.enumerated() {
      for (field, title) in SimulatedField.names.enumerated() {
        let record = peer.read { $0.fieldRecord(name, title) }
        let notified = peer.observed.notified[model][field]
        guard record?.shown != record?.committed || record?.isPending == true || notified != record?.committed else {
          continue
        }
        throw Violation(
          .readYourWrites,
          "\(peer) shows \(title) = \(describe(record?.shown)) of \(name) where nothing waits and "
            + "\(describe(record?.committed)) is committed; its observers were told \(describe(notified))")
      }
    }
  }
}
