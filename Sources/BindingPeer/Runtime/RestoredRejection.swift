import BindingProtocol

/// A write of an earlier run that the description did not allow.
struct RestoredRejection: Sendable {
  var fields: [String]
  let reason: String
  let current: [String: FieldValue]
}

extension SharedModel {
  /// Shows newly connected fields which writes of earlier runs the description did not allow.
  func showRejections() {
    let id = id
    let (rejections, stamp) = runtime.state.withLock { state in
      let rejections = state.writes.rejections(in: id)
      if !rejections.isEmpty { state.stamp += 1 }
      return (rejections, state.stamp)
    }
    for rejection in rejections {
      observers.recordRejection(
        of: rejection.fields, rejection.reason, current: rejection.current, stamp: stamp, isSticky: true)
    }
  }
}

extension FieldCell {
  /// Clears the problem of a write that failed; that of a value which cannot be shown stays as long as the value.
  func dismissProblem() {
    guard case .rejected? = problem else { return }
    if let (model, name) = attachment {
      model.runtime.state.withLock { $0.writes.forgetRejections(of: [name], in: model.id) }
    }
    if let model = sharedModel, let name = attachment?.name, let value = model.shown(name),
      decode(value, present.reading) == nil
    {
      record(.cannotShow(value))
    } else {
      record(nil)
    }
  }
}

extension Proposal {
  /// The fields that it writes for the program: a default that yields answers nothing.
  var answers: [String] {
    operations.filter { $0.verb != .setIfAbsent && $0.verb != .describe }.map(\.field)
  }
}
