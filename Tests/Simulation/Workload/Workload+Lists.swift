import BindingPeer
import BindingProtocol

/// What applications do with a list: they change the elements that they see, and now and then those that they do not.
extension Workload {
  private static let description = FieldValue(bytes: Array("{\"fields\":{\(SimulatedField.describedList)}}".utf8))

  /// One to three operations on different elements. The description goes with them: it may be lost.
  func writeList(_ peer: SimulatedPeer, in model: Int) throws(Violation) {
    var proposal = Proposal(operations: [FieldOperation(.setIfAbsent, Names.description, Workload.description)])
    let head = SimulatedField.names[SimulatedField.head]
    if chance.perMille(20) {
      proposal.operations = [FieldOperation(.delete, head)]
      return try peer.write(proposal, to: model)
    }
    var ids = SimulatedField.elementIDs
    for _ in 0..<1 + chance.below(3) {
      let id = ids.remove(at: chance.below(ids.count))
      let isShown = peer.session.shown(modelNames[model], "\(head)@\(id)") != nil
      proposal.operations.append(listOperation(on: id, isShown: isShown != chance.perMille(150), of: peer))
    }
    if chance.perMille(150) {
      let field = chance.perMille(500) ? head : proposal.operations[1].field
      let record = peer.session.fieldRecord(modelNames[model], field)
      proposal.conditions = [Condition(field: field, epoch: record?.epoch ?? 0, version: record?.version ?? 0)]
    }
    try peer.write(proposal, to: model)
  }

  private func listOperation(on id: String, isShown: Bool, of peer: SimulatedPeer) -> FieldOperation {
    let field = "\(SimulatedField.names[SimulatedField.head])@\(id)"
    func anchor() -> String? {
      let other = SimulatedField.elementIDs[chance.below(SimulatedField.elementIDs.count)]
      return other == id || chance.perMille(300) ? nil : other
    }
    let element = context.uniqueValue(of: peer.index)
    guard isShown else {
      return FieldOperation(.insert, field, ListOperand(after: anchor(), before: anchor(), element: element).value)
    }
    switch chance.below(4) {
    case 0: return FieldOperation(.replace, field, element)
    case 1: return FieldOperation(.delete, field)
    default: return FieldOperation(.move, field, ListOperand(after: anchor(), before: anchor()).value)
    }
  }
}
