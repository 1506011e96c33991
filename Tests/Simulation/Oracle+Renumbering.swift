import BindingHub
import BindingProtocol

extension Oracle {
  /// Renumbers a model's fields from this batch on. A field that has a value must keep its name.
  mutating func renumber(_ model: Int, _ batch: Batch) throws(Violation) {
    guard case .renumbering(let kept) = batch.form else { return }
    renumberings += 1
    let before = names[model]
    guard kept.allSatisfy({ Int($0) < before.count }) else {
      throw Violation(.trueReplica, "\(modelNames[model]) keeps fields that have no name")
    }
    names[model] = kept.map { before[Int($0)] }
    let present = head(of: model)
    if let lost = before.first(where: { !names[model].contains($0) && present[$0] != nil }) {
      throw Violation(.noPhantom, "\(modelNames[model]) forgets \(SimulatedField.names[lost]), which has a value")
    }
    for field in before where !names[model].contains(field) { beginnings[model][field] = batch.version }
  }
}
