import BindingModel
import BindingProtocol

extension SharedField {
  /// `update` of a list: its operations are on condition that the order and the elements that they concern are as
  /// `body` saw them.
  func updateList(
    _ list: any FieldList<Value>, attempts: Int, _ body: (Value) throws -> Value
  ) async throws -> Value {
    let (model, name) = try cell.attached()
    let id = model.id
    var rejection = RejectionError(outcome: .expired, fields: [name], current: [:])
    for _ in 0..<max(attempts, 1) {
      try Task.checkCancellation()
      // An own pending write would make the first attempt a conflict with it.
      _ = await model.runtime.wait { state in
        state.session.phase.isStopped || state.session.shownList(id, name)?.isOurs != true
      }
      let (shown, at) = model.runtime.state.withLock { ($0.session.shownList(id, name), $0.session.version(of: id)) }
      let stored = shown.flatMap { $0.isWritten ? $0 : nil }.map(list.decoded)
      let base = stored ?? ListBase(value: cell.declared, ids: [], elements: nil)
      let value = try body(base.value)
      let limit = Condition.maxCount - 1
      let operations = try list.operations(
        from: base, to: value, of: name, checkedBy: cell.check(in: name), limit: limit)
      if operations.isEmpty { return value }
      let fields = [name] + Swift.Set(operations.filter { $0.verb != .insert }.map(\.field)).sorted()
      let write = try cell.writeElements(
        operations, conditions: fields.map { Condition(field: $0, epoch: at.epoch, version: at.version) },
        in: model, name)
      let outcome = await write.outcome
      switch outcome {
      case .committed, .unchanged: return value
      case .conflict(let conflict):
        rejection = RejectionError(outcome: outcome, fields: [name], current: write.current)
        _ = await model.runtime.wait(timeout: .seconds(1)) { $0.session.version(of: id).version >= conflict.version }
      case .waitCancelled: throw CancellationError()
      default: throw RejectionError(outcome: outcome, fields: [name], current: write.current)
      }
    }
    throw rejection
  }
}
