import BindingProtocol

/// The steps of undo that an outbox file holds, by model. They belong to the file, not to a run: what an earlier run
/// did is this program's own.
struct KeptUndo: Sendable, Equatable {
  private struct Kept: Sendable, Equatable {
    let payload: [UInt8]
    /// Counts the records: beyond the limit the oldest go.
    let age: UInt64
  }
  private var byModel: [String: [UInt64: Kept]] = [:]
  private var lastAge: UInt64 = 0
  /// Bytes of the records.
  private(set) var bytes = 0

  var isEmpty: Bool { byModel.isEmpty }

  /// The payloads by model and step.
  var steps: [String: [UInt64: [UInt8]]] { byModel.mapValues { $0.mapValues(\.payload) } }

  /// All records, the oldest first.
  var inOrder: [(model: String, step: UInt64, payload: [UInt8])] {
    byModel.flatMap { model, steps in steps.map { (model: model, step: $0.key, kept: $0.value) } }
      .sorted { $0.kept.age < $1.kept.age }
      .map { ($0.model, $0.step, $0.kept.payload) }
  }

  /// Applies a record: it replaces an earlier one of the same step, or, if it is empty, removes it.
  mutating func put(_ payload: [UInt8], model: String, step: UInt64) {
    remove(step, of: model)
    guard !payload.isEmpty else { return }
    lastAge += 1
    byModel[model, default: [:]][step] = Kept(payload: payload, age: lastAge)
    bytes += KeptUndo.size(payload, model)
    guard bytes > UndoLimits.maxKeptBytes else { return }
    for (model, step, _) in inOrder {
      remove(step, of: model)
      // A good part at once: sorting for each record would take long.
      if bytes <= UndoLimits.maxKeptBytes / 4 * 3 { return }
    }
  }

  private mutating func remove(_ step: UInt64, of model: String) {
    guard let kept = byModel[model]?.removeValue(forKey: step) else { return }
    bytes -= KeptUndo.size(kept.payload, model)
    if byModel[model]?.isEmpty == true { byModel[model] = nil }
  }

  private static func size(_ payload: [UInt8], _ model: String) -> Int { 32 + model.utf8.count + payload.count }
}
