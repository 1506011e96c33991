import BindingPeer
import BindingProtocol

/// A replica's overlay, checked against its committed values.
extension World {
  /// R4, R5: no overlaid write is contained in the committed values, or older than an own write that is.
  func checkOverlay(_ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer) throws(Violation) {
    // A hub that has forgotten a peer cannot report its writes.
    if peer.observed.snapshot.overlaid.isEmpty || mayBeForgotten(peer) { return }
    let base = lastOwn(update, model, of: peer)
    for (id, number) in zip(peer.observed.snapshot.overlaid, peer.observed.snapshot.numbers) {
      guard let write = peer.writes.unacknowledged[id] else { continue }
      for (field, value) in write.fields {
        guard let point = oracle.point(of: value, in: field, of: model), point.epoch == update.epoch,
          point.version <= update.version, mustKnow(number, point, in: field, peer)
        else { continue }
        throw Violation(
          .readYourWrites,
          "write \(id.rawValue) of \(peer) lies over version \(update.version) of \(update.model), "
            + "which holds it"
        )
      }
      guard let base else { continue }
      // A write without a number was merged or is resent: it gets a later number.
      let isOlder =
        if let number {
          number <= base.number
        } else {
          (base.id.map { id < $0 } ?? false) && !peer.numbers.wasForgotten && !peer.numbers.receivedUnknown
            && write.original == nil
        }
      guard isOlder else { continue }
      throw Violation(
        .readYourWrites,
        "write \(id.rawValue) of \(peer), proposal \(number ?? 0), lies over its own proposal \(base.number) "
          + "in \(update.model)")
    }
  }

  /// The last of its own writes in the committed values, and its id if it is a plain one. A recovered value says
  /// nothing about its writer's numbers.
  private func lastOwn(
    _ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer
  ) -> (id: WriteID?, number: ProposalNumber)? {
    var last: (id: WriteID?, number: ProposalNumber)?
    for (field, name) in SimulatedField.names.enumerated() {
      guard let version = peer.read({ $0.fieldRecord(update.model, name)?.version }),
        let entry = oracle.entry(.init(model: model, epoch: update.epoch, version: version)), !entry.isRecovered,
        entry.tag == peer.session.identity.tag, last.map({ $0.number < entry.number }) ?? true
      else { continue }
      last = (peer.observed.snapshot.committed[field].flatMap { peer.writes.writers[$0] }, entry.number)
    }
    return last
  }

  /// Whether a peer must have noticed that the value at a point is its own write. A value recovered in this epoch
  /// has no number, and only a write sent in an earlier epoch can be recovered. A write that is resent because its
  /// outcome was unknown was sent in an earlier epoch under another number.
  private func mustKnow(
    _ number: ProposalNumber?, _ point: Oracle.Point, in field: Int, _ peer: SimulatedPeer
  ) -> Bool {
    guard let entry = oracle.entry(point), entry.isRecovered else { return true }
    guard let number, let first = peer.numbers.firstSent[point.model][number] else { return false }
    return first >= entry.epoch && !peer.numbers.receivedUnknown
  }
}
