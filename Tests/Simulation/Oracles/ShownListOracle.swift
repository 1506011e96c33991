import BindingHub
import BindingPeer
import BindingProtocol

/// What a peer shows of a list on which none of its writes is pending: the elements that are committed at its version,
/// in the order of their ranks, however it came there.
struct ShownListOracle: Invariant, SimulationPart {
  let context: SimulationContext
  let log: LogOracle

  mutating func observe(_ event: Observation) throws(Violation) {
    if case .updated(let update, let peer) = event { try check(update, of: peer) }
  }

  private func check(_ update: ModelUpdate, of peer: SimulatedPeer) throws(Violation) {
    let head = SimulatedField.names[SimulatedField.head]
    guard let list = update.lists.first(where: { $0.name == head }), !list.isOurs, update.version > 0,
      let model = modelNames.firstIndex(of: update.model),
      let state = log.state(.init(model: model, epoch: update.epoch, version: update.version))
    else { return }
    let fields = (SimulatedField.head + 1..<SimulatedField.count).compactMap { field in
      state[field].map { (name: SimulatedField.names[field], value: $0) }
    }
    let committed = ListElements.ordered(head, in: fields)
    counts[.listShown] += 1
    guard list.ids != committed.map(\.id) || list.values != committed.map(\.element) else { return }
    throw Violation(
      .listOrder,
      "\(peer) shows \(list.ids) of \(update.model) at version \(update.version), where \(committed.map(\.id)) is "
        + "committed and nothing of its own is pending")
  }
}
