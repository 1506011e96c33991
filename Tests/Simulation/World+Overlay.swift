import BindingPeer
import BindingProtocol

/// What lies over the committed values of a replica, held against them.
extension World {
  /// R4, R5: nothing lies over the committed values that they hold, nor what one of them was written after.
  func checkOverlay(_ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer) throws(Broken) {
    // What a hub has forgotten of a peer it cannot tell it.
    if peer.snapshot.overlaid.isEmpty || mayBeForgotten(peer) { return }
    let base = lastOwn(update, model, of: peer)
    for (id, number) in zip(peer.snapshot.overlaid, peer.snapshot.numbers) {
      guard let write = peer.unacknowledged[id] else { continue }
      for (field, value) in write.fields {
        guard let point = oracle.point(of: value, in: field, of: model), point.epoch == update.epoch,
          point.version <= update.version, mustKnow(number, point, in: field, peer)
        else { continue }
        throw broken(
          .readYourWrites,
          "write \(id.rawValue) of p\(peer.index) lies over version \(update.version) of \(update.model), "
            + "which holds it"
        )
      }
      guard let base else { continue }
      // What has no number yet was merged, or is sent again: it gets a later one.
      let isOlder =
        if let number {
          number <= base.number
        } else {
          (base.id.map { id < $0 } ?? false) && !peer.wasForgotten && !peer.receivedUnknown && write.original == nil
        }
      guard isOlder else { continue }
      throw broken(
        .readYourWrites,
        "write \(id.rawValue) of p\(peer.index), proposal \(number ?? 0), lies over its own proposal \(base.number) "
          + "in \(update.model)")
    }
  }

  /// The last of its own writes that the committed values hold, and its name if it is a plain one. What was brought
  /// back says nothing of what its writer's numbers became.
  private func lastOwn(
    _ update: ModelUpdate, _ model: Int, of peer: SimulatedPeer
  ) -> (id: WriteID?, number: ProposalNumber)? {
    var last: (id: WriteID?, number: ProposalNumber)?
    for (field, name) in SimulatedField.names.enumerated() {
      guard let version = peer.read({ $0.fieldRecord(update.model, name)?.version }),
        let entry = oracle.entry(.init(model: model, epoch: update.epoch, version: version)), !entry.isRecovered,
        entry.tag == peer.session.identity.tag, last.map({ $0.number < entry.number }) ?? true
      else { continue }
      last = (peer.snapshot.committed[field].flatMap { peer.writers[$0] }, entry.number)
    }
    return last
  }

  /// Whether a peer must have seen that a value which stands there is that of its own write. What was brought back in
  /// this life bears no number; but only what was sent in an earlier one can be. A write that goes again, since nobody
  /// knew what became of it, was sent in an earlier one under another number.
  private func mustKnow(
    _ number: ProposalNumber?, _ point: Oracle.Point, in field: Int, _ peer: SimulatedPeer
  ) -> Bool {
    guard let entry = oracle.entry(point), entry.isRecovered else { return true }
    guard let number, let first = peer.firstSent[point.model][number] else { return false }
    return first >= entry.epoch && !peer.receivedUnknown
  }
}
